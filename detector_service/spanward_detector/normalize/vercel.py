"""Vercel AI SDK: the legacy ``ai.*`` spans (v4 to v7) and the GenAI spans of @ai-sdk/otel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spanward_detector.ingest import Attrs, RawSpan
from spanward_detector.model import Kind, Step
from spanward_detector.normalize import genai
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.messages import Message
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "vercel"
SCOPES: Final = ("ai\0", "gen_ai\0")  # whole names: a prefix this short would match others
MARKERS: Final = ("ai.operationId",)

_TOOL: Final = "ai.toolCall"
_CALL_SUFFIXES: Final = (".doGenerate", ".doStream")
_RUNS: Final = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "model": ("ai.response.model", "gen_ai.response.model", "ai.model.id", "gen_ai.request.model"),
    "input_tokens": ("ai.usage.inputTokens", "gen_ai.usage.input_tokens", "ai.usage.promptTokens"),
    "output_tokens": ("ai.usage.outputTokens", "gen_ai.usage.output_tokens", "ai.usage.completionTokens"),
    "max_tokens": ("gen_ai.request.max_tokens", "ai.settings.maxOutputTokens", "ai.settings.maxTokens"),
    "conversation": (
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.conversationId",
        "ai.telemetry.metadata.threadId",
        "ai.telemetry.metadata.chatId",
    ),
}


def _plain(text: str | None) -> str | None:
    """A result out of its JSON encoding: a string is written with its quotes."""
    if text is not None and text.startswith('"'):
        value = msg.parse(text)
        return value if isinstance(value, str) else text
    return text


def _reply(attrs: Attrs) -> list[Message] | None:
    text = attrs.text("ai.response.text")
    calls = msg.openai_calls(msg.parse(attrs.text("ai.response.toolCalls")))
    structured = attrs.text("ai.response.object")
    if text is None and structured is None and not calls:
        return None
    return [Message("assistant", text or structured, calls)]


def _tools(attrs: Attrs) -> dict[str, object] | None:
    definitions = [msg.parse(text) for text in attrs.strings("ai.prompt.tools")]
    return msg.declared(definitions) if definitions else None


def _llm(attrs: Attrs, operation: str) -> Reading:
    model = genai.text(attrs, ALIASES, "model") or ""
    request = msg.from_value(attrs.text("ai.prompt.messages"))
    reply = _reply(attrs)
    finish = attrs.text("ai.response.finishReason")
    return Reading(
        Kind.LLM,
        action=model,
        model=model,
        request=request,
        reply=reply,
        content=request is not None or reply is not None,
        finish=finish or next(iter(attrs.strings("gen_ai.response.finish_reasons")), ""),
        tools=_tools(attrs),
        input_tokens=genai.integer(attrs, ALIASES, "input_tokens"),
        output_tokens=genai.integer(attrs, ALIASES, "output_tokens"),
        max_tokens=genai.integer(attrs, ALIASES, "max_tokens"),
        json_expected="Object" in operation,
    )


def _agent(attrs: Attrs) -> Reading:
    prompt = msg.parse(attrs.text("ai.prompt"))
    asked = None
    if isinstance(prompt, Mapping):
        asked = msg.user_input(msg.from_value(prompt.get("messages")) or []) or msg.dump(prompt.get("prompt"))
    name = attrs.text("ai.telemetry.functionId") or ""
    return Reading(
        Kind.AGENT, agent=name, agent_explicit=bool(name), action=name, user_input=asked,
        answer=attrs.text("ai.response.text") or attrs.text("ai.response.object"),
    )  # fmt: skip


def read_legacy(attrs: Attrs, operation: str) -> Reading:
    """What a legacy span says. The run's own span repeats the tokens of its calls: they are not read."""
    if operation.endswith(_CALL_SUFFIXES):
        reading = _llm(attrs, operation)
    elif operation == _TOOL:
        reading = Reading(
            Kind.TOOL,
            action=attrs.text("ai.toolCall.name") or "",
            call_id=attrs.text("ai.toolCall.id") or "",
            arguments=attrs.text("ai.toolCall.args"),
            result=_plain(attrs.text("ai.toolCall.result")),
        )
    elif operation in _RUNS:
        reading = _agent(attrs)
    else:
        reading = Reading(Kind.OTHER, action=operation)
    reading.agent = reading.agent or attrs.text("ai.telemetry.functionId") or ""
    reading.conversation_id = genai.text(attrs, ALIASES, "conversation") or ""
    return reading


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of either kind."""
    attrs = span.attrs
    legacy = attrs.text("ai.operationId")
    if legacy is not None:
        return to_steps(span, ctx, DIALECT, read_legacy(attrs, legacy))
    operation = attrs.text("gen_ai.operation.name")
    if operation is None:
        return []
    reading = genai.read(attrs, operation, span.name)
    reading.result = _plain(reading.result)
    return to_steps(span, ctx, DIALECT, reading)
