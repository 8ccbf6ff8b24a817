"""Messages in the form of the GenAI conventions, for spans of processes where content capture is on."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spanward.adapters.answers import Answer, items, pick, text_of, word

Part = dict[str, Any]
_TOOL_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TOOL_CALLS = frozenset({"function_call", "custom_tool_call"})


def input_messages(messages: Sequence[object]) -> str:
    """``gen_ai.input.messages`` for chat messages or response items, as JSON text."""
    return _text([{"role": _role(message), "parts": list(_parts(message))} for message in messages])


def output_messages(answer: Answer) -> str:
    """``gen_ai.output.messages``, as JSON text."""
    parts: list[Part] = [{"type": "text", "content": answer.text}] if answer.text else []
    parts += [_call(call.id, call.name, call.arguments) for call in answer.calls]
    finish = answer.finish_reasons[0] if answer.finish_reasons else "stop"
    return _text([{"role": "assistant", "parts": parts, "finish_reason": finish}])


def definitions(tools: Sequence[object]) -> str:
    """``gen_ai.tool.definitions`` for tools as they were declared, as JSON text."""
    return _text([{"type": "function", **pick(tool, "function")} if pick(tool, "function") else tool for tool in tools])


def _role(message: object) -> str:
    kind = word(message, "type")
    if kind in _TOOL_RESULTS:
        return "tool"
    return str(pick(message, "role") or "assistant")


def _parts(message: object) -> Iterator[Part]:
    kind = word(message, "type")
    if kind in _TOOL_CALLS:
        arguments = pick(message, "arguments") or pick(message, "input")
        yield _call(pick(message, "call_id"), pick(message, "name"), arguments)
        return
    if kind in _TOOL_RESULTS or pick(message, "role") == "tool":
        result = pick(message, "output") if kind in _TOOL_RESULTS else pick(message, "content")
        call_id = pick(message, "call_id") or pick(message, "tool_call_id")
        yield {"type": "tool_call_response", "id": call_id, "response": text_of(result)}
        return
    if text := text_of(pick(message, "content")):
        yield {"type": "text", "content": text}
    for call in items(pick(message, "tool_calls")):
        inner = pick(call, "function") or pick(call, "custom")
        yield _call(pick(call, "id"), pick(inner, "name"), pick(inner, "arguments") or pick(inner, "input"))


def _call(call_id: object, name: object, arguments: object) -> Part:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else dict(value) if isinstance(value, Mapping) else repr(value)
