"""PydanticAI (instrumentation versions 2 to 6) and Logfire, which writes the same spans and pending ones beside."""

from __future__ import annotations

from typing import Final

from spanward_detector.ingest import RawSpan
from spanward_detector.model import Kind, Step
from spanward_detector.normalize import genai
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "pydantic_ai"
SCOPES: Final = ("pydantic-ai", "pydantic_ai")
MARKERS: Final = ("pydantic_ai.all_messages", "logfire.msg")

ALIASES: Final[genai.Aliases] = {
    **genai.ALIASES,
    "agent": ("gen_ai.agent.name", "agent_name"),
    "arguments": ("gen_ai.tool.call.arguments", "tool_arguments"),
    "result": ("gen_ai.tool.call.result", "tool_response"),
    "request": ("gen_ai.input.messages", "pydantic_ai.all_messages"),
}

_PENDING: Final = "pending_span"


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of this dialect; Logfire's pending spans say that one has started and count as no step."""
    attrs = span.attrs
    operation = attrs.text("gen_ai.operation.name") or ""
    if attrs.text("logfire.span_type") == _PENDING:
        action = genai.text(attrs, ALIASES, "tool") or genai.text(attrs, ALIASES, "model") or ""
        kind = genai.KINDS.get(operation, Kind.OTHER)
        extra = {"pending": span.parent_id, "pending_kind": kind.value}
        return to_steps(span, ctx, DIALECT, Reading(Kind.OTHER, action=action, extra=extra))
    if not operation:
        return []
    reading = genai.read(attrs, operation, span.name, ALIASES)
    if reading.kind is Kind.AGENT:
        reading.answer = attrs.text("final_result")
        reading.user_input = _first_request(attrs.value("pydantic_ai.all_messages")) or reading.user_input
    elif reading.kind is Kind.TOOL:
        reading.attempt = (attrs.int("pydantic_ai.tool.retry.attempt") or 0) or 1
        if attrs.text("pydantic_ai.tool.failure_stage") == "validation":
            reading.extra = {"failure_stage": "validation"}
    return to_steps(span, ctx, DIALECT, reading)


def _first_request(value: object) -> str | None:
    """What the user asked last before the run's first answer: later user messages of the list carry tool results."""
    found = msg.from_value(value) or []
    start = next((at for at, message in enumerate(found) if message.role == "assistant"), len(found))
    return msg.user_input(found[:start])
