"""The one runtime of this process: what the gate shares between runs, and where the control client delivers.

Everything mutable is guarded by a lock or replaced whole: the control thread, the user's threads and their event loops
meet here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry.trace import INVALID_SPAN, Span, SpanContext

from spanward.config import Settings
from spanward.errors import InternalErrors
from spanward.journal import Journal
from spanward.ledger import DirectiveLedger
from spanward.policy_cache import Clock, HoldBudget, PolicyCache
from spanward.ports import (
    BreakerPhase,
    Control,
    Counters,
    DirectiveOutcome,
    GateDirective,
    InFlightCall,
    PolicyUpdate,
    RunPhase,
    RunView,
    StatusState,
    StepSpans,
)

if TYPE_CHECKING:
    import asyncio

    from spanward.ops import CallControl
    from spanward.runs import Run

log = logging.getLogger("spanward")

Approver = Callable[[str, Mapping[str, object]], object]
"""``approver(tool, arguments)``: true allows this one call of a ``high_risk`` tool. May be async for async tools."""


def uuid7() -> str:
    """A new id, ordered by time."""
    import uuid_utils  # deferred: compiled code that a process without runs does not need

    return str(uuid_utils.uuid7())


class Flight(NamedTuple):
    """A call in flight, as cheap as can be: it is made for every call, and described only when somebody asks."""

    run_id: str
    ids: SpanContext
    kind: str
    action: str
    started_at: float
    call_id: str
    timeout_s: float
    control: CallControl | None
    effects: bool
    thread_id: int
    task: asyncio.Task[Any] | None

    def described(self) -> InFlightCall:
        """For the control client."""
        return InFlightCall(
            self.run_id,
            f"{self.ids.trace_id:032x}",
            f"{self.ids.span_id:016x}",
            self.kind,
            self.action,
            self.started_at,
            self.call_id,
            self.timeout_s,
            self.control is not None,
            self.effects,
            self.thread_id,
            self.task,
        )


class NoSpans:
    """Spans of a run that nobody looks at."""

    dropped = 0

    def start(self, *_args: object, **_options: object) -> Span:
        return INVALID_SPAN

    def complete_later(self, span: Span, work: Callable[[], Mapping[str, Any]]) -> None: ...
    def end(self, span: Span, *, urgent: bool) -> None: ...
    def flush(self, timeout_s: float) -> bool:  # noqa: ARG002 - nothing to send
        return True

    def shutdown(self, timeout_s: float) -> None: ...


class Runtime:
    """Made by ``instrument_agent``; tests make one from the parts in :mod:`spanward.testing`.

    Attributes:
        client: the control client, or None: then nobody is asked and only local limits hold.
        approver: decides on ``high_risk`` calls in this process.
        runs: open runs by id.
        first_run_at: when the stream was asked for, on the runtime's clock.
        flights: calls in flight by span id.
    """

    def __init__(
        self,
        settings: Settings,
        spans: StepSpans,
        client: Control | None = None,
        *,
        approver: Approver | None = None,
        clock: Clock = time.monotonic,
        new_id: Callable[[], str] = uuid7,
    ) -> None:
        self.settings = settings
        self.spans = spans
        self.client = client
        self.approver = approver
        self.clock = clock
        self.new_id = new_id
        self.journal = Journal(settings.journal)
        self.policy = PolicyCache(clock)
        self.budget = HoldBudget(settings.hold_min_ms, settings.hold_max_ms, clock)
        self.ledger = DirectiveLedger()
        self.counters = Counters()
        self.internal = InternalErrors()
        self.runs: dict[str, Run] = {}
        self.flights: dict[int, Flight] = {}
        self.implicit: dict[object, Run] = {}
        self.first_run_at: float | None = None
        self._lock = threading.Lock()

    # ---------------------------------------------------------------------------------------------- bookkeeping

    @property
    def connected(self) -> bool:
        """There is somebody to ask."""
        return self.client is not None and self.client.connected

    def patience_s(self) -> float:
        """How long a step may yet wait for the stream to be opened at all, seconds.

        The first run starts the stream, which takes some milliseconds: for as long as a hold may last its first steps
        wait for it, so that they are not the only ones that nobody watches.
        """
        if self.first_run_at is None or self.settings.hold == "never":
            return 0.0
        return self.first_run_at + self.settings.hold_max_ms / 1000 - self.clock()

    def count(self, counter: str) -> None:
        """Adds one to a field of :class:`Counters`."""
        with self._lock:
            setattr(self.counters, counter, getattr(self.counters, counter) + 1)

    def internal_error(self, where: str) -> None:
        """Called in an ``except Exception`` block: our own failure, which the host must not feel."""
        self.internal.caught(where)
        self.counters.internal_errors = self.internal.count

    def started(self, flight: Flight) -> None:
        """A call is in flight. The client is told of those with effects; of the others it reads, beat by beat."""
        self.flights[flight.ids.span_id] = flight
        if flight.effects and self.client is not None:
            self.client.started(flight.described())

    def finished(self, span_id: int) -> None:
        """The call has ended."""
        self.flights.pop(span_id, None)

    # ----------------------------------------------------------------------------------------------- directives

    def accept(self, directive: GateDirective, run: Run, digests: Iterable[str] = ()) -> bool:
        """Decides whether a directive may be executed now, and by this caller; answers it when not.

        ``digests`` are those of what it may change here. After True the caller MUST call :meth:`settle`.
        """
        known = self.ledger.claim(directive.id)
        if known is not None:
            self._say(known)
            return False
        reason = self._refusal(directive, run, digests)
        if reason:
            self.settle(directive, "expired" if reason == "expired" else "rejected", reason)
            return False
        self._say(DirectiveOutcome(directive.id, "received"))
        return True

    def _refusal(self, directive: GateDirective, run: Run, digests: Iterable[str]) -> str:
        if directive.kind not in self.settings.allowed_directives:
            return "not_allowed"
        if directive.run_id != run.id:
            return "no_such_run"
        if not self.policy.see_epoch(directive.epoch):
            return "stale_epoch"
        if directive.expires_at and self.clock() >= directive.expires_at:
            return "expired"
        if directive.target_digest and directive.target_digest not in digests:
            return "changed"
        return ""

    def settle(
        self,
        directive: GateDirective,
        state: StatusState,
        reason: str = "",
        *,
        before: str = "",
        after: str = "",
        since: float = 0.0,
    ) -> None:
        """Its final state, remembered and told. ``since``: ``Outcome.returned_at`` of the call that it answers."""
        apply_ms = (time.perf_counter() - since) * 1000 if since else 0.0
        outcome = DirectiveOutcome(directive.id, state, reason, before, after, apply_ms)
        self.ledger.settle(outcome)
        self._say(outcome)

    def _say(self, outcome: DirectiveOutcome) -> None:
        if self.client is not None:
            self.client.status(*outcome)

    def deliver(self, directive: GateDirective) -> None:
        """A directive that no waiting hold takes. Runs on the control thread."""
        try:
            self._deliver(directive)
        except Exception:
            self.internal_error("deliver")
            self.settle(directive, "failed", "internal")

    def _deliver(self, directive: GateDirective) -> None:
        run = self.runs.get(directive.run_id)
        if run is None:
            self.reject(directive, "no_such_run")
        elif directive.kind in DELIVERED:
            if self.accept(directive, run, (directive.target_digest,)):
                reason = DELIVERED[directive.kind](self, run, directive)
                self.settle(directive, "rejected" if reason else "applied", reason)
        elif directive.kind == "feedback" and not directive.answers_hold and run.expects(directive):
            # Executed when the next request to the model carries the result that it is about.
            pass
        else:
            late = directive.answers_hold or directive.kind in _AT_THE_CALL
            if late:
                self.count("late_rejected")
            self.reject(directive, "late" if late else "unsupported")

    def reject(self, directive: GateDirective, reason: str) -> None:
        """Refuses a directive that nobody has accepted."""
        known = self.ledger.claim(directive.id)
        if known is not None:
            self._say(known)
        else:
            self.settle(directive, "rejected", reason)

    def _interrupt(self, run: Run, directive: GateDirective) -> str:
        span_id = str(directive.payload.get("span_id") or directive.span_id)
        flight = self.flights.get(int(span_id, 16)) if span_id else None
        if flight is None and (call_id := directive.payload.get("call_id")):
            flight = next((one for one in list(self.flights.values()) if one.call_id == call_id), None)
        if flight is None or flight.run_id != run.id:
            return "no_such_call"
        return "" if flight.control is not None and flight.control.interrupt() else "not_interruptible"

    # -------------------------------------------------------------------------------- the rest of the GateSink

    def runs_open(self) -> Sequence[RunView]:
        """Open runs; implicit ones that have done nothing for long are ended on the way."""
        for run in list(self.implicit.values()):
            run.end_if_idle()
        return list(self.runs.values())

    def calls_in_flight(self) -> Sequence[InFlightCall]:
        return [flight.described() for flight in list(self.flights.values())]

    def outcomes(self) -> Iterable[DirectiveOutcome]:
        return self.ledger.outcomes()

    def set_epoch(self, epoch: int) -> None:
        self.policy.see_epoch(epoch)

    def set_policy(self, policy: PolicyUpdate) -> None:
        self.policy.apply(policy)

    def set_breaker(self, tool: str, phase: BreakerPhase, open_for_s: float) -> None:
        self.policy.set_breaker(tool, phase, open_for_s)

    def transition(self, run_id: str, to: RunPhase, reason: str) -> None:  # noqa: ARG002 - the reason is for people
        if (run := self.runs.get(run_id)) is not None:
            run.mirror(to)

    def close(self, timeout_s: float) -> None:
        """Ends open implicit runs, sends what is queued, and lets go of everything."""
        for run in list(self.implicit.values()):
            run.end("completed")
        self.spans.flush(timeout_s)
        if self.client is not None:
            self.client.shutdown(timeout_s)
        self.spans.shutdown(timeout_s)
        self.journal.close()


def _terminate(_runtime: Runtime, run: Run, directive: GateDirective) -> str:
    run.terminate(str(directive.payload.get("reason") or "operator"), str(directive.payload.get("user_message") or ""))
    return ""


def _pause(_runtime: Runtime, run: Run, directive: GateDirective) -> str:
    lease_ms = directive.payload.get("lease_ms")
    return "" if run.pause(lease_ms / 1000 if isinstance(lease_ms, int | float) else 0.0) else "over"


def _resume(_runtime: Runtime, run: Run, _directive: GateDirective) -> str:
    return "" if run.resume() else "not_paused"


def _approval(_runtime: Runtime, run: Run, directive: GateDirective) -> str:
    digest = str(directive.payload.get("action_digest") or "")
    if not digest:
        return "no_action"
    run.decide(digest, directive.kind == "approve")
    return ""


DELIVERED: Final[Mapping[str, Callable[[Runtime, Run, GateDirective], str]]] = {
    "terminate": _terminate,
    "pause": _pause,
    "handover": _pause,  # a person decides; until then the run stands still
    "resume": _resume,
    "interrupt_call": Runtime._interrupt,
    "approve": _approval,
    "deny": _approval,
}
"""What takes effect at once or at the next safe point, whenever it comes. Each returns why it could not, or ""."""

_AT_THE_CALL: Final = frozenset({"retry", "repair_arguments", "feedback", "fallback"})
"""What makes sense only while its call is at the gate."""

_current: Runtime | None = None


def runtime() -> Runtime | None:
    """The runtime in force, or None when this process is not instrumented."""
    return _current


def set_runtime(new: Runtime | None) -> None:
    """Puts a runtime in force, or takes it away."""
    global _current
    _current = new
