"""The responses API: how requests and replies of ``/responses`` are read and written."""

from collections.abc import Iterable, Mapping
from typing import Any

from spanward.adapters.answers import (
    Answer,
    Asked,
    Body,
    ToolCall,
    ToolMessage,
    items,
    pick,
    put,
    text_of,
    whole_number,
    word,
)

PATH = "/responses"
_CALLS = {"function_call": "arguments", "custom_tool_call": None}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_UNFINISHED = frozenset({"queued", "in_progress"})


def asked(body: Body) -> Asked:
    """Facts of a request."""
    declared = [tool for tool in items(body.get("tools")) if isinstance(tool, Mapping)]
    return Asked(
        model=str(body.get("model") or ""),
        max_tokens=whole_number(body.get("max_output_tokens")),
        json_expected=word(body, "text", "format", "type") in {"json_object", "json_schema"},
        tools={str(tool["name"]): tool.get("parameters") for tool in declared if _is_function(tool)},
        other_tools=frozenset(str(tool.get("name") or tool.get("type")) for tool in declared if not _is_function(tool)),
        messages=_input(body),
        definitions=declared,
    )


def answer(reply: object) -> Answer:
    """Reads a reply. Its one status takes the place of finish reasons; why it is incomplete comes with it."""
    output = items(pick(reply, "output"))
    status = str(pick(reply, "status") or "")
    reason = pick(reply, "incomplete_details", "reason")
    return Answer(
        text="".join(text_of(pick(item, "content")) for item in output if pick(item, "type") == "message"),
        calls=tuple(
            ToolCall(
                str(pick(item, "call_id") or ""),
                str(pick(item, "name") or ""),
                str(pick(item, "arguments") or "") if pick(item, "type") == "function_call" else None,
            )
            for item in output
            if word(item, "type") in _CALLS
        ),
        finish_reasons=tuple(str(word) for word in (reason or status,) if word),
        response_id=str(pick(reply, "id") or ""),
        model=str(pick(reply, "model") or ""),
        input_tokens=whole_number(pick(reply, "usage", "input_tokens")),
        output_tokens=whole_number(pick(reply, "usage", "output_tokens")),
        whole=status not in _UNFINISHED,
    )


def rewrite(reply: object, arguments: Mapping[str, str]) -> None:
    """Puts other arguments into the reply, in place."""
    for item in items(pick(reply, "output")):
        if pick(item, "type") == "function_call" and word(item, "call_id") in arguments:
            put(item, "arguments", arguments[word(item, "call_id")])


def degrade(reply: object, text: str) -> None:
    """Turns the reply into plain words, in place."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "msg_degraded", "role": "assistant", "status": "completed", "content": [part]}
    put(reply, "output", [message if isinstance(reply, dict) else _sdk_message(message)])
    put(reply, "status", "completed")
    put(reply, "incomplete_details", None)


def replan(body: Body, reply: object, results: Mapping[str, str], notice: str) -> Body:
    """The request that goes on after the reply.

    A conversation that the server keeps is continued from the new reply and sent the new items only; sent twice, the
    old ones would be refused or stand there twice.
    """
    output = items(pick(reply, "output"))
    kinds = {word(item, "call_id"): pick(item, "type") for item in output if word(item, "type") in _CALLS}
    told: list[dict[str, Any]] = [
        {"type": f"{kinds.get(call_id) or 'function_call'}_output", "call_id": call_id, "output": text}
        for call_id, text in results.items()
    ]
    if not results:
        told = [{"role": "user", "content": notice}]
    if body.get("previous_response_id"):
        return {**body, "previous_response_id": pick(reply, "id"), "input": told}
    if body.get("conversation"):
        return {**body, "input": told}
    return {**body, "input": [*_input(body), *(_plain(item) for item in output), *told]}


def tool_messages(body: Body) -> Iterable[ToolMessage]:
    """Tool results in a request, in order."""
    return (
        ToolMessage(str(pick(item, "call_id")), text_of(pick(item, "output")))
        for item in _input(body)
        if word(item, "type") in _RESULTS and pick(item, "call_id")
    )


def with_results(body: Body, texts: Mapping[str, str]) -> Body:
    """The request with other tool results."""
    return {
        **body,
        "input": [
            {**item, "output": texts[item["call_id"]]}
            if isinstance(item, Mapping) and word(item, "type") in _RESULTS and word(item, "call_id") in texts
            else item
            for item in _input(body)
        ],
    }


def _input(body: Body) -> list[Any]:
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(items(given))


def _is_function(tool: Mapping[str, Any]) -> bool:
    return tool.get("type", "function") == "function" and bool(tool.get("name"))


def _sdk_message(message: dict[str, Any]) -> object:
    from openai.types.responses import ResponseOutputMessage

    return ResponseOutputMessage.model_validate(message)


def _plain(item: object) -> object:
    """An output item as JSON data, fields that were never set left out: the API refuses some of them as null."""
    dump = getattr(item, "model_dump", None)
    return dump(mode="json", exclude_unset=True) if callable(dump) else item
