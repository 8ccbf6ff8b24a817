"""One task of one agent: its identity, its latch, its pause, its limits, and what it still has to do."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.trace import Status, StatusCode, get_current_span, set_span_in_context

from spanward import semconv
from spanward.bell import Bell
from spanward.canonical import text_of
from spanward.context import RUN_KEY, enter, leave
from spanward.errors import AgentPaused, AgentTerminated, HardExit
from spanward.pending import PendingCall, PendingCalls
from spanward.ports import Limits, RunPhase, ToolFacts
from spanward.terms import NO_TERMS, Terms, around

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from spanward.checklist import CheckResult, Completion
    from spanward.facts.scope import Scope
    from spanward.ports import GateDirective, Hold
    from spanward.runtime import Runtime

__all__ = ["IMPLICIT_IDLE_S", "PendingCall", "PendingCalls", "Run", "ToolRecord", "current_task", "implicit_run"]

IMPLICIT_IDLE_S: Final = 30.0
"""An implicit run that has done nothing for so long is over."""
NO_LIMITS: Final = Limits()
RECENT: Final = 64
"""Finished tool calls whose result can still be replaced in the next request to the model."""


class ToolRecord(NamedTuple):
    """A finished tool call, as far as a late verdict needs it. Stays in this process.

    Attributes:
        digests: of its arguments and of its result.
        render: what a feedback directive makes of it.
        hold: still waited for, where the gate itself could not wait.
    """

    span_id: str
    call_id: str
    tool: str
    digests: tuple[str, ...]
    render: Callable[[GateDirective], str]
    hold: Hold | None = None


class Run:
    """Satisfies :class:`spanward.ports.RunView`. All methods may be called from any thread.

    Attributes:
        input: what the run was asked; stays in this process unless content capture is on.
        bell: rings when the latch, the pause or an approval changes; shared with the runs inside this one.
        pending: tool calls that the model asked for.
        approvals: decisions by the digest of the action.
        replacements: texts for tool results, by call id, that a verdict which came late asks for.
        recent: finished tool calls by span id.
        deferred: those whose verdict the gate could not wait for.
        answer: what the run came to, for the checklist: set it, or leave it to the model's last text.
        completions: checklists that its tool calls count for, of the runs around it, too; ``scopes`` likewise.
    """

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        *,
        run_id: str | None = None,
        conversation_id: str | None = None,
        limits: Limits = NO_LIMITS,
        parent: Run | None = None,
        input: object = None,  # noqa: A002 - the public name of the argument
        implicit_key: object = None,
        terms: Terms = NO_TERMS,
    ) -> None:
        self.runtime = runtime
        self.name = name
        self.id = run_id or runtime.new_id()
        self.conversation_id = conversation_id or ""
        self.limits = limits
        self.parent = parent
        self.input = input
        self.trace_id = ""
        self.root: Span | None = None
        self.context: Context | None = None
        self.started_ns = time.time_ns()
        self.started_at = self.last_activity_at = runtime.clock()
        self.thread_id = threading.get_ident()
        self.task = current_task()
        self.ended = False
        self.end_reason = ""
        self.tokens = 0
        self.tools: Mapping[str, ToolFacts] = {}
        self.pending = PendingCalls()
        self.approvals: dict[str, bool] = {}
        self.replacements: dict[str, tuple[GateDirective, str]] = {}
        self.recent: OrderedDict[str, ToolRecord] = OrderedDict()
        self.deferred: list[ToolRecord] = []
        self.bell: Bell = parent.bell if parent is not None else Bell()
        self.answer: object = None
        self.completion: Completion | None = terms.completion()
        self.completions: tuple[Completion, ...] = around(self.completion, parent.completions if parent else ())
        self.scopes: tuple[Scope, ...] = around(terms.scope, parent.scopes if parent else ())
        self.attributes: dict[str, Any] = {semconv.RUN_ID: self.id, semconv.AGENT_NAME: name}
        self.attributes |= terms.attributes(capture=runtime.settings.capture_content)
        if self.conversation_id:
            self.attributes[semconv.CONVERSATION_ID] = self.conversation_id
        self._implicit_key = implicit_key
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self.steps = 0
        self._phase: RunPhase = "running"
        self._latch: tuple[type[AgentTerminated], str, str] | None = None
        self._lease_ends = 0.0

    # ------------------------------------------------------------------------------------------------ life

    def begin(self) -> None:
        """Starts the root span and tells the detector."""
        attributes: dict[str, Any] = {semconv.OPERATION_NAME: semconv.OP_INVOKE_AGENT, **self.attributes}
        attributes |= {key: value for key, value in zip(semconv.RUN_LIMITS, self.limits, strict=True) if value}
        if self.input is not None and self.runtime.settings.capture_content:
            attributes[semconv.INPUT_MESSAGES] = _as_messages(self.input)
        runtime = self.runtime
        self.root = runtime.spans.start(f"{semconv.OP_INVOKE_AGENT} {self.name}", "internal", attributes)
        self.trace_id = format(self.root.get_span_context().trace_id, "032x")
        self.context = otel_context.set_value(RUN_KEY, self, set_span_in_context(self.root))
        runtime.runs[self.id] = self
        if runtime.first_run_at is None:
            runtime.first_run_at = self.started_at
        if runtime.client is not None:
            runtime.client.register_run(self)

    def end(self, reason: str, *, failed: bool = False) -> None:
        """Ends the root span and tells the detector why: "completed", or the class name of an exception. Idempotent."""
        with self._lock:
            if self.ended:
                return
            self.ended = True
        self.end_reason = reason
        runtime = self.runtime
        runtime.runs.pop(self.id, None)
        runtime.implicit.pop(self._implicit_key, None)
        runtime.journal.forget(self.id)
        for record in self.take_deferred():
            if record.hold is not None:
                record.hold.cancel()
        if self.root is not None:
            self.root.set_attribute(semconv.RUN_ENDED, reason)
            if failed:
                self.root.set_attribute(semconv.ERROR_TYPE, reason)
                self.root.set_status(Status(StatusCode.ERROR))
            runtime.spans.end(self.root, urgent=True)
        if runtime.client is not None:
            runtime.client.end_run(self, reason)

    def end_if_idle(self) -> None:
        """For implicit runs, which nobody ends."""
        if self.runtime.clock() - self.last_activity_at < IMPLICIT_IDLE_S:
            return
        if not any(flight.run_id == self.id for flight in list(self.runtime.flights.values())):
            self.end("completed")

    @contextlib.contextmanager
    def entered(self) -> Iterator[Run]:
        """Makes it the current run, and its root the current span, for a while."""
        token = enter(self)
        attached = otel_context.attach(self.context) if self.context is not None else None
        try:
            yield self
        finally:
            if attached is not None:
                otel_context.detach(attached)
            leave(token)

    # ----------------------------------------------------------------------------------------------- steps

    def next_index(self) -> int:
        """Number of the step that starts now. Order of start, whatever the thread."""
        self.last_activity_at = self.runtime.clock()
        # next() of a count is one bytecode: no two threads get the same number.
        return next(self._numbers)

    def step_finished(self) -> None:
        self.last_activity_at = self.runtime.clock()
        with self._lock:
            self.steps += 1

    def add_tokens(self, tokens: int) -> None:
        """Tokens that a model call used."""
        with self._lock:
            self.tokens += tokens

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """What became of the checklist, once the run has ended."""
        return self.completion.results if self.completion else ()

    def know_tool(self, name: str, facts: ToolFacts) -> None:
        """Tells the detector of a tool when it is first used."""
        if name in self.tools:
            return
        with self._lock:
            # Replaced whole: the control thread reads it without a lock.
            self.tools = {**self.tools, name: facts}
        if self.runtime.client is not None:
            self.runtime.client.update_run(self)

    def remember(self, record: ToolRecord) -> None:
        """Keeps a finished call for a verdict that may still come."""
        with self._lock:
            self.recent[record.span_id] = record
            while len(self.recent) > RECENT:
                self.recent.popitem(last=False)

    def over_limit(self) -> str:
        """The limit that is used up, or "". The policy's hard limits count where the run states none."""
        steps, tokens, seconds = (
            mine or theirs for mine, theirs in zip(self.limits, self.runtime.policy.limits, strict=True)
        )
        if steps and self.steps >= steps:
            return "step_limit"
        if tokens and self.tokens >= tokens:
            return "token_budget"
        if seconds and self.runtime.clock() - self.started_at >= seconds:
            return "time_budget"
        return ""

    # -------------------------------------------------------------------------------- latch, pause, approval

    @property
    def phase(self) -> RunPhase:
        """As the gate sees it; the detector owns the table."""
        if self._latch is not None:
            return "failed"
        return "paused" if self._lease_ends else self._phase

    def mirror(self, phase: RunPhase) -> None:
        """The detector moved the run. A pause begins and ends by directives only."""
        if phase != "paused":
            self._phase = phase

    def terminate(self, reason: str, message: str = "", *, kind: type[AgentTerminated] = AgentTerminated) -> None:
        """Sets the latch: every gate of this run and of the runs inside it refuses from now on. The first stands."""
        with self._lock:
            if self._latch is None:
                self._latch = (kind, reason, message)
        self.bell.ring()
        self._changed()

    def pause(self, lease_s: float = 0.0) -> bool:
        """Stops the run at its next safe points, until :meth:`resume` or the end of the lease (0: as set).

        Returns:
            False when the run is over.
        """
        with self._lock:
            if self._latch is not None or self.ended:
                return False
            self._lease_ends = self.runtime.clock() + (lease_s or self.runtime.settings.pause_lease_s)
        self._changed()
        return True

    def resume(self) -> bool:
        """Lets a paused run go on. False when it was not paused."""
        with self._lock:
            was_paused = bool(self._lease_ends) and self._latch is None
            self._lease_ends = 0.0
        self.bell.ring()
        self._changed()
        return was_paused

    def decide(self, action_digest: str, granted: bool) -> None:
        """Approves or denies exactly this action."""
        self.approvals[action_digest] = granted
        self.bell.ring()

    @property
    def calm(self) -> bool:
        """Nothing to be looked at before the next call: what :func:`spanward.gate.safe_point` would find."""
        return not (self._lease_ends or self.deferred or self._latch or self.parent) and self.runtime.connected

    def is_over(self) -> bool:
        """The latch is set, here or further out."""
        return self._latch is not None or (self.parent is not None and self.parent.is_over())

    @property
    def paused(self) -> bool:
        """Paused, here or further out."""
        return bool(self._lease_ends) or (self.parent is not None and self.parent.paused)

    def may_move(self) -> bool:
        """Not paused, or over: either way there is nothing to wait for."""
        return not self.paused or self.is_over()

    @property
    def lease_ends(self) -> float:
        """When the pause is given up, on the runtime's clock; the longest lease counts where outer runs are paused."""
        return max(self._lease_ends, self.parent.lease_ends if self.parent is not None else 0.0)

    def lease_left_s(self) -> float:
        """Seconds until the pause is given up."""
        return max(0.0, self.lease_ends - self.runtime.clock())

    def exit_error(self) -> BaseException:
        """What to raise out of a run that is over; a new one each time."""
        if self._latch is None:
            if self.parent is not None:
                return self.parent.exit_error()
            raise RuntimeError("the run is not over")
        from spanward.feedback import user_message  # deferred: templates are not needed before something fails

        kind, reason, message = self._latch
        settings = self.runtime.settings
        error = kind(self.id, reason, user_message(message or reason, settings.locale))
        return HardExit(error) if settings.exit_class == "base" else error

    def give_up(self) -> None:
        """A lease is over and nobody came: whichever run it was that was paused is over."""
        if self._lease_ends or self.parent is None:
            self.terminate("pause_expired", "paused", kind=AgentPaused)
        else:
            self.parent.give_up()

    # ----------------------------------------------------------------------------------- verdicts that come late

    def expects(self, directive: GateDirective) -> bool:
        """Keeps a feedback for the next request to the model, when that will carry the result that it is about."""
        record = self.recent.get(directive.span_id)
        if record is None or not record.call_id:
            return False
        self.replace_later(directive, record)
        return True

    def replace_later(self, directive: GateDirective, record: ToolRecord) -> None:
        """Accepts a feedback now, to be executed when the next request to the model carries the result."""
        if self.runtime.accept(directive, self, record.digests):
            self.replacements[record.call_id] = (directive, record.render(directive))

    def take_replacement(self, call_id: str) -> tuple[GateDirective, str] | None:
        """The text that takes the place of this call's result, once; the caller settles the directive."""
        return self.replacements.pop(call_id, None)

    def defer(self, record: ToolRecord) -> None:
        """Keeps a hold that the gate could not wait for, until the next safe point."""
        with self._lock:
            self.deferred.append(record)

    def take_deferred(self) -> list[ToolRecord]:
        """All holds that are still waited for."""
        with self._lock:
            taken, self.deferred = self.deferred, []
        return taken

    def _changed(self) -> None:
        if self.runtime.client is not None and not self.ended:
            self.runtime.client.update_run(self)


def current_task() -> asyncio.Task[Any] | None:
    """The asyncio task that runs this, or None in sync code."""
    # Asked first, because in sync code, the common case, current_task() would raise.
    return None if asyncio._get_running_loop() is None else asyncio.current_task()


def _as_messages(asked: object) -> str:
    return json.dumps([{"role": "user", "parts": [{"type": "text", "content": text_of(asked)}]}], ensure_ascii=False)


_implicit_lock = threading.Lock()


def implicit_run(runtime: Runtime) -> Run:
    """The run of a call that is made outside any: one for each trace of the user's, else one for each thread."""
    span = get_current_span().get_span_context()
    key: object = span.trace_id if span.is_valid else ("thread", threading.get_ident())
    with _implicit_lock:
        found = runtime.implicit.get(key)
        if found is not None:
            found.end_if_idle()
        if found is None or found.ended:
            found = Run(runtime, runtime.settings.service_name or "agent", implicit_key=key)
            found.begin()
            runtime.implicit[key] = found
            runtime.count("implicit_runs")
    return found
