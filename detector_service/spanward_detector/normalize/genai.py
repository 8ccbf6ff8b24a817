"""OpenTelemetry GenAI conventions, as instrumentation packages write them today and as they did up to v1.36."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from spanward_detector.ingest import Attrs, RawSpan
from spanward_detector.model import Kind, Step
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "genai"
SCOPES: Final = (
    "opentelemetry.instrumentation.genai.",
    "opentelemetry.instrumentation.openai_v2",
    "opentelemetry.instrumentation.google_genai",
    "opentelemetry.instrumentation.vertexai",
    "opentelemetry.util.genai",
)
MARKERS: Final = ("gen_ai.operation.name",)

KINDS: Final[Mapping[str, Kind]] = {
    "chat": Kind.LLM,
    "generate_content": Kind.LLM,
    "text_completion": Kind.LLM,
    "execute_tool": Kind.TOOL,
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.AGENT,
    "plan": Kind.DECISION,
}
"""Operation -> kind. Operations that are no step of an agent (embeddings, retrieval, create_agent) are ``OTHER``."""

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "agent": ("gen_ai.agent.name",),
    "agent_id": ("gen_ai.agent.id",),
    "conversation": ("gen_ai.conversation.id", "session.id"),
    "tool": ("gen_ai.tool.name",),
    "call_id": ("gen_ai.tool.call.id",),
    "arguments": ("gen_ai.tool.call.arguments",),
    "result": ("gen_ai.tool.call.result",),
    "model": ("gen_ai.response.model", "gen_ai.request.model"),
    "finish": ("gen_ai.response.finish_reasons",),
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "max_tokens": ("gen_ai.request.max_tokens",),
    "request": ("gen_ai.input.messages", "gen_ai.prompt"),
    "reply": ("gen_ai.output.messages", "gen_ai.completion"),
    "system": ("gen_ai.system_instructions",),
    "tools": ("gen_ai.tool.definitions",),
}
"""What is read -> keys, the current name first."""

Aliases = Mapping[str, tuple[str, ...]]


def text(attrs: Attrs, aliases: Aliases, name: str) -> str | None:
    """First of the aliases that is there, as text."""
    return next((value for key in aliases[name] if (value := attrs.text(key)) is not None), None)


def integer(attrs: Attrs, aliases: Aliases, name: str) -> int:
    """First of the aliases that is a number; 0 without one."""
    return next((value for key in aliases[name] if (value := attrs.int(key)) is not None), 0)


def value(attrs: Attrs, aliases: Aliases, name: str) -> object:
    """First of the aliases that is there."""
    return next((found for key in aliases[name] if (found := attrs.value(key)) is not None), None)


def system_text(recorded: object) -> str | None:
    """System instructions as text: they are recorded as a list of parts, or as they are."""
    if isinstance(recorded, str):
        recorded = msg.parse(recorded) if recorded[:1] in "[{" else recorded
    if isinstance(recorded, list):
        return "\n".join(m.text for m in msg.from_parts("system", recorded) if m.text) or None
    return recorded if isinstance(recorded, str) else None


def read_llm(attrs: Attrs, aliases: Aliases = ALIASES) -> Reading:
    """What a model call's attributes say; they may stand on a span or on its details event."""
    reading = Reading(Kind.LLM)
    reading.model = text(attrs, aliases, "model") or ""
    reading.action = reading.model
    reading.finish = next((found[0] for key in aliases["finish"] if (found := attrs.strings(key))), "")
    reading.input_tokens = integer(attrs, aliases, "input_tokens")
    reading.output_tokens = integer(attrs, aliases, "output_tokens")
    reading.max_tokens = integer(attrs, aliases, "max_tokens")
    reading.json_expected = attrs.text("gen_ai.output.type") == "json"
    reading.request = msg.from_value(value(attrs, aliases, "request"))
    reading.reply = msg.from_value(value(attrs, aliases, "reply"))
    reading.system = system_text(value(attrs, aliases, "system"))
    reading.content = reading.request is not None or reading.reply is not None
    reading.tools = msg.declared(value(attrs, aliases, "tools"))
    return reading


def read_tool(attrs: Attrs, aliases: Aliases = ALIASES) -> Reading:
    """What a tool call's attributes say."""
    return Reading(
        Kind.TOOL,
        action=text(attrs, aliases, "tool") or "",
        call_id=text(attrs, aliases, "call_id") or "",
        arguments=msg.unwrap_text(text(attrs, aliases, "arguments")),
        result=text(attrs, aliases, "result"),
    )


def last_answer(messages: Sequence[msg.Message] | None) -> str | None:
    """Last text of an agent's output messages."""
    return next((m.text for m in reversed(messages or ()) if m.role == "assistant" and m.text is not None), None)


def read_agent(attrs: Attrs, aliases: Aliases = ALIASES) -> Reading:
    """What an agent's or a workflow's attributes say. Its tokens are the sum of its children's: never read."""
    agent = text(attrs, aliases, "agent")
    request = msg.from_value(value(attrs, aliases, "request"))
    return Reading(
        Kind.AGENT,
        agent=agent or attrs.text("gen_ai.workflow.name") or "",
        agent_explicit=agent is not None,
        action=agent or attrs.text("gen_ai.workflow.name") or "",
        tools=msg.declared(value(attrs, aliases, "tools")),
        user_input=msg.user_input(request) if request else None,
        answer=last_answer(msg.from_value(value(attrs, aliases, "reply"))),
    )


def read(attrs: Attrs, operation: str, name: str, aliases: Aliases = ALIASES) -> Reading:
    """What a span of these conventions says.

    Args:
        attrs: of the span.
        operation: ``gen_ai.operation.name``.
        name: of the span.
        aliases: keys to read.
    """
    kind = KINDS.get(operation, Kind.OTHER)
    if kind is Kind.LLM:
        reading = read_llm(attrs, aliases)
    elif kind is Kind.TOOL:
        reading = read_tool(attrs, aliases)
    elif kind is Kind.AGENT:
        reading = read_agent(attrs, aliases)
    else:
        reading = Reading(kind, action=operation if kind is Kind.OTHER else name.removeprefix(f"{operation} "))
    reading.agent = reading.agent or text(attrs, aliases, "agent") or ""
    reading.agent_id = text(attrs, aliases, "agent_id") or ""
    reading.conversation_id = text(attrs, aliases, "conversation") or ""
    return reading


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of these conventions."""
    operation = span.attrs.text("gen_ai.operation.name")
    if operation is None:
        return []
    return to_steps(span, ctx, DIALECT, read(span.attrs, operation, span.name))
