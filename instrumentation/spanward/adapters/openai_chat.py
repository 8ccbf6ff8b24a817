"""Chat completions: how requests and replies of ``/chat/completions`` are read and written."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spanward.adapters.answers import (
    Answer,
    Asked,
    Body,
    ToolCall,
    ToolMessage,
    is_record,
    items,
    pick,
    put,
    text_of,
    whole_number,
    word,
)

PATH = "/chat/completions"


def asked(body: Body) -> Asked:
    """Facts of a request."""
    declared = [tool for tool in items(body.get("tools")) if isinstance(tool, Mapping)]
    limit = body.get("max_completion_tokens")
    return Asked(
        model=str(body.get("model") or ""),
        max_tokens=whole_number(limit if limit is not None else body.get("max_tokens")),
        json_expected=word(body, "response_format", "type") in {"json_object", "json_schema"},
        tools={
            str(pick(tool, "function", "name")): pick(tool, "function", "parameters")
            for tool in declared
            if pick(tool, "function", "name")
        },
        other_tools=frozenset(str(name) for tool in declared if (name := pick(tool, "custom", "name"))),
        messages=items(body.get("messages")),
        definitions=declared,
    )


def answer(reply: object) -> Answer:
    """Reads a reply: the first choice, for that is the one that loops act on."""
    message = pick(reply, "choices", 0, "message")
    return Answer(
        text=text_of(pick(message, "content")) or str(pick(message, "refusal") or ""),
        calls=tuple(_calls(message)),
        finish_reasons=tuple(
            str(reason) for choice in items(pick(reply, "choices")) if (reason := pick(choice, "finish_reason"))
        ),
        response_id=str(pick(reply, "id") or ""),
        model=str(pick(reply, "model") or ""),
        input_tokens=whole_number(pick(reply, "usage", "prompt_tokens")),
        output_tokens=whole_number(pick(reply, "usage", "completion_tokens")),
    )


def rewrite(reply: object, arguments: Mapping[str, str]) -> None:
    """Puts other arguments into the reply, in place."""
    for call in items(pick(reply, "choices", 0, "message", "tool_calls")):
        function = pick(call, "function")
        if is_record(function) and word(call, "id") in arguments:
            put(function, "arguments", arguments[word(call, "id")])


def degrade(reply: object, text: str) -> None:
    """Turns the reply into plain words, in place."""
    choice = pick(reply, "choices", 0)
    message = pick(choice, "message")
    put(message, "content", text)
    put(message, "tool_calls", None)
    put(choice, "finish_reason", "stop")


def replan(body: Body, reply: object, results: Mapping[str, str], notice: str) -> Body:
    """The request that goes on after the reply; every call of a batch is answered, as the API demands."""
    message = pick(reply, "choices", 0, "message")
    said: dict[str, Any] = {"role": "assistant", "content": pick(message, "content")}
    if refusal := pick(message, "refusal"):
        said["refusal"] = refusal
    calls = items(pick(message, "tool_calls"))
    if calls:
        said["tool_calls"] = [_plain_call(call) for call in calls]
        told = [{"role": "tool", "tool_call_id": call_id, "content": text} for call_id, text in results.items()]
    else:
        said["content"] = said["content"] or ""
        told = [{"role": "user", "content": notice}]
    return {**body, "messages": [*items(body.get("messages")), said, *told]}


def tool_messages(body: Body) -> Iterable[ToolMessage]:
    """Tool results in a request, in order."""
    return (
        ToolMessage(str(pick(message, "tool_call_id")), text_of(pick(message, "content")))
        for message in items(body.get("messages"))
        if pick(message, "role") == "tool" and pick(message, "tool_call_id")
    )


def with_results(body: Body, texts: Mapping[str, str]) -> Body:
    """The request with other tool results."""
    return {
        **body,
        "messages": [
            {**message, "content": texts[message["tool_call_id"]]}
            if isinstance(message, Mapping) and message.get("role") == "tool" and word(message, "tool_call_id") in texts
            else message
            for message in items(body.get("messages"))
        ],
    }


def _calls(message: object) -> Iterator[ToolCall]:
    for call in items(pick(message, "tool_calls")):
        if pick(call, "custom") is not None:
            yield ToolCall(str(pick(call, "id") or ""), str(pick(call, "custom", "name") or ""), None)
        elif pick(call, "function") is not None:
            arguments = pick(call, "function", "arguments")
            yield ToolCall(
                str(pick(call, "id") or ""),
                str(pick(call, "function", "name") or ""),
                arguments if isinstance(arguments, str) else "",
            )


def _plain_call(call: object) -> dict[str, Any]:
    kind = "custom" if pick(call, "custom") is not None else "function"
    field = "input" if kind == "custom" else "arguments"
    inner = {"name": pick(call, kind, "name"), field: pick(call, kind, field) or ""}
    return {"id": pick(call, "id"), "type": kind, kind: inner}
