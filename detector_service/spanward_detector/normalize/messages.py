"""Messages of model calls: the forms in which telemetry writes them, and what is read from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import orjson
from spanward.facts import text_of

from spanward_detector.model import ToolCall

FINISH_REASONS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "completed": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "function_calls": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "content_filter",
}
"""Every spelling seen in the wild -> ours. Looked up in lower case with ``_`` for ``-`` and spaces."""

_USER_ROLES: Final = frozenset({"user", "human"})
_REPLY_ROLES: Final = frozenset({"assistant", "ai", "model"})
_TOOL_ROLES: Final = frozenset({"tool", "function", "tool_response", "tool-response"})
_CALL_PARTS: Final = frozenset({"tool_call", "tool-call", "tool_use", "function_call"})
_RESULT_PARTS: Final = frozenset({"tool_call_response", "tool-result", "tool_result", "function_call_output"})
_SCHEMA_KEYS: Final = ("parameters", "parameters_json_schema", "input_schema", "inputSchema")
_UNPARSED: Final = ("INVALID_JSON", "_raw")
_DIGEST_LENGTH: Final = 16
_SPEAKERS: Final = {"system": "system", "developer": "system", "user": "user"}
_MOST_SAID: Final = 64


class Message(NamedTuple):
    """One message of a conversation, whatever form it was recorded in.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``; others as recorded.
        text: its text; None when it has none or it was not recorded.
        calls: tool calls of an assistant's message.
        call_id: of the call that a tool's message answers.
        finish: finish reason that stands in the message, as recorded.
    """

    role: str
    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    finish: str = ""


def finish_reason(raw: str | None) -> str:
    """Normalizes a finish reason: stop | tool_calls | length | content_filter, or "" when it is unknown."""
    return FINISH_REASONS.get(raw.strip().lower().replace("-", "_").replace(" ", "_"), "") if raw else ""


def parse(text: str | None) -> object:
    """JSON text as a Python value; None when it is not JSON."""
    if not text:
        return None
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value


def dump(value: object) -> str | None:
    """A value as it would stand in text: strings as they are, everything else as compact JSON."""
    if value is None or isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested deeper than it writes
        return text_of(value)


def word(value: object) -> str:
    """A name, an id or the like as text; "" for what is none, such as an object where its name should stand."""
    return str(value) if isinstance(value, str | int | float) and value else ""


def role_of(raw: object) -> str:
    """Normalizes a role."""
    role = word(raw).lower()
    if role in _USER_ROLES:
        return "user"
    if role in _REPLY_ROLES:
        return "assistant"
    return "tool" if role in _TOOL_ROLES else role


def unwrap(arguments: object) -> object:
    """What the model wrote, out of the object in which instrumentations put arguments that they cannot parse."""
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        key, value = next(iter(arguments.items()))
        if key in _UNPARSED and isinstance(value, str):
            return value
    return arguments


def unwrap_text(arguments: str | None) -> str | None:
    """As :func:`unwrap`, for arguments recorded as text."""
    if arguments is None or not any(key in arguments for key in _UNPARSED):
        return arguments
    inner = unwrap(parse(arguments))
    return inner if isinstance(inner, str) else arguments


def call(call_id: object, name: object, arguments: object) -> ToolCall:
    """A tool call; arguments that were recorded parsed become text again."""
    return ToolCall(word(call_id), word(name), dump(unwrap(arguments)))


def _openai_call(raw: object) -> ToolCall | None:
    """A call as OpenAI's API writes it, or flat as others do (``name``, ``args`` / ``arguments`` / ``input``)."""
    if not isinstance(raw, Mapping):
        return None
    function = raw.get("function")
    body = function if isinstance(function, Mapping) else raw
    arguments = next((body[key] for key in ("arguments", "args", "input") if body.get(key) is not None), None)
    return call(
        raw.get("id") or raw.get("call_id") or raw.get("toolCallId"), body.get("name") or raw.get("toolName"), arguments
    )


def openai_calls(raw: object) -> tuple[ToolCall, ...]:
    """The calls of an array of tool calls."""
    items = raw if isinstance(raw, list) else ()
    return tuple(found for item in items if (found := _openai_call(item)) is not None)


def _part_text(part: Mapping[str, object]) -> str | None:
    for key in ("content", "text"):
        if isinstance(value := part.get(key), str):
            return value
    return None


def _result_of(part: Mapping[str, object]) -> str | None:
    """What a tool answered: conventions write ``response``, registry examples ``result``, others ``output``."""
    for key in ("response", "result", "output", "content"):
        if (value := part.get(key)) is not None:
            if isinstance(value, Mapping) and value.keys() == {"type", "value"}:
                value = value["value"]  # Vercel wraps results with their kind
            return blocks_text(value)
    return None


def blocks_text(value: object) -> str | None:
    """Text of a result; a list of nothing but text blocks is their text."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        texts = [item["text"] for item in value if isinstance(item.get("text"), str)]
        if len(texts) == len(value):
            return "\n".join(texts)
    return dump(value)


def from_parts(role: str, parts: Sequence[object], finish: object = "") -> list[Message]:
    """Messages of one list of parts; each tool response becomes a message of its own."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    found: list[Message] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, Mapping):
            continue
        kind = part.get("type")
        if kind is not None and not isinstance(kind, str):
            continue
        if kind in _CALL_PARTS:
            if (made := _openai_call(part)) is not None:
                calls.append(made)
        elif kind in _RESULT_PARTS:
            call_id = part.get("id") or part.get("call_id") or part.get("toolCallId") or part.get("tool_use_id")
            found.append(Message("tool", _result_of(part), call_id=word(call_id)))
        elif kind in ("text", "output_text", "input_text", None) and (text := _part_text(part)) is not None:
            texts.append(text)
    if texts or calls or not found:
        found.insert(0, Message(role, "\n".join(texts) if texts else None, tuple(calls), finish=word(finish)))
    return found


def from_object(raw: object) -> list[Message]:
    """Messages of one recorded message object, in any of the usual forms."""
    if not isinstance(raw, Mapping):
        return []
    role = role_of(raw.get("role"))
    finish = raw.get("finish_reason")
    parts = raw.get("parts")
    if isinstance(parts, list):
        return from_parts(role, parts, finish)
    kind = raw.get("type")
    if not role and kind == "function_call":
        return [Message("assistant", None, (call(raw.get("call_id"), raw.get("name"), raw.get("arguments")),))]
    if not role and kind == "function_call_output":
        return [Message("tool", dump(raw.get("output")), call_id=word(raw.get("call_id")))]
    content = raw.get("content")
    calls = openai_calls(raw.get("tool_calls"))
    if isinstance(content, list):
        found = from_parts(role, content, finish)
        return [m._replace(calls=m.calls + calls) if i == 0 and m.role == role else m for i, m in enumerate(found)]
    call_id = word(raw.get("tool_call_id") or raw.get("id")) if role == "tool" else ""
    return [Message(role, dump(content), calls, call_id, word(finish))]


def from_value(value: object) -> list[Message] | None:
    """Messages of an attribute that holds them as JSON text or as a structure; None when it holds none."""
    if isinstance(value, str):
        value = parse(value)
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        return None
    return [message for item in value for message in from_object(item)]


def declared(value: object) -> dict[str, object] | None:
    """Tools of a definition list: name -> JSON Schema, or None where it is not told."""
    if isinstance(value, str):
        value = parse(value)
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        return None
    tools: dict[str, object] = {}
    for item in value:
        body = item.get("function", item) if isinstance(item, Mapping) else None
        if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
            continue
        schema = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), None)
        if isinstance(schema, str):
            schema = parse(schema)
        if isinstance(schema, Mapping) and schema.keys() == {"json"}:
            schema = schema["json"]  # Bedrock's envelope
        tools[str(body["name"])] = schema if isinstance(schema, Mapping) else None
    return tools


def user_input(messages: Iterable[Message]) -> str | None:
    """The last thing that the user said."""
    found = None
    for message in messages:
        if message.role == "user" and message.text is not None:
            found = message.text
    return found


def said(messages: Iterable[Message]) -> tuple[tuple[str, str], ...]:
    """Role and text of what the system and the user say; the latest texts where there are very many."""
    found = [(role, _shared(m.text)) for m in messages if m.text and (role := _SPEAKERS.get(m.role)) is not None]
    return tuple(found if len(found) <= _MOST_SAID else [*found[:2], *found[2 - _MOST_SAID :]])


def called_before(messages: Sequence[Message]) -> bool:
    """Whether tools were called before the user spoke last: what is told of now may have been done then."""
    last = max((n for n, message in enumerate(messages) if message.role == "user"), default=0)
    return any(message.calls or message.role == "tool" for message in messages[:last])


@lru_cache(maxsize=2048)
def _shared(text: str) -> str:
    """The same object for the same text: requests repeat what was said before, and steps are kept."""
    return text


def trailing_results(messages: Sequence[Message]) -> list[Message]:
    """The tools' messages at the end of a request: results that the model sees for the first time."""
    start = len(messages)
    while start and messages[start - 1].role == "tool":
        start -= 1
    return list(messages[start:])


def digest(message: Message) -> str:
    """Digest of a message: equal when it is sent again in the next request, also as the reply that it was."""
    calls = [[made.id, made.name, "" if made.id else made.arguments] for made in message.calls]
    # A reply without text is null in one place and "" in the other; its calls tell it apart from an empty one.
    content = orjson.dumps([message.role, message.text or "", calls, message.call_id])
    return hashlib.sha256(content).hexdigest()[:_DIGEST_LENGTH]


def tool_messages(request: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    """Call id and content of each tool result that a request brings; those without content are left out."""
    return tuple((m.call_id, m.text) for m in trailing_results(request) if m.text is not None)
