"""Strands Agents: content in events of the span, in Bedrock's message form or in that of the GenAI conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spanward_detector.ingest import RawEvent, RawSpan
from spanward_detector.model import Kind, Step, ToolCall
from spanward_detector.normalize import genai
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.logs import CHOICE_EVENT, DETAILS_EVENT, MESSAGE_EVENTS
from spanward_detector.normalize.messages import Message
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "strands"
SCOPES: Final = ("strands.",)
MARKERS: Final = ("event_loop.cycle_id",)


def _blocks(role: str, value: object) -> list[Message]:
    """Messages of Bedrock's content blocks: ``{"text"}``, ``{"toolUse"}``, ``{"toolResult"}``."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Message] = []
    for block in value if isinstance(value, list) else [value]:
        if isinstance(block, str):
            texts.append(block)
        if not isinstance(block, Mapping):
            continue
        if isinstance(block.get("text"), str):
            texts.append(str(block["text"]))
        elif isinstance(use := block.get("toolUse"), Mapping):
            calls.append(msg.call(use.get("toolUseId"), use.get("name"), use.get("input")))
        elif isinstance(result := block.get("toolResult"), Mapping):
            text = msg.blocks_text(result.get("content"))
            results.append(Message("tool", text, call_id=msg.word(result.get("toolUseId"))))
    if texts or calls or not results:
        results.insert(0, Message(role, "\n".join(texts) if texts else None, tuple(calls)))
    return results


def _content(role: str, text: str | None) -> list[Message]:
    if text is None:
        return []
    value = msg.parse(text)
    return _blocks(role, value if isinstance(value, list | Mapping) else text)


def _events(events: list[RawEvent]) -> tuple[list[Message] | None, list[Message] | None, str]:
    """Request, reply and finish reason that a span's events tell."""
    request: list[Message] = []
    reply: list[Message] = []
    finish = ""
    for event in events:
        attrs = event.attrs
        if event.name == DETAILS_EVENT:
            request += msg.from_value(attrs.value("gen_ai.input.messages")) or []
            reply += msg.from_value(attrs.value("gen_ai.output.messages")) or []
        elif event.name == CHOICE_EVENT:
            finish = attrs.text("finish_reason") or finish
            reply += _content("assistant", attrs.text("message"))
        elif event.name in MESSAGE_EVENTS:
            request += _content(MESSAGE_EVENTS[event.name], attrs.text("content"))
    return request or None, reply or None, finish or next((m.finish for m in reply if m.finish), "")


def _blocks_in(text: str | None) -> str | None:
    """Text of a result that is recorded as content blocks."""
    value = msg.parse(text)
    return msg.blocks_text(value) if isinstance(value, list) else text


def _tool(span: RawSpan, reading: Reading) -> None:
    if reading.result is not None:
        reading.result = _blocks_in(reading.result)
    for event in span.events:
        attrs = event.attrs
        if event.name == "gen_ai.tool.message" and reading.arguments is None:
            reading.arguments = attrs.text("content")
        elif event.name == CHOICE_EVENT and reading.result is None:
            reading.result = _blocks_in(attrs.text("message"))
        elif event.name == DETAILS_EVENT and reading.result is None:
            found = msg.from_value(attrs.value("gen_ai.output.messages")) or []
            reading.result = next((message.text for message in found if message.role == "tool"), None)
    status = span.attrs.text("gen_ai.tool.status")
    reading.is_error = None if status is None else status == "error"
    reading.schema = msg.parse(span.attrs.text("gen_ai.tool.json_schema"))


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of this dialect."""
    attrs = span.attrs
    operation = attrs.text("gen_ai.operation.name")
    if operation is None:
        return []
    reading = genai.read(attrs, operation, span.name)
    if reading.kind is Kind.TOOL:
        _tool(span, reading)
    elif reading.kind in (Kind.LLM, Kind.AGENT):
        request, reply, finish = _events(span.events)
        if reading.kind is Kind.LLM:
            reading.request, reading.reply = reading.request or request, reading.reply or reply
            reading.content = reading.request is not None or reading.reply is not None
            reading.finish = reading.finish or finish
        else:
            reading.user_input = reading.user_input or (msg.user_input(request) if request else None)
            reading.answer = reading.answer or genai.last_answer(reply)
            reading.tools = reading.tools or _names(msg.parse(attrs.text("gen_ai.agent.tools")))
    return to_steps(span, ctx, DIALECT, reading)


def _names(value: object) -> dict[str, object] | None:
    return {name: None for name in map(msg.word, value) if name} if isinstance(value, list) and value else None
