"""LangSmith's OpenTelemetry export."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spanward_detector.ingest import RawSpan
from spanward_detector.model import Kind, Step
from spanward_detector.normalize import genai, langchain
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.reading import Reading, outcome, to_steps

DIALECT: Final = "langsmith"
SCOPES: Final = ("langsmith",)
MARKERS: Final = ("langsmith.span.kind", "langsmith.trace.name")

KINDS: Final[Mapping[str, Kind]] = {"llm": Kind.LLM, "tool": Kind.TOOL}
"""``langsmith.span.kind`` -> kind. A chain is the agent when it is the root, else structure."""

ALIASES: Final[genai.Aliases] = {
    **genai.ALIASES,
    # langsmith.trace.session_name is the project, the same for all users.
    "conversation": (
        "langsmith.metadata.thread_id",
        "langsmith.metadata.session_id",
        "langsmith.metadata.conversation_id",
    ),
    "arguments": ("gen_ai.prompt",),
    "result": ("gen_ai.completion",),
}

_ERROR = re.compile(r"(?s)\A([A-Za-z_][\w.]*)\((.*?)\)(?:Traceback \(most recent call last\)|\Z)")
_MAX_ERROR: Final = 4_000


def _llm(span: RawSpan) -> Reading:
    attrs = span.attrs
    reading = genai.read_llm(attrs, {**ALIASES, "request": (), "reply": ()})
    reading.request = langchain.conversation(msg.parse(attrs.text("gen_ai.prompt")))
    reading.reply, finish = langchain.generation(msg.parse(attrs.text("gen_ai.completion")))
    reading.finish = reading.finish or finish
    reading.content = reading.request is not None or reading.reply is not None
    return reading


def _tool(span: RawSpan) -> Reading:
    reading = genai.read_tool(span.attrs, ALIASES)
    value = msg.parse(reading.result)
    message = langchain.tool_message(value)
    if message is not None:
        reading.result, reading.is_error = message.content, message.is_error
        reading.call_id = reading.call_id or message.call_id
    elif value == {}:
        reading.result = None  # what it writes when the tool has raised
    elif isinstance(value, Mapping) and value.keys() == {"output"}:
        reading.result = msg.dump(value["output"])
    return reading


def _agent(span: RawSpan) -> Reading:
    attrs = span.attrs
    name = attrs.text("langsmith.trace.name") or span.name
    asked = langchain.conversation(msg.parse(attrs.text("gen_ai.prompt")))
    state = langchain.conversation(msg.parse(attrs.text("gen_ai.completion")))
    return Reading(
        Kind.AGENT,
        agent=name,
        agent_explicit=False,
        action=name,
        user_input=msg.user_input(asked) if asked else None,
        answer=state[-1].text if state and state[-1].role == "assistant" else None,
    )


def _error(span: RawSpan) -> tuple[str, str] | None:
    """Class and text of the error out of its message, for the type of the event is always ``Exception``."""
    failed, _, text = outcome(span)
    match = _ERROR.match(text[:_MAX_ERROR]) if failed and text else None
    return (match[1], match[2].strip("'\"")) if match else None


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of this dialect."""
    attrs = span.attrs
    kind = KINDS.get(attrs.text("langsmith.span.kind") or "", Kind.OTHER)
    if kind is Kind.LLM:
        reading = _llm(span)
    elif kind is Kind.TOOL:
        reading = _tool(span)
    elif span.parent_id is None:
        reading = _agent(span)
    else:
        reading = Reading(Kind.OTHER, action=span.name)
    reading.conversation_id = genai.text(attrs, ALIASES, "conversation") or ""
    graph_step = attrs.int("langsmith.metadata.langgraph_step")
    if graph_step is not None:
        reading.extra = {"graph_step": graph_step}
    error = _error(span)
    if error is not None:
        reading.error_type, reading.error_text = error
    return to_steps(span, ctx, DIALECT, reading)
