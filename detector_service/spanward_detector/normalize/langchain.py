"""LangChain's serialised objects, which three dialects carry inside their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from spanward_detector.model import ToolCall
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.messages import Message

_ENVELOPES: Final = ("kwargs", "data")


class ToolMessage(NamedTuple):
    """A tool's result out of its message.

    Attributes:
        content: as the model sees it.
        call_id: of the call that it answers, or "".
        is_error: status of the message; None when it has none.
    """

    content: str | None
    call_id: str
    is_error: bool | None


def _body(item: object) -> Mapping[str, object]:
    """Fields of a message object without its envelope (``{"lc", "kwargs"}`` or ``{"type", "data"}``)."""
    if not isinstance(item, Mapping):
        return {}
    return next((inner for key in _ENVELOPES if isinstance(inner := item.get(key), Mapping)), item)


def tool_message(value: object) -> ToolMessage | None:
    """A tool message out of its serialised form, bare or under ``output``; None when it is none."""
    if isinstance(value, Mapping) and isinstance(value.get("output"), Mapping):
        value = value["output"]
    body = _body(value)
    if "tool_call_id" not in body:
        return None
    status = body.get("status")
    return ToolMessage(
        msg.dump(body.get("content")), msg.word(body["tool_call_id"]), None if status is None else status == "error"
    )


def message(item: object) -> list[Message]:
    """Messages of one serialised message, or of a ``[role, text]`` pair."""
    if isinstance(item, list) and len(item) == 2:
        return [Message(msg.role_of(item[0]), msg.dump(item[1]))]
    body = _body(item)
    if not body:
        return []
    role = msg.role_of(body.get("type") or body.get("role"))
    if role == "tool":
        return [Message("tool", msg.dump(body.get("content")), call_id=msg.word(body.get("tool_call_id")))]
    calls = msg.openai_calls(body.get("tool_calls")) + msg.openai_calls(body.get("invalid_tool_calls"))
    content = body.get("content")
    if isinstance(content, list):
        found = msg.from_parts(role, content)
        return [found[0]._replace(calls=found[0].calls or calls), *found[1:]]
    return [Message(role, msg.dump(content), calls)]


def conversation(value: object) -> list[Message] | None:
    """Messages of ``{"messages": [...]}`` or ``{"messages": [[...]]}`` under any envelope; None when there are none."""
    for key in ("inputs", "outputs", "output", "input"):
        if isinstance(value, Mapping) and "messages" not in value and isinstance(value.get(key), Mapping):
            value = value[key]
    items = value.get("messages") if isinstance(value, Mapping) else None
    if not isinstance(items, list):
        return None
    if items and isinstance(items[0], list) and (not items[0] or not isinstance(items[0][0], str)):
        items = items[0]  # a batch of one conversation
    return [found for item in items for found in message(item)]


def generation(value: object) -> tuple[list[Message] | None, str]:
    """Reply and finish reason of an ``LLMResult``; (None, "") when it is none."""
    try:
        first = value["generations"][0][0]  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return None, ""
    if not isinstance(first, Mapping):
        return None, ""
    info = first.get("generation_info")
    finish = msg.word(info.get("finish_reason")) if isinstance(info, Mapping) else ""
    return message(first.get("message")), finish


def invalid_calls(value: object) -> tuple[ToolCall, ...]:
    """Calls that LangChain could not parse: it moves them out of the reply, and only its raw output keeps them."""
    reply, _ = generation(value)
    return tuple(call for found in reply or () for call in found.calls)
