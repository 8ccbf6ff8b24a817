"""The shapes of an OpenAI-compatible server: chat completions and responses, whole and as server-sent events. Pure."""

import itertools
import time
from collections.abc import Iterator
from typing import Any, Final

from spanward.demo.brain import Saying

PIECE: Final = 7
"""Characters in one streamed delta: small enough that no argument fits into one."""

Json = dict[str, Any]
_numbers = itertools.count(1)


def fresh_id(kind: str) -> str:
    """An id that is unique in this process, such as ``call_7``."""
    return f"{kind}_{next(_numbers)}"


def usage_chat(saying: Saying, asked: int) -> Json:
    """Token counts of a chat completion: a quarter of the characters, at least one."""
    said = len(saying.text) + sum(len(call.arguments) for call in saying.calls)
    prompt, completion = max(1, asked // 4), max(1, said // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def chat_completion(saying: Saying, model: str, asked: int) -> Json:
    """A ``chat.completion`` object.

    Args:
        saying: what the model says.
        model: echoed.
        asked: size of the request in characters, for the usage.
    """
    message: Json = {"role": "assistant", "content": saying.text or None}
    if saying.calls:
        message["tool_calls"] = [
            {"id": fresh_id("call"), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in saying.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if saying.calls else "stop"}
    base = _chat_base(model, "chat.completion")
    return {**base, "choices": [choice], "usage": usage_chat(saying, asked)}


def chat_chunks(completion: Json, *, usage: bool) -> Iterator[Json]:
    """The ``chat.completion.chunk`` events of a completion: text first, then each call in pieces, then the end."""
    base = {**completion, "object": "chat.completion.chunk"}
    del base["usage"]
    choice = completion["choices"][0]
    message = choice["message"]

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(message["content"] or ""):
        yield chunk({"content": piece})
    for index, call in enumerate(message.get("tool_calls", ())):
        head = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield chunk({"tool_calls": [head]})
        for piece in _pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if usage:
        yield {**base, "choices": [], "usage": completion["usage"]}


def response(saying: Saying, model: str, asked: int) -> Json:
    """A ``response`` object of the responses API; arguments as in :func:`chat_completion`."""
    output: list[Json] = []
    if saying.text:
        part = {"type": "output_text", "text": saying.text, "annotations": []}
        output.append(
            {"type": "message", "id": fresh_id("msg"), "role": "assistant", "status": "completed", "content": [part]}
        )
    output += [
        {
            "type": "function_call",
            "id": fresh_id("fc"),
            "call_id": fresh_id("call"),
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        for call in saying.calls
    ]
    counts = usage_chat(saying, asked)
    return {
        "id": fresh_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": counts["prompt_tokens"],
            "output_tokens": counts["completion_tokens"],
            "total_tokens": counts["total_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def response_events(whole: Json) -> Iterator[Json]:
    """The server-sent events of a response, numbered as the API numbers them."""
    for number, event in enumerate(_response_events(whole)):
        yield {**event, "sequence_number": number}


def _response_events(whole: Json) -> Iterator[Json]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "function_call":
            started = {**item, "arguments": "", "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": started}
            for piece in _pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **at, **done}
        else:
            yield from _message_events(index, item)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}


def _message_events(index: int, item: Json) -> Iterator[Json]:
    part = item["content"][0]
    at = {"output_index": index, "item_id": item["id"], "content_index": 0}
    started = {**item, "content": [], "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": started}
    yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": part}


def _chat_base(model: str, kind: str) -> Json:
    return {"id": fresh_id("chatcmpl"), "object": kind, "created": int(time.time()), "model": model}


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))
