"""The gate: the only place where a directive takes effect.

Sans-io: a flow is a generator that yields what is to be done (:class:`Invoke`, :class:`Wait`, ...) and is sent what
came of it; :func:`drive` and :func:`adrive` do it in sync and async code. Adapters write flows over the same
operations. What every flow does, whatever it calls, is here::

    yield from safe_point(run)                              # latch, pause, verdicts that came late
    step = open_step(run, "chat gpt", {...}, kind="llm", action="gpt")
    outcome = yield Invoke(request)
    verdict = yield from close_step(step, {...}, error=outcome.error)
    directive = verdict.directive
    if directive is not None and run.runtime.accept(directive, run, (digest,)):
        if directive.kind in OBEYED:                        # pause, hand-over, terminate; raises when the run is over
            yield from obey(run, directive, outcome.returned_at)
        else:
            ...
            run.runtime.settle(directive, "applied", before=..., after=..., since=outcome.returned_at)

``run.take_replacement(call_id)`` gives the text that a late verdict wants in place of a tool's result; who puts it into
the next request settles its directive.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Mapping
from contextvars import Token
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from spanward import semconv
from spanward.context import bind, current_run
from spanward.ops import (
    Approval,
    CallControl,
    Connect,
    Flow,
    Invoke,
    Op,
    Outcome,
    Paused,
    Sleep,
    Wait,
    adrive,
    drive,
    on_event_loop,
)
from spanward.ports import GateDirective, Hold, Verdict
from spanward.runs import ToolRecord, current_task, implicit_run
from spanward.runtime import DELIVERED, Flight, Runtime, runtime

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext

    from spanward.policy_cache import Ticket
    from spanward.runs import Run

__all__ = [
    "OBEYED", "SKIPPED", "Approval", "CallControl", "Flow", "GateDirective", "Hold", "Invoke", "Op", "OpenStep",
    "Outcome", "Paused", "Runtime", "Sleep", "ToolRecord", "Verdict", "Wait", "adrive", "bind", "close_step",
    "current_run", "drive", "end_step", "implicit_run", "obey", "on_event_loop", "open_step", "runtime", "safe_point",
]  # fmt: skip

log = logging.getLogger("spanward")

OBEYED: Final = frozenset({"pause", "handover", "terminate"})
"""What :func:`obey` does: the same at every gate, and also when it comes late. For the gate a hand-over is a pause."""
SKIPPED: Final = Verdict("skipped")

_FAILED: Final = Status(StatusCode.ERROR)


class OpenStep(NamedTuple):
    """A step that has started: its span is current until :func:`close_step` or :func:`end_step`."""

    run: Run
    span: Span
    ids: SpanContext
    token: Token[Context]

    @property
    def trace_id(self) -> str:
        """Lower-case hex."""
        return f"{self.ids.trace_id:032x}"

    @property
    def span_id(self) -> str:
        """Lower-case hex."""
        return f"{self.ids.span_id:016x}"


def open_step(
    run: Run,
    name: str,
    attributes: dict[str, Any],
    *,
    kind: semconv.StepKind,
    action: str,
    span_kind: Literal["internal", "client"] = "internal",
    call_id: str = "",
    timeout_s: float = 0.0,
    control: CallControl | None = None,
    effects: bool = False,
) -> OpenStep:
    """Starts the span of a step, numbers it, and puts its call among those in flight.

    Args:
        run: that it belongs to.
        name: of the span.
        attributes: those of the call; completed here with the run's and the step's. Not to be used again.
        kind: of the step.
        action: tool, model or decision name.
        span_kind: OTel span kind.
        call_id: the provider's, for tools.
        timeout_s: that the gate will enforce; 0 = none.
        control: by which it can be interrupted, if at all.
        effects: the call may change the world.
    """
    runtime = run.runtime
    attributes.update(run.attributes)
    attributes[semconv.STEP_INDEX] = run.next_index()
    attributes[semconv.STEP_KIND] = kind
    attributes[semconv.ACTION] = action
    here = otel_context.get_current()
    span = runtime.spans.start(name, span_kind, attributes, here)
    ids = span.get_span_context()
    runtime.started(
        Flight(
            run.id, ids, kind, action, run.last_activity_at, call_id, timeout_s, control, effects,
            threading.get_ident(), current_task(),
        )
    )  # fmt: skip
    return OpenStep(run, span, ids, otel_context.attach(set_span_in_context(span, here)))


def end_step(
    step: OpenStep, attributes: Mapping[str, Any], error: BaseException | None = None, *, urgent: bool = False
) -> None:
    """Ends a step that nobody waits for. Never raises."""
    runtime, span = step.run.runtime, step.span
    try:
        otel_context.detach(step.token)
        span.set_attributes(attributes)
        if error is not None:
            span.set_attribute(semconv.ERROR_TYPE, type(error).__qualname__)
            # Without a description: an exception's message is content.
            span.set_status(_FAILED)
        runtime.finished(step.ids.span_id)
        step.run.step_finished()
        runtime.spans.end(span, urgent=urgent)
    except Exception:
        runtime.internal_error("end of step")


def close_step(
    step: OpenStep,
    attributes: dict[str, Any],
    error: BaseException | None = None,
    *,
    suspicious: bool = False,
    holds: bool = True,
    defer: Callable[[Hold], ToolRecord] | None = None,
) -> Generator[Op, Any, Verdict]:
    """Ends a step and waits for the verdict on it, as the settings and the health of the loop allow.

    What happened MUST be journalled before: the wait can be cancelled.

    Args:
        step: from :func:`open_step`.
        attributes: those known only now.
        error: that the call raised. Control flow of a framework is no error.
        suspicious: local facts look wrong; decides for ``hold="suspect"``.
        holds: False when nobody may wait here, whatever the settings.
        defer: makes the record by which the verdict is taken at the next safe point, where this thread must not wait.
    """
    runtime = step.run.runtime
    hold: Hold | None = None
    ticket: Ticket | None = None
    if holds and _wants_hold(runtime, suspicious or error is not None):
        try:
            ticket = _ticket(runtime)
            if ticket is not None and runtime.client is not None:
                # The waiter is there before the span ends, so no answer can come too early for it.
                hold = runtime.client.hold(step.trace_id, step.span_id)
                attributes[semconv.HOLD] = True
        except Exception:
            runtime.internal_error("hold")
    end_step(step, attributes, error, urgent=hold is not None)
    if hold is None or ticket is None:
        return SKIPPED
    return (yield from _verdict(step.run, hold, ticket, defer))


def _wants_hold(runtime: Runtime, suspicious: bool) -> bool:
    return runtime.settings.hold == "always" or (suspicious and runtime.settings.hold == "suspect")


def _ticket(runtime: Runtime) -> Ticket | None:
    if not runtime.connected:
        runtime.count("fail_open_disconnected")
        return None
    ticket = runtime.budget.ask()
    if ticket is None:
        runtime.count("hold_skipped_suspended")
    return ticket


def _verdict(
    run: Run, hold: Hold, ticket: Ticket, defer: Callable[[Hold], ToolRecord] | None
) -> Generator[Op, Any, Verdict]:
    runtime = run.runtime
    try:
        verdict: Verdict | None = yield Wait(hold, ticket.timeout_s)
    except BaseException as error:
        runtime.budget.abandoned(ticket)
        hold.cancel()
        if not isinstance(error, Exception):
            raise
        runtime.internal_error("hold")
        return SKIPPED
    if verdict is not None:
        _learn(runtime, ticket, verdict)
        return verdict
    runtime.budget.abandoned(ticket)
    runtime.count("hold_skipped_loop")
    if defer is None:
        hold.cancel()
    else:
        run.defer(defer(hold))
    return SKIPPED


def _learn(runtime: Runtime, ticket: Ticket, verdict: Verdict) -> None:
    runtime.count("holds")
    if verdict.kind == "timeout":
        runtime.count("fail_open_timeout")
        if runtime.budget.timed_out(ticket):
            log.warning("spanward: the detector does not answer; the agent goes on without waiting for it")
    elif verdict.kind == "skipped":  # the stream broke meanwhile
        runtime.budget.abandoned(ticket)
        runtime.count("fail_open_disconnected")
    else:
        runtime.budget.answered(ticket)
        runtime.count("holds_answered")


def safe_point(run: Run) -> Generator[Op, Any, bool]:
    """Takes late verdicts, waits out a pause, and refuses a run that is over. To be passed before every call.

    Returns:
        True when the run may go on; False when it is paused and this thread must not wait.

    Raises:
        AgentTerminated: the run is over, or nobody resumed it in time.
    """
    runtime = run.runtime
    if not runtime.connected and runtime.client is not None and (left := runtime.patience_s()) > 0:
        yield Connect(runtime.client, left)
    if run.deferred:
        yield from _take_deferred(run)
    while run.paused and not run.is_over():
        lease_ends = run.lease_ends
        may_move: bool | None = yield Paused(run)
        if may_move is None:
            return False
        if not may_move and run.lease_ends == lease_ends:  # it was not made longer meanwhile
            run.give_up()
    if not run.is_over() and not runtime.connected and (limit := run.over_limit()):
        # With the detector away nobody else keeps the limits that the run or the policy stated.
        run.terminate(limit, "budget")
    if run.is_over():
        raise run.exit_error()
    return True


def _take_deferred(run: Run) -> Generator[Op, Any, None]:
    """Verdicts on steps that could not wait for them: done now, or with the next request to the model."""
    runtime = run.runtime
    records = run.take_deferred()
    while records:
        record = records.pop(0)
        hold, ticket = record.hold, runtime.budget.ask()
        if hold is None or ticket is None:
            if hold is not None:
                hold.cancel()
            continue
        try:
            verdict: Verdict | None = yield Wait(hold, ticket.timeout_s)
        except BaseException:
            runtime.budget.abandoned(ticket)
            for left in (record, *records):
                run.defer(left)
            raise
        if verdict is None:  # it is not there yet, and this thread must not wait either
            runtime.budget.abandoned(ticket)
            run.defer(record)
            continue
        _learn(runtime, ticket, verdict)
        directive = verdict.directive
        if directive is None:
            continue
        if directive.kind in OBEYED:
            if runtime.accept(directive, run, record.digests):
                _execute(run, directive)
        elif directive.kind == "feedback" and record.call_id:
            run.replace_later(directive, record)
        else:
            runtime.count("late_rejected")
            runtime.reject(directive, "late")


def obey(run: Run, directive: GateDirective, since: float = 0.0) -> Generator[Op, Any, None]:
    """Executes an accepted pause or terminate and settles it; a pause is waited out.

    Raises:
        AgentTerminated: the run is over. The latch is set first: the exception is only the way out.
    """
    _execute(run, directive, since)
    yield from safe_point(run)


def _execute(run: Run, directive: GateDirective, since: float = 0.0) -> None:
    reason = DELIVERED[directive.kind](run.runtime, run, directive)
    run.runtime.settle(directive, "rejected" if reason else "applied", reason, since=since)
