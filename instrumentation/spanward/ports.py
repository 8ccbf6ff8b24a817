"""What the gate asks of its neighbours, and what it hands to them: plain Python only, no protobuf.

The gate (:mod:`spanward.gate`) decides and applies; the span pipeline (:mod:`spanward.spans`) carries steps out; the
control client (:mod:`spanward.control_client`) carries verdicts in. Each side is written against the protocols here, so
that :mod:`spanward.testing` can stand in for either.

Construction: ``spanward.spans.step_spans(settings) -> StepSpans`` and
``spanward.control_client.ControlClient(settings, gate)`` with a :class:`GateSink`; both start no thread and open no
channel until first used.

Ids are lower-case hex; times named ``*_at`` are ``time.monotonic()`` seconds, ``*_ns`` Unix nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    import asyncio

    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from spanward.facts.allow import ArgumentRule
    from spanward.span_codec import Batch

DirectiveKind = Literal[
    "retry", "repair_arguments", "feedback", "fallback", "terminate", "pause", "resume", "rollback", "handover",
    "run_tool", "approve", "deny", "interrupt_call", "compact_context", "ask",
]  # fmt: skip
StatusState = Literal["received", "applied", "rejected", "expired", "failed"]
FINAL_STATES: frozenset[StatusState] = frozenset({"applied", "rejected", "expired", "failed"})
RunPhase = Literal[
    "idle", "running", "waiting_validation", "paused", "rolling_back", "awaiting_human", "done", "failed",
]  # fmt: skip
BreakerPhase = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class GateDirective:
    """An order to one run, decoded from the wire.

    Attributes:
        level: "L0" to "L4", or "" outside the ladder.
        expires_at: on this process's monotonic clock; 0 = no limit.
        target_digest: of the arguments or the result that it changes; "" = any.
        payload: fields of the kind's own message in control.proto, by their proto names: ``delay_ms``, ``attempt``;
            ``repairs`` (tuple of str); ``template``, ``slots`` (dict); ``strategy`` ("tool_fallback" | "degraded" |
            "replan"), ``tool``; ``reason``, ``user_message``; ``lease_ms``; ``checkpoint``; ``span_id`` (hex),
            ``call_id``; ``action_digest``; ``question``.
    """

    id: str
    run_id: str
    kind: DirectiveKind
    level: str = ""
    epoch: int = 0
    trace_id: str = ""
    span_id: str = ""
    failure_type: str = ""
    rule: str = ""
    expires_at: float = 0.0
    answers_hold: bool = False
    target_digest: str = ""
    payload: Mapping[str, object] = field(default_factory=dict)


class Verdict(NamedTuple):
    """How a hold ended: ``none`` (answered: go on), ``directive``, ``timeout`` or ``skipped`` (nobody was asked)."""

    kind: Literal["none", "directive", "timeout", "skipped"]
    directive: GateDirective | None = None


class DirectiveOutcome(NamedTuple):
    """What became of a directive here; the final ones are remembered and repeated, never executed twice."""

    directive_id: str
    state: StatusState
    reason: str = ""
    before: str = ""  # digest of what was changed
    after: str = ""
    apply_ms: float = 0.0


class Limits(NamedTuple):
    """Limits that a run or the policy states; 0 = not stated."""

    max_steps: int = 0
    max_tokens: int = 0
    max_seconds: float = 0.0


class ToolFacts(NamedTuple):
    """What the policy must know of a tool; never its code. ``timeout_s`` 0 = not stated."""

    side_effect: str = "write"
    timeout_s: float = 0.0
    has_fallback: bool = False
    idempotent: bool = False
    interruptible: bool = False


class PolicyUpdate(NamedTuple):
    """The part of a policy that the gate enforces by itself.

    Attributes:
        allowed_tools: the only tools that may be called; empty = any.
        arguments: what arguments may be, by tool and by name of the argument.
    """

    version: str
    hard_limits: Limits = Limits()
    tools: Mapping[str, ToolFacts] = {}
    fail_closed_tools: frozenset[str] = frozenset()
    allowed_tools: frozenset[str] = frozenset()
    arguments: Mapping[str, Mapping[str, ArgumentRule]] = {}


@dataclass(slots=True, eq=False)
class InFlightCall:
    """A call that has started and not ended.

    Attributes:
        effects: it may change the world.
        thread_id: ``threading.get_ident()`` of the thread it was called on.
        task: the asyncio task it runs in, for its stack; None in sync code.
    """

    run_id: str
    trace_id: str
    span_id: str
    kind: str
    action: str
    started_at: float
    call_id: str = ""
    timeout_s: float = 0.0
    interruptible: bool = False
    effects: bool = False
    thread_id: int = 0
    task: asyncio.Task[object] | None = None


@dataclass(slots=True)
class Counters:
    """Everything that the gate did without the detector. Only grows. Names as in ``GateCounters`` of control.proto."""

    holds: int = 0
    holds_answered: int = 0
    fail_open_timeout: int = 0
    fail_open_disconnected: int = 0
    hold_skipped_loop: int = 0
    hold_skipped_suspended: int = 0
    late_rejected: int = 0
    implicit_runs: int = 0
    internal_errors: int = 0


class RunView(Protocol):
    """What the control client reads of a run, from its own thread, at any time."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str:
        """Agent name."""

    @property
    def conversation_id(self) -> str: ...
    @property
    def trace_id(self) -> str: ...
    @property
    def phase(self) -> RunPhase: ...
    @property
    def started_ns(self) -> int: ...
    @property
    def steps(self) -> int:
        """Steps finished so far."""

    @property
    def limits(self) -> Limits: ...
    @property
    def tools(self) -> Mapping[str, ToolFacts]: ...
    @property
    def last_activity_at(self) -> float:
        """Last start or end of a step."""

    @property
    def thread_id(self) -> int: ...
    @property
    def task(self) -> asyncio.Task[object] | None: ...


class Hold(Protocol):
    """A waiter for the verdict on one span. Made before the span ends; used up by one wait or by ``cancel``."""

    def wait(self, timeout_s: float) -> Verdict:
        """Blocks this thread; ``timeout_s`` 0 only looks. Never raises for want of an answer."""

    async def wait_async(self, timeout_s: float) -> Verdict:
        """As ``wait``, on the event loop of the caller. Cancellation passes through and ends the waiter."""

    def cancel(self) -> None:
        """Nobody waits any more: a directive that still comes goes to :meth:`GateSink.deliver`. Idempotent."""


class Control(Protocol):
    """The agent's end of the control stream. No method blocks, none raises."""

    @property
    def connected(self) -> bool:
        """The stream is open and welcomed."""

    def wait_connected(self, timeout_s: float) -> bool:
        """Blocks this thread until the stream is open, or the timeout. The one exception to "no method blocks"."""

    def register_run(self, run: RunView) -> None: ...
    def end_run(self, run: RunView, reason: str) -> None:
        """``reason``: "completed", or the class name of the exception."""

    def update_run(self, run: RunView) -> None:
        """Its phase, limits or tools have changed."""

    def hold(self, trace_id: str, span_id: str) -> Hold: ...
    def status(
        self,
        directive_id: str,
        state: StatusState,
        reason: str = "",
        before: str = "",
        after: str = "",
        apply_ms: float = 0.0,
    ) -> None: ...
    def started(self, call: InFlightCall) -> None:
        """A call with effects has started; it is told at once. The others are read from the gate, beat by beat."""

    def shutdown(self, timeout_s: float) -> None: ...


class StepSpans(Protocol):
    """Spans of steps: our own always-on provider and sender, beside whatever the user has."""

    @property
    def dropped(self) -> int:
        """Spans that never left."""

    def start(
        self,
        name: str,
        kind: Literal["internal", "client"],
        attributes: dict[str, Any],
        parent: Context | None = None,
    ) -> Span:
        """Starts a span, not as the current one.

        Args:
            name: of the span.
            kind: the OTel span kind.
            attributes: taken over; not to be used again.
            parent: holds the parent; None: the current context.
        """

    def complete_later(self, span: Span, work: Callable[[], Mapping[str, Any]]) -> None:
        """Has the rest of a span's attributes worked out after its end, by whoever sends it. To be called before it.

        Args:
            span: that was started here.
            work: makes the attributes, on any thread, maybe never. It must not raise, nor read what may change; what it
                holds stays in memory until then.
        """

    def end(self, span: Span, *, urgent: bool) -> None:
        """Ends it. ``urgent`` sends it and all that is queued at once from this thread, without blocking."""

    def flush(self, timeout_s: float) -> bool: ...
    def shutdown(self, timeout_s: float) -> None: ...


class Carrier(Protocol):
    """The control stream, as the sender of spans uses it."""

    def fetch_soon(self) -> bool:
        """Has it take what is queued; False when it cannot now."""

    def recall(self) -> None:
        """Has it give back what may not have arrived."""


class SpanSource(Protocol):
    """The sender of spans, as the control stream uses it."""

    def take(self) -> list[Batch]:
        """Encodes what is queued; it is the caller's now."""

    def give_back(self, batches: list[Batch]) -> None:
        """To be sent by a call, at once."""

    def count_sent(self, spans: int) -> None:
        """So many have arrived."""


class GateSink(Protocol):
    """What the control client calls, on its own thread. Every method returns quickly and never raises."""

    @property
    def counters(self) -> Counters: ...
    def deliver(self, directive: GateDirective) -> None:
        """A directive that no waiting hold takes: pause, resume, terminate, interrupt, or the late answer to a hold."""

    def runs_open(self) -> Sequence[RunView]: ...
    def calls_in_flight(self) -> Sequence[InFlightCall]: ...
    def outcomes(self) -> Iterable[DirectiveOutcome]:
        """Final states that are remembered, for ``FullState``."""

    def set_epoch(self, epoch: int) -> None:
        """From ``Welcome``; a directive of a lower epoch is rejected from now on."""

    def set_policy(self, policy: PolicyUpdate) -> None: ...
    def set_breaker(self, tool: str, phase: BreakerPhase, open_for_s: float) -> None: ...
    def transition(self, run_id: str, to: RunPhase, reason: str) -> None: ...
