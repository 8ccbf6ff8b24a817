"""The flow of one tool call through the gate, from the latch to the effect of the verdict.

Our own failures are caught in here, place by place: the function's result or exception always comes through. Only a
``high_risk`` tool is refused rather than run unwatched.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from spanward import semconv
from spanward.admission import approved, claim, refusal, refusal_text
from spanward.context import current_run
from spanward.cross_check import cross_checked
from spanward.errors import AgentTerminated
from spanward.facts import (
    ArgumentsFacts,
    Foreign,
    ResultFacts,
    arguments_facts,
    digest,
    facts_and_digest,
    facts_to_attributes,
    foreign_text_of,
    result_facts,
    text_of,
)
from spanward.feedback import degraded
from spanward.gate import OBEYED, SKIPPED, OpenStep, close_step, end_step, obey, open_step, safe_point
from spanward.journal import CallState, Entry
from spanward.ops import CallControl, Invoke, Op, Outcome, adrive, drive
from spanward.ports import Verdict
from spanward.runs import implicit_run
from spanward.runtime import Runtime
from spanward.steering import APPLY, Attempt, ToolCall, stand_in

if TYPE_CHECKING:
    from spanward.config import Settings
    from spanward.tools import Tool, ToolSpec

LONGEST_PUT_OFF: Final = 2_000
"""Characters of a result whose facts can be left to the sender: its full queue keeps a few megabytes of them."""

CONTROL_FLOW: Final = frozenset(
    {
        "ApprovalRequired", "CallDeferred", "ModelRetry", "SkipToolExecution",  # pydantic-ai
        "GraphBubbleUp", "GraphInterrupt", "NodeInterrupt", "ParentCommand",  # langgraph
        "InterruptException",  # strands
        "MiddlewareTermination", "MiddlewareFailure",  # agent-framework
        "ToolInputGuardrailTripwireTriggered", "ToolOutputGuardrailTripwireTriggered",  # openai-agents
    }
)  # fmt: skip
"""Names of exceptions by which frameworks pause, defer or hand over: they pass untouched and are no errors."""


def tool_flow(call: ToolCall) -> Generator[Op, Any, Outcome]:
    """Takes a call through the gate. The caller raises ``Outcome.error`` or returns ``Outcome.value``.

    Raises:
        AgentTerminated: the run is over.
    """
    attempt = Attempt(call, call.arguments)
    while True:
        done = yield from _attempt(attempt)
        if isinstance(done, Outcome):
            return done
        attempt = done


def _attempt(attempt: Attempt) -> Generator[Op, Any, Outcome | Attempt]:
    call = attempt.call
    run, spec = call.run, call.spec
    runtime = run.runtime
    may_move = run.calm or (yield from safe_point(run))
    refused: semconv.Refusal | None
    try:
        attempt.digest = digest(attempt.arguments, runtime.settings.digest_key)
        if attempt.number == 1:
            claim(attempt)
            if call.call_id and (entry := runtime.journal.finished(run.id, call.call_id, attempt.digest)) is not None:
                return Outcome(entry.value, None, time.perf_counter())
        if spec.schema is not None:
            attempt.violation = spec.schema.first_violation(attempt.arguments)
        refused = refusal(attempt, may_move=may_move)
    except Exception:
        runtime.internal_error("admission")
        refused = "internal" if spec.side_effect == "high_risk" else None
    if refused is None and spec.side_effect == "high_risk" and not (yield from approved(attempt)):
        refused = "not_approved"
    if refused is not None:
        return (yield from _refuse(attempt, refused))
    timeout_s = spec.timeout_s or runtime.policy.timeout_s(spec.name)
    worker = not spec.is_async and (timeout_s > 0 or spec.interruptible is True)
    control = CallControl() if spec.interruptible is not False and (spec.is_async or worker) else None
    try:
        step = _start(attempt, timeout_s, control)
    except Exception:
        runtime.internal_error("start of step")
        if spec.side_effect == "high_risk":
            return Outcome(refusal_text(attempt, "internal"), None, time.perf_counter())
        unwatched: Outcome = yield Invoke(attempt.arguments)
        return unwatched
    entry = _intend(attempt, step) if spec.effects else None
    try:
        outcome: Outcome = yield Invoke(attempt.arguments, attempt.number, timeout_s, control, worker, None, spec.name)
    except BaseException as stop:
        if entry is not None:
            _journal(attempt, entry, "cancelled")
        end_step(step, {semconv.OUTCOME_UNKNOWN: True} if spec.effects else {}, stop)
        raise
    attempt.outcome = outcome
    passes = outcome.error is not None and type(outcome.error).__name__ in CONTROL_FLOW
    try:
        attributes, suspicious = ({}, False) if _put_off(attempt, step) else _observed(attempt)
        if passes:
            attributes[semconv.CONTROL_FLOW] = True
    except Exception:
        runtime.internal_error("facts")
        attributes, suspicious = {}, outcome.error is not None
    if entry is not None:
        _journal(attempt, entry, "unknown" if outcome.unknown else "ok" if outcome.error is None else "error")
    error = None if passes else outcome.error
    if passes or runtime.settings.hold == "never" or run.is_over():
        end_step(step, attributes, error)
        verdict = SKIPPED
    else:
        verdict = yield from close_step(step, attributes, error, suspicious=suspicious, defer=attempt.record)
    if run.completions or spec.cross_check is not None:
        worked = outcome.error is None and semconv.FACT_RESULT_ERROR not in attributes
        for completion in run.completions:
            completion.saw(spec.name, attempt.arguments, worked)
        if worked and spec.cross_check is not None and verdict.directive is None and not run.is_over():
            verdict = yield from cross_checked(attempt)
    if verdict.directive is None and run.calm and not outcome.cause and not attempt.note:
        return outcome
    return (yield from _steer(attempt, verdict))


def _steer(attempt: Attempt, verdict: Verdict) -> Generator[Op, Any, Outcome | Attempt]:
    """Applies the verdict; without one the outcome stands."""
    run, outcome = attempt.call.run, attempt.outcome
    directive = verdict.directive
    if directive is not None and run.runtime.accept(directive, run, (attempt.digest, attempt.result_digest)):
        if directive.kind in OBEYED:
            yield from obey(run, directive, outcome.returned_at)
        elif (apply := APPLY.get(directive.kind)) is None:
            run.runtime.settle(directive, "rejected", "unsupported")
        else:
            try:
                done = yield from apply(attempt, directive)
            except AgentTerminated:
                raise
            except Exception:
                run.runtime.internal_error(f"directive {directive.kind}")
                run.runtime.settle(directive, "failed", "internal")
                done = None
            if done is not None:
                return done
    if not run.calm:
        yield from safe_point(run)
    if outcome.cause == "interrupted":
        # Somebody cut it short on purpose and said no more: the run shall go on.
        return (yield from stand_in(attempt))[0]
    if attempt.note and isinstance(outcome.value, str):
        return outcome._replace(value=f"{outcome.value}\n{attempt.note}")
    return outcome


# ------------------------------------------------------------------------------------------------------ before the call


def _refuse(attempt: Attempt, refused: semconv.Refusal) -> Generator[Op, Any, Outcome | Attempt]:
    """A call that is not made is a step all the same; broken arguments may still be repaired."""
    attempt.refused = refused
    runtime = attempt.call.run.runtime
    text = refusal_text(attempt, refused)
    attempt.outcome = Outcome(text, None, time.perf_counter())
    try:
        attempt.result_digest = digest(text, runtime.settings.digest_key)
        step = _start(attempt, 0.0, None)
    except Exception:
        runtime.internal_error("start of step")
        return attempt.outcome
    attributes = {semconv.GATE_REFUSED: refused, semconv.RESULT_DIGEST: attempt.result_digest}
    if attempt.outside:
        attributes[semconv.GATE_OUTSIDE] = attempt.outside
    verdict = yield from close_step(step, attributes, suspicious=True, holds=refused == "schema", defer=attempt.record)
    if refused == "breaker" and attempt.call.spec.fallback is not None:
        return (yield from stand_in(attempt))[0]
    return (yield from _steer(attempt, verdict))


def _start(attempt: Attempt, timeout_s: float, control: CallControl | None) -> OpenStep:
    call = attempt.call
    run, spec = call.run, call.spec
    attributes: dict[str, Any] = {
        **spec.attributes,
        semconv.PAYLOAD_DIGEST: attempt.digest,
        semconv.ATTEMPT: attempt.number,
    }
    if call.call_id:
        attributes[semconv.TOOL_CALL_ID] = call.call_id
    if timeout_s and not spec.timeout_s:
        attributes[semconv.TOOL_TIMEOUT_S] = timeout_s
    if attempt.violation or call.raw is not None:
        attributes.update(facts_to_attributes(arguments=_arguments_facts(attempt)))
    if callable(spec.reason):
        attributes[semconv.STEP_REASON] = str(spec.reason(attempt.arguments))
    if run.runtime.settings.capture_content:
        attributes[semconv.TOOL_ARGUMENTS] = text_of(attempt.arguments)
    run.know_tool(spec.name, spec.facts)
    step = open_step(
        run,
        spec.span_name,
        attributes,
        kind="tool",
        action=spec.name,
        call_id=call.call_id,
        timeout_s=timeout_s,
        control=control,
        effects=spec.effects and not attempt.refused,
    )
    attempt.step = step
    return step


def _arguments_facts(attempt: Attempt) -> ArgumentsFacts:
    call = attempt.call
    written = call.raw if call.raw is not None and attempt.number == 1 else attempt.arguments
    return arguments_facts(written, schema=call.spec.schema)


def _intend(attempt: Attempt, step: OpenStep) -> Entry:
    call = attempt.call
    entry = Entry(call.run.id, call.call_id or step.span_id, call.spec.name, attempt.digest)
    try:
        call.run.runtime.journal.intent(entry)
    except Exception:
        call.run.runtime.internal_error("journal")
    return entry


# ------------------------------------------------------------------------------------------------------- after the call


def _put_off(attempt: Attempt, step: OpenStep) -> bool:
    """Leaves what a text tells to the thread that sends the span. False where somebody here has to know it now.

    A text cannot change meanwhile. Long ones are read at once: spans that wait to be sent shall not keep them.
    """
    call, outcome = attempt.call, attempt.outcome
    runtime, spec, value = call.run.runtime, call.spec, outcome.value
    settings = runtime.settings
    # A hold has the span sent at once, a late verdict and the journal's file name the digest, checks ask how it went.
    asked = settings.hold != "never" or call.call_id or settings.journal or call.run.completions or spec.cross_check
    if asked or outcome.error is not None or type(value) is not str or len(value) > LONGEST_PUT_OFF:
        return False
    foreign = foreign_text_of(spec.foreign_text, attempt.arguments)
    runtime.spans.complete_later(step.span, partial(_told_by, runtime, spec, value, foreign))
    return True


def _told_by(runtime: Runtime, spec: ToolSpec, text: str, foreign: Foreign) -> Mapping[str, Any]:
    """Attributes of a text that came back. On the sender's thread."""
    try:
        return _attributes(runtime.settings, *_read(runtime.settings, spec, text, foreign), text)
    except Exception:
        runtime.internal_error("facts")
        return {}


def _observed(attempt: Attempt) -> tuple[dict[str, Any], bool]:
    """Attributes of what came back, and whether it looks wrong."""
    call, outcome = attempt.call, attempt.outcome
    spec, settings = call.spec, call.run.runtime.settings
    error, value = outcome.error, outcome.value
    foreign = foreign_text_of(spec.foreign_text, attempt.arguments)
    said = value
    if error is None and type(value) is str:
        facts, attempt.result_digest = _read(settings, spec, value, foreign)
    else:
        facts = result_facts(
            value, error=error, media_type=spec.media_type, schema=spec.result_schema, foreign_text=foreign
        )
        said = value if error is None else f"{type(error).__qualname__}: {error}"
        attempt.result_digest = digest(said, settings.digest_key)
    attributes = _attributes(settings, facts, attempt.result_digest, said)
    if outcome.unknown or (outcome.cause and spec.effects):
        attributes[semconv.OUTCOME_UNKNOWN] = True
    if call.call_id:
        call.run.remember(attempt.record())
    wrong = facts.error or facts.schema or facts.empty or (facts.json_expected and facts.is_json is False)
    return attributes, bool(wrong)


def _read(settings: Settings, spec: ToolSpec, text: str, foreign: Foreign) -> tuple[ResultFacts, str]:
    return facts_and_digest(
        text, key=settings.digest_key, media_type=spec.media_type, schema=spec.result_schema,
        foreign_text=foreign,
    )  # fmt: skip


def _attributes(settings: Settings, facts: ResultFacts, result_digest: str, said: object) -> dict[str, Any]:
    attributes: dict[str, Any] = facts_to_attributes(facts)
    attributes[semconv.RESULT_DIGEST] = result_digest
    if settings.capture_content:
        attributes[semconv.TOOL_RESULT] = text_of(said)
    return attributes


def _journal(attempt: Attempt, entry: Entry, state: CallState) -> None:
    call = attempt.call
    # Only a call that the model named can be asked for again.
    value = attempt.outcome.value if call.call_id else None
    try:
        call.run.runtime.journal.result(entry, state, attempt.result_digest, value)
    except Exception:
        call.run.runtime.internal_error("journal")


# -------------------------------------------------------------------------------------------------------------- drivers


def _begin(tool: Tool, runtime: Runtime, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ToolCall:
    run = current_run()
    implicit = run is None
    if run is None:
        run = implicit_run(runtime)
    arguments = tool.binding.arguments(args, kwargs)

    def invoke(chosen: Mapping[str, Any]) -> Any:
        return tool.fn(*args, **kwargs) if chosen is arguments else tool.binding.call(tool.fn, args, chosen)

    return ToolCall(run, tool.spec, arguments, invoke, implicit=implicit)


def call_sync(tool: Tool, runtime: Runtime, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a decorated sync function through the gate."""
    try:
        call = _begin(tool, runtime, args, kwargs)
    except Exception:
        return _unwatched(tool, runtime, args, kwargs)
    outcome: Outcome
    if call.implicit:
        with call.run.entered():
            outcome = drive(tool_flow(call), call.invoke)
    else:
        outcome = drive(tool_flow(call), call.invoke)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


async def call_async(tool: Tool, runtime: Runtime, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a decorated coroutine function through the gate."""
    try:
        call = _begin(tool, runtime, args, kwargs)
    except Exception:
        refused = _unwatched(tool, runtime, args, kwargs)
        return await refused if inspect.isawaitable(refused) else refused
    outcome: Outcome
    if call.implicit:
        with call.run.entered():
            outcome = await adrive(tool_flow(call), call.invoke)
    else:
        outcome = await adrive(tool_flow(call), call.invoke)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _unwatched(tool: Tool, runtime: Runtime, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The gate is broken: the tool runs as it was written, unless it must not."""
    runtime.internal_error("gate")
    return degraded(tool.spec.name) if tool.spec.side_effect == "high_risk" else tool.fn(*args, **kwargs)
