"""OpenLLMetry: 0.62 (GenAI names with LangChain's envelopes) and 0.40 (``gen_ai.prompt.N``, ``traceloop.entity.*``)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from spanward_detector.ingest import Attrs, RawSpan
from spanward_detector.model import Kind, Step, ToolCall
from spanward_detector.normalize import genai, langchain
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.messages import Message
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "openllmetry"
SCOPES: Final = (
    "opentelemetry.instrumentation.openai.v1",
    "opentelemetry.instrumentation.openai.v0",
    "opentelemetry.instrumentation.openai_agents",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.anthropic",
    "opentelemetry.instrumentation.bedrock",
    "opentelemetry.instrumentation.crewai",
    "opentelemetry.instrumentation.llamaindex",
    "opentelemetry.instrumentation.mcp",
    "traceloop.",
)
MARKERS: Final = ("traceloop.span.kind", "traceloop.entity.name", "llm.request.type")

KINDS: Final[Mapping[str, Kind]] = {"tool": Kind.TOOL, "agent": Kind.AGENT, "workflow": Kind.AGENT, "task": Kind.OTHER}
"""``traceloop.span.kind`` -> kind; model calls have none."""
_REPLIED: Final = "gen_ai.completion.0.role"

ALIASES: Final[genai.Aliases] = {
    **genai.ALIASES,
    "agent": ("gen_ai.agent.name", "traceloop.workflow.name", "traceloop.entity.name"),
    "conversation": (
        "gen_ai.conversation.id",
        "traceloop.association.properties.thread_id",
        "traceloop.association.properties.session_id",
    ),
    "tool": ("gen_ai.tool.name", "traceloop.entity.name"),
    "arguments": ("gen_ai.tool.call.arguments", "traceloop.entity.input"),
    "result": ("gen_ai.tool.call.result", "traceloop.entity.output"),
    "request": ("gen_ai.input.messages",),
    "reply": ("gen_ai.output.messages",),
}

_MODEL_CALLS: Final = frozenset({"chat", "completion"})
_LLM_OPERATIONS: Final = frozenset({"chat", "text_completion", "generate_content"})
_MESSAGE = re.compile(r"(prompt|completion)\.(\d{1,6})\.(role|content|tool_call_id|finish_reason)\Z")
_CALL = re.compile(r"(prompt|completion)\.(\d{1,6})\.tool_calls\.(\d{1,4})\.(id|name|arguments)\Z")
_FUNCTION = re.compile(r"llm\.request\.functions\.(\d{1,4})\.(name|parameters)\Z")
_MAX_LITERAL: Final = 10_000
_PREFIX: Final = "gen_ai."
_GRAPH_STEP: Final = "traceloop.association.properties.langgraph_step"


def _flat(attrs: Attrs) -> dict[str, list[Message]]:
    """Messages of 0.40's flattened attributes: ``prompt`` and ``completion`` -> messages in order."""
    fields: defaultdict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    calls: defaultdict[tuple[str, int], defaultdict[int, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for key in attrs:
        if not key.startswith(_PREFIX):
            continue
        rest = key[len(_PREFIX) :]
        if (match := _MESSAGE.match(rest)) is not None:
            fields[match[1], int(match[2])][match[3]] = attrs.text(key) or ""
        elif (match := _CALL.match(rest)) is not None:
            calls[match[1], int(match[2])][int(match[3])][match[4]] = attrs.text(key) or ""
    found: dict[str, list[Message]] = {}
    for side, index in sorted(fields.keys() | calls.keys()):
        found.setdefault(side, []).append(_flat_message(side, fields[side, index], calls[side, index]))
    return found


def _flat_message(side: str, fields: Mapping[str, str], calls: Mapping[int, Mapping[str, str]]) -> Message:
    role = msg.role_of(fields.get("role"))
    if side == "completion":
        role = "assistant"  # 0.40 writes "unknown" where the framework dropped the call
    content = fields.get("content")
    if content is not None and content.startswith('"'):
        value = msg.parse(content)
        content = value if isinstance(value, str) else content
    made = tuple(
        ToolCall(call.get("id", ""), call.get("name", ""), call.get("arguments"))
        for call in (calls[at] for at in sorted(calls))
    )
    return Message(role, content, made, fields.get("tool_call_id", ""), fields.get("finish_reason", ""))


def _functions(attrs: Attrs) -> dict[str, object] | None:
    """Tools of 0.40's ``llm.request.functions.N.*``."""
    found: defaultdict[int, dict[str, object]] = defaultdict(dict)
    for key in attrs:
        if (match := _FUNCTION.match(key)) is not None:
            found[int(match[1])][match[2]] = attrs.text(key)
    return msg.declared([found[index] for index in sorted(found)]) if found else None


def _llm(attrs: Attrs) -> Reading:
    reading = genai.read_llm(attrs, ALIASES)
    if reading.request is None and reading.reply is None:
        flat = _flat(attrs)
        reading.request, reading.reply = flat.get("prompt"), flat.get("completion")
        reading.content = reading.request is not None or reading.reply is not None
        reading.finish = reading.finish or next((m.finish for m in reading.reply or () if m.finish), "")
    if reading.tools is None:
        reading.tools = _functions(attrs)
    return reading


def _arguments(raw: str | None) -> tuple[str | None, str]:
    """Arguments and call id out of LangChain's envelope, which differs at each call by step and run ids."""
    value = msg.parse(raw)
    if not isinstance(value, Mapping) or not ("input_str" in value or "inputs" in value):
        return msg.unwrap_text(raw), ""
    extra = value.get("kwargs")
    call_id = msg.word(extra.get("tool_call_id")) if isinstance(extra, Mapping) else ""
    inputs = value.get("inputs")
    if inputs is not None:
        return msg.dump(inputs), call_id
    text = value.get("input_str")
    try:
        literal = ast.literal_eval(text) if isinstance(text, str) and len(text) < _MAX_LITERAL else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        literal = text
    return msg.dump(literal), call_id


def _tool(attrs: Attrs) -> Reading:
    reading = genai.read_tool(attrs, ALIASES)
    reading.arguments, call_id = _arguments(reading.arguments)
    reading.call_id = reading.call_id or call_id
    message = langchain.tool_message(msg.parse(reading.result))
    if message is not None:
        reading.result, reading.is_error = message.content, message.is_error
        reading.call_id = reading.call_id or message.call_id
    return reading


def _agent(attrs: Attrs) -> Reading:
    reading = genai.read_agent(attrs, ALIASES)
    # The workflow's name is the name of the application's entry point, unless the telemetry names an agent.
    reading.agent_explicit = "gen_ai.agent.name" in attrs
    given = msg.parse(attrs.text("traceloop.entity.input"))
    asked = langchain.conversation(given)
    state = langchain.conversation(msg.parse(attrs.text("traceloop.entity.output")))
    if asked and reading.user_input is None:
        reading.user_input = msg.user_input(asked)
    if state and reading.answer is None:
        reading.answer = state[-1].text if state[-1].role == "assistant" else None
    metadata = given.get("metadata") if isinstance(given, Mapping) else None
    if isinstance(metadata, Mapping):  # 0.40 writes the session nowhere else
        reading.conversation_id = msg.word(metadata.get("thread_id") or metadata.get("session_id"))
    return reading


def read(span: RawSpan) -> Reading:
    """What a span of this dialect says."""
    attrs = span.attrs
    kind = KINDS.get(attrs.text("traceloop.span.kind") or "")
    operation = attrs.text("gen_ai.operation.name") or ""
    if kind is None:
        if operation in _LLM_OPERATIONS or attrs.text("llm.request.type") in _MODEL_CALLS:
            kind = Kind.LLM
        elif span.dropped and _REPLIED in attrs:
            kind = Kind.LLM  # what says so is set first, and Python's SDK lets the oldest go
        else:
            kind = genai.KINDS.get(operation, Kind.OTHER)
    if kind is Kind.LLM:
        reading = _llm(attrs)
    elif kind is Kind.TOOL:
        reading = _tool(attrs)
    elif kind is Kind.AGENT:
        reading = _agent(attrs)
    else:
        reading = Reading(kind, action=attrs.text("traceloop.entity.name") or span.name)
    if kind is not Kind.AGENT:
        reading.agent = attrs.text("gen_ai.agent.name") or ""
    reading.conversation_id = genai.text(attrs, ALIASES, "conversation") or reading.conversation_id
    graph_step = attrs.int(_GRAPH_STEP)
    if graph_step is not None:
        reading.extra = {"graph_step": graph_step}
    return reading


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of this dialect."""
    return to_steps(span, ctx, DIALECT, read(span))
