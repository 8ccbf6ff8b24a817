"""From what a dialect's module reads off a span to steps: everything that is the same for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanward.facts import Schema, answer_facts, arguments_facts, foreign_text_tool, result_facts
from spanward.facts import digest as content_digest
from spanward.semconv import STEP_INDEX

from spanward_detector.ingest import RawSpan
from spanward_detector.model import Kind, SpanRef, Step, ToolCall
from spanward_detector.normalize import losses
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import MAX_PER_TRACE, AgentNote, TraceContext
from spanward_detector.normalize.messages import Message
from spanward_detector.normalize.processes import EXIT_CODE, exit_code_of

STATUS_OK: Final = 1
STATUS_ERROR: Final = 2

CONTROL_FLOW: Final = frozenset(
    {
        "GraphBubbleUp", "GraphInterrupt", "NodeInterrupt", "ParentCommand", "ApprovalRequired", "CallDeferred",
        "SkipToolExecution", "InterruptException", "AgentInterruptedException",
    }
)  # fmt: skip
"""Exceptions by which frameworks pause, defer or hand over; by class name, without the module."""
TIMEOUTS: Final = frozenset(
    {
        "TimeoutError", "Timeout", "TimeoutException", "ReadTimeout", "ConnectTimeout", "WriteTimeout", "PoolTimeout",
        "APITimeoutError", "DeadlineExceeded", "ServerTimeoutError", "timeout",
    }
)  # fmt: skip
"""Exceptions that mean that time ran out; by class name, without the module."""

_MAX_HISTORY: Final = 2048


@dataclass(slots=True)
class Reading:
    """What one span says, in nobody's dialect. A dialect's module fills in what its spans carry.

    Attributes:
        kind: of the step.
        agent: name of the agent that acts.
        agent_explicit: the telemetry names it; otherwise it is the name of a span.
        agent_id: its id.
        conversation_id: of the session.
        action: tool, model or decision.
        call_id: of the tool call.
        arguments: unwrapped text of a tool's arguments; None when not recorded.
        validate: the arguments are what the model wrote, so that their form and schema may be judged.
        result: unwrapped text of a tool's result; None when not recorded.
        is_error: a flag of the result itself.
        media_type: of the result.
        schema: JSON Schema of the tool that runs.
        request: messages of a model call; None when not recorded.
        reply: messages of its answer; None when not recorded.
        system: system text that is recorded beside the messages; None when there is none.
        content: the span records content at all, so that what is missing is really missing.
        finish: finish reason as recorded.
        tools: declared tools; None when not told.
        model: name of the model.
        input_tokens: of a model call, prompt and cached ones.
        output_tokens: of a model call.
        max_tokens: limit that the request states.
        json_expected: the request asks for JSON.
        user_input: of the run, on an agent's span.
        answer: of the run, on an agent's span.
        attempt: 1-based.
        max_steps: limit that the agent states.
        failed: override of the span's status; None = by status.
        error_type: override of the class of the span's error.
        error_text: override of the span's error text.
        reason: why the agent does this, in its own words.
        lost: see :attr:`spanward_detector.model.Step.lost`.
        extra: for the runs layer.
    """

    kind: Kind
    agent: str = ""
    agent_explicit: bool = True
    agent_id: str = ""
    conversation_id: str = ""
    action: str = ""
    call_id: str = ""
    arguments: str | None = None
    validate: bool = True
    result: str | None = None
    is_error: bool | None = None
    media_type: str | None = None
    schema: object = None
    request: list[Message] | None = None
    reply: list[Message] | None = None
    system: str | None = None
    content: bool = False
    finish: str = ""
    tools: dict[str, object] | None = None
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    max_tokens: int = 0
    json_expected: bool = False
    user_input: str | None = None
    answer: str | None = None
    attempt: int = 1
    max_steps: int = 0
    failed: bool | None = None
    error_type: str = ""
    error_text: str | None = None
    reason: str = ""
    lost: str = ""
    extra: Mapping[str, object] | None = None


def outcome(span: RawSpan) -> tuple[bool, str, str | None]:
    """Whether a span failed, with which class of error, and what the error says.

    An exception event alone is a failure too, unless the instrumentation states that all went well.
    """
    error_type = span.attrs.text("error.type") or ""
    text = span.status_message or None
    failed = span.status == STATUS_ERROR or bool(error_type)
    if span.raw_events and span.status != STATUS_OK:
        for event in span.events:
            if event.name != "exception":
                continue
            failed = True
            error_type = error_type or event.attrs.text("exception.type") or ""
            # The status of some instrumentations holds the whole traceback; the event holds the message alone.
            text = event.attrs.text("exception.message") or text
    return failed, error_type, text if failed else None


def class_name(error_type: str) -> str:
    """Name of an exception's class without its module."""
    return error_type.rsplit(".", 1)[-1]


def schema_of(source: object) -> Schema | None:
    """Compiled schema of a tool; None when there is none that could be compiled."""
    if not isinstance(source, Mapping) or not ("properties" in source or "type" in source):
        return None
    return Schema.of(dict(source))


def to_steps(span: RawSpan, ctx: TraceContext, dialect: str, reading: Reading) -> list[Step]:
    """Makes the step of a span, and the tool steps that can only be seen in its messages."""
    reading = losses.whole(span, reading)
    failed, error_type, error_text = outcome(span)
    if reading.failed is not None:
        failed = reading.failed
    error_type = reading.error_type or error_type
    name = class_name(error_type)
    step = Step(
        kind=reading.kind,
        ref=SpanRef(span.trace_id, span.span_id),
        parent_id=span.parent_id,
        run_id=span.trace_id,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        dialect=dialect,
        scope=span.scope,
        name=span.name,
        agent=reading.agent,
        agent_id=reading.agent_id,
        conversation_id=reading.conversation_id,
        service=span.service,
        action=reading.action,
        index=max(0, span.attrs.int(STEP_INDEX) or 0),
        attempt=reading.attempt,
        reason=reading.reason,
        failed=failed,
        error_type=error_type if failed else "",
        error_text=(reading.error_text or error_text) if failed else None,
        control_flow=name in CONTROL_FLOW,
        timed_out=name in TIMEOUTS,
        model=reading.model,
        lost=reading.lost,
        extra={**(reading.extra or {}), "agent_stated": True} if reading.agent else dict(reading.extra or {}),
    )
    if reading.conversation_id:
        ctx.conversation_id = reading.conversation_id
    if reading.kind is Kind.TOOL:
        if code := span.attrs.int(EXIT_CODE):
            step.extra = {**step.extra, "exit_code": code}
        _tool(step, ctx, reading, exit_code_of(span, reading.arguments, reading.result))
    elif reading.kind is Kind.LLM:
        return _llm(step, ctx, reading)
    elif reading.kind is Kind.AGENT:
        _agent(step, ctx, reading)
    elif reading.answer is not None:
        step.answer, step.answer_facts = reading.answer, answer_facts(reading.answer)
    return [step]


def _agent(step: Step, ctx: TraceContext, reading: Reading) -> None:
    if len(ctx.agents) < MAX_PER_TRACE:
        ctx.agents[step.ref.span_id] = AgentNote(reading.agent, reading.agent_explicit)
    if reading.tools:
        ctx.declare(reading.tools)
        step.declared_tools = reading.tools
    step.user_input, step.answer = reading.user_input, reading.answer
    if reading.answer is not None:
        step.answer_facts = answer_facts(reading.answer)
    step.stated_max_steps = reading.max_steps
    mark_root(step, step.parent_id is None)


def mark_root(step: Step, is_root: bool) -> None:
    """Says whether an agent's step is the run itself; then its end is the end of the run."""
    step.is_root = is_root
    ended = (class_name(step.error_type) or "Exception") if step.failed else "completed"
    step.run_ended = ended if is_root else ""


def _tool(step: Step, ctx: TraceContext, reading: Reading, exit_code: int | None) -> None:
    if len(ctx.tool_spans) < MAX_PER_TRACE:
        ctx.tool_spans[step.ref.span_id] = reading.action
    step.call_id = reading.call_id
    if reading.schema is not None:
        ctx.declare({reading.action: reading.schema})
    if not reading.validate:
        step.extra = {**step.extra, "validate": False}
    set_arguments(step, reading.arguments, ctx.tools.get(reading.action), validate=reading.validate)
    set_result(step, reading.result, is_error=reading.is_error, media_type=reading.media_type, exit_code=exit_code)


def set_arguments(step: Step, arguments: str | None, schema: object, *, validate: bool = True) -> None:
    """Sets a tool step's arguments with their digest and facts."""
    step.arguments = arguments
    if arguments is None:
        return
    step.arguments_digest = content_digest(arguments)
    if validate:
        step.arguments_facts = arguments_facts(arguments, schema=schema_of(schema))


def set_result(
    step: Step,
    result: str | None,
    *,
    is_error: bool | None,
    media_type: str | None = None,
    exit_code: int | None = None,
) -> None:
    """Sets a tool step's result with its digest and facts."""
    step.result = result
    if result is not None:
        step.result_digest = content_digest(result)
    error = (step.error_text or step.error_type or "error") if step.failed else None
    if result is None and error is None and is_error is None:
        return
    step.result_facts = result_facts(
        result, error=error, is_error=is_error, media_type=media_type, exit_code=exit_code,
        foreign_text=foreign_text_tool(step.action, step.arguments),
    )  # fmt: skip


def judged(call: ToolCall, tools: Mapping[str, object]) -> ToolCall:
    """The call with the form of its arguments; "schema" where they are well formed and break the tool's schema."""
    if call.form is not None or call.arguments is None:
        return call
    facts = arguments_facts(call.arguments, schema=schema_of(tools.get(call.name)))
    return call._replace(form=facts.label)


def judge_again(step: Step, tools: Mapping[str, object]) -> bool:
    """Judges a reply's calls by tools that became known after it; True when that changed something."""
    calls = tuple(
        judged(call._replace(form=None), tools) if call.arguments is not None else call for call in step.calls
    )
    changed = calls != step.calls
    step.calls = calls
    return changed


def _llm(step: Step, ctx: TraceContext, reading: Reading) -> list[Step]:
    step.finish_reason = msg.finish_reason(reading.finish)
    step.input_tokens, step.output_tokens = reading.input_tokens, reading.output_tokens
    step.max_tokens = reading.max_tokens
    if reading.tools is not None:
        step.declared_tools = reading.tools
        ctx.declare(reading.tools)
    set_reply(step, ctx, reading.reply, content=reading.content, json_expected=reading.json_expected)
    return [step, *set_request(step, ctx, reading.request, reading.reply, system=reading.system)]


def set_reply(
    step: Step, ctx: TraceContext, reply: Sequence[Message] | None, *, content: bool, json_expected: bool = False
) -> None:
    """Sets what the model answered.

    Args:
        step: of the model call.
        ctx: of its trace.
        reply: messages of the answer; None when not recorded.
        content: content is recorded, so that a missing reply is a lost one.
        json_expected: the request asks for JSON.
    """
    lost = content and step.finish_reason == "tool_calls"
    if reply is None and not lost:
        return
    found = list(reply or ())
    tools = step.declared_tools if step.declared_tools is not None else ctx.tools
    calls = tuple(judged(made, tools) for message in found for made in message.calls)
    if not step.finish_reason:
        step.finish_reason = next((msg.finish_reason(m.finish) for m in found if m.finish), "")
    if step.finish_reason == "tool_calls" and not calls and not step.failed:
        # Frameworks drop a call whose arguments they cannot parse; that there was one is all that is left of it.
        calls = (ToolCall("", "", None, "malformed"),)
    elif calls and step.finish_reason == "stop":
        step.finish_reason = "tool_calls"  # some always say stop
    step.calls, step.n_calls = calls, len(calls)
    ctx.note_calls(calls)
    if step.declared_tools:
        step.unknown_tools = tuple(made.name for made in calls if made.name and made.name not in step.declared_tools)
    texts = [message.text for message in found if message.text]
    if texts or (found and content and not calls):
        step.answer = texts[-1] if texts else ""
        step.answer_facts = answer_facts(step.answer, json_expected=json_expected and not calls, last=not calls)


def set_request(
    step: Step,
    ctx: TraceContext,
    request: Sequence[Message] | None,
    reply: Sequence[Message] | None,
    *,
    whole: bool = True,
    system: str | None = None,
) -> list[Step]:
    """Sets what the model was asked, and makes the tool steps that are visible nowhere else.

    Args:
        step: of the model call.
        ctx: of its trace.
        request: messages of the request; None when not recorded.
        reply: messages of the answer; None when not recorded.
        whole: the request is known to its end; otherwise nothing can be said of the results at its end.
        system: system text that was recorded beside the messages.

    Returns:
        One step for each tool result that the request brings, when no tool of this trace has a span of its own.
    """
    if request is None:
        return []
    step.user_input = msg.user_input(request)
    results = msg.trailing_results(request)
    step.tool_messages = msg.tool_messages(request)
    step.said = (*((("system", system),) if system else ()), *msg.said(request))
    extra = dict(step.extra)
    if msg.called_before(request):
        extra["called_before"] = True
    if len(request) <= _MAX_HISTORY:
        extra["history"] = tuple(msg.digest(message) for message in request)
        if reply:
            extra["reply"] = msg.digest(reply[-1])
    step.extra = extra
    if not whole or ctx.tool_spans or Kind.TOOL in ctx.ours:
        return []
    by_id = {made.id: made for message in request for made in message.calls if made.id}
    return [_from_message(step, ctx, message, by_id, at - len(results)) for at, message in enumerate(results)]


def _from_message(step: Step, ctx: TraceContext, message: Message, by_id: Mapping[str, ToolCall], offset: int) -> Step:
    """The tool step of a result that is seen only in the next request; it stands just before that request."""
    made = by_id.get(message.call_id) or ctx.calls.get(message.call_id) or ToolCall(message.call_id, "")
    key = f"{step.ref.trace_id}{message.call_id or f'{step.ref.span_id}{offset}'}"
    tool = Step(
        kind=Kind.TOOL,
        ref=SpanRef(step.ref.trace_id, hashlib.sha256(key.encode()).hexdigest()[:16]),
        parent_id=step.parent_id,
        run_id=step.run_id,
        start_ns=max(0, step.start_ns + offset),
        end_ns=max(0, step.start_ns + offset),
        dialect=step.dialect,
        scope=step.scope,
        name=f"execute_tool {made.name}".rstrip(),
        agent=step.agent,
        conversation_id=step.conversation_id,
        service=step.service,
        action=made.name,
        call_id=message.call_id,
        extra={"sighting": "message", "llm": step.ref.span_id, "agent_stated": bool(step.extra.get("agent_stated"))},
    )
    tools = step.declared_tools if step.declared_tools is not None else ctx.tools
    set_arguments(tool, made.arguments, tools.get(made.name))
    set_result(tool, message.text, is_error=None)
    return tool
