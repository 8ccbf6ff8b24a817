"""Agent loops on every surface of the openai SDK, as people write them. Each returns the final answer."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import openai

PARAMETERS = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}},
    "required": ["amount", "to"],
    "additionalProperties": False,
}
CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "transfer", "parameters": PARAMETERS, "strict": True}}]
RESPONSE_TOOLS: Any = [{"type": "function", "name": "transfer", "parameters": PARAMETERS, "strict": True}]

Use = Callable[[str, str], str]
"""Runs a tool call: name and the text of its arguments, to a result."""


class Loop(NamedTuple):
    """One way to write an agent on the SDK.

    Attributes:
        run: ``run(base_url, request, use) -> answer``.
        streams: tool calls come as events.
        api: chat or responses.
    """

    run: Callable[[str, str, Use], str]
    api: str = "chat"
    streams: bool = False


def _sync(base_url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{base_url}/v1", api_key="none", max_retries=2)


def _async(base_url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="none", max_retries=2)


def _chat_loop(ask: Callable[[list[Any]], Any], request: str, use: Use) -> str:
    messages: list[Any] = [{"role": "user", "content": request}]
    while True:
        message = ask(messages)
        if not message["tool_calls"]:
            return str(message["content"])
        messages.append(message)
        for call in message["tool_calls"]:
            result = use(call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def _said(message: Any) -> dict[str, Any]:
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
        for c in message.tool_calls or ()
    ]
    return {"role": "assistant", "content": message.content, "tool_calls": calls or None}


class _Added:
    """Adds up the chunks of a streamed chat completion, as loops without a helper do."""

    def __init__(self) -> None:
        self.text = ""
        self.calls: dict[int, dict[str, Any]] = {}

    def add(self, chunk: Any) -> None:
        if not chunk.choices:
            return
        delta = chunk.choices[0].delta
        self.text += delta.content or ""
        for piece in delta.tool_calls or ():
            empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            call = self.calls.setdefault(piece.index, empty)
            call["id"] += piece.id or ""
            call["function"]["name"] += piece.function.name or ""
            call["function"]["arguments"] += piece.function.arguments or ""

    def message(self) -> dict[str, Any]:
        calls = [self.calls[index] for index in sorted(self.calls)]
        return {"role": "assistant", "content": self.text or None, "tool_calls": calls or None}


def chat_create(base_url: str, request: str, use: Use) -> str:
    with _sync(base_url) as client:
        return _chat_loop(
            lambda messages: _said(
                client.chat.completions.create(model="m", messages=messages, tools=CHAT_TOOLS).choices[0].message
            ),
            request,
            use,
        )


def chat_parse(base_url: str, request: str, use: Use) -> str:
    with _sync(base_url) as client:
        return _chat_loop(
            lambda messages: _said(
                client.chat.completions.parse(model="m", messages=messages, tools=CHAT_TOOLS).choices[0].message
            ),
            request,
            use,
        )


def chat_raw(base_url: str, request: str, use: Use) -> str:
    with _sync(base_url) as client:
        return _chat_loop(
            lambda messages: _said(
                client.chat.completions.with_raw_response.create(model="m", messages=messages, tools=CHAT_TOOLS)
                .parse()
                .choices[0]
                .message
            ),
            request,
            use,
        )


def chat_streaming_response(base_url: str, request: str, use: Use) -> str:
    def ask(messages: list[Any]) -> Any:
        made = client.chat.completions.with_streaming_response.create(model="m", messages=messages, tools=CHAT_TOOLS)
        with made as response:
            return _said(response.parse().choices[0].message)

    with _sync(base_url) as client:
        return _chat_loop(ask, request, use)


def chat_stream_flag(base_url: str, request: str, use: Use) -> str:
    def ask(messages: list[Any]) -> Any:
        added = _Added()
        with client.chat.completions.create(model="m", messages=messages, tools=CHAT_TOOLS, stream=True) as stream:
            for chunk in stream:
                added.add(chunk)
        return added.message()

    with _sync(base_url) as client:
        return _chat_loop(ask, request, use)


def chat_stream_raw(base_url: str, request: str, use: Use) -> str:
    def ask(messages: list[Any]) -> Any:
        added = _Added()
        raw = client.chat.completions.with_raw_response.create(
            model="m", messages=messages, tools=CHAT_TOOLS, stream=True
        )
        for chunk in raw.parse():
            added.add(chunk)
        return added.message()

    with _sync(base_url) as client:
        return _chat_loop(ask, request, use)


def chat_stream_helper(base_url: str, request: str, use: Use) -> str:
    def ask(messages: list[Any]) -> Any:
        with client.chat.completions.stream(model="m", messages=messages, tools=CHAT_TOOLS) as stream:
            for _event in stream:
                pass
            return _said(stream.get_final_completion().choices[0].message)

    with _sync(base_url) as client:
        return _chat_loop(ask, request, use)


def chat_async(base_url: str, request: str, use: Use) -> str:
    async def converse() -> str:
        async with _async(base_url) as client:
            messages: list[Any] = [{"role": "user", "content": request}]
            while True:
                reply = await client.chat.completions.create(model="m", messages=messages, tools=CHAT_TOOLS)
                message = _said(reply.choices[0].message)
                if not message["tool_calls"]:
                    return str(message["content"])
                messages.append(message)
                for call in message["tool_calls"]:
                    result = use(call["function"]["name"], call["function"]["arguments"])
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    return asyncio.run(converse())


def chat_async_stream(base_url: str, request: str, use: Use) -> str:
    async def converse() -> str:
        async with _async(base_url) as client:
            messages: list[Any] = [{"role": "user", "content": request}]
            while True:
                added = _Added()
                async with await client.chat.completions.create(
                    model="m", messages=messages, tools=CHAT_TOOLS, stream=True
                ) as stream:
                    async for chunk in stream:
                        added.add(chunk)
                message = added.message()
                if not message["tool_calls"]:
                    return str(message["content"])
                messages.append(message)
                for call in message["tool_calls"]:
                    result = use(call["function"]["name"], call["function"]["arguments"])
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    return asyncio.run(converse())


def _responses_loop(ask: Callable[..., Any], request: str, use: Use, *, chained: bool = False) -> str:
    given: list[Any] = [{"role": "user", "content": request}]
    previous: dict[str, Any] = {}
    while True:
        response = ask(input=given, **previous)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return str(response.output_text)
        results = [
            {"type": "function_call_output", "call_id": call.call_id, "output": use(call.name, call.arguments)}
            for call in calls
        ]
        if chained:
            given, previous = results, {"previous_response_id": response.id}
        else:
            given = [*given, *(item.to_dict() for item in response.output), *results]


def responses_create(base_url: str, request: str, use: Use) -> str:
    with _sync(base_url) as client:
        return _responses_loop(
            lambda **given: client.responses.create(model="m", tools=RESPONSE_TOOLS, **given), request, use
        )


def responses_chained(base_url: str, request: str, use: Use) -> str:
    with _sync(base_url) as client:
        return _responses_loop(
            lambda **given: client.responses.create(model="m", tools=RESPONSE_TOOLS, **given),
            request,
            use,
            chained=True,
        )


def responses_parse(base_url: str, request: str, use: Use) -> str:
    with _sync(base_url) as client:
        return _responses_loop(
            lambda **given: client.responses.parse(model="m", tools=RESPONSE_TOOLS, **given), request, use
        )


def responses_raw(base_url: str, request: str, use: Use) -> str:
    with _sync(base_url) as client:
        return _responses_loop(
            lambda **given: client.responses.with_raw_response.create(model="m", tools=RESPONSE_TOOLS, **given).parse(),
            request,
            use,
        )


def responses_stream_flag(base_url: str, request: str, use: Use) -> str:
    def ask(**given: Any) -> Any:
        whole = None
        for event in client.responses.create(model="m", tools=RESPONSE_TOOLS, stream=True, **given):
            if event.type == "response.completed":
                whole = event.response
        return whole

    with _sync(base_url) as client:
        return _responses_loop(ask, request, use)


def responses_stream_helper(base_url: str, request: str, use: Use) -> str:
    def ask(**given: Any) -> Any:
        with client.responses.stream(model="m", tools=RESPONSE_TOOLS, **given) as stream:
            for _event in stream:
                pass
            return stream.get_final_response()

    with _sync(base_url) as client:
        return _responses_loop(ask, request, use)


def responses_async(base_url: str, request: str, use: Use) -> str:
    async def converse() -> str:
        async with _async(base_url) as client:
            given: Any = request
            previous: dict[str, Any] = {}
            while True:
                response = await client.responses.create(model="m", tools=RESPONSE_TOOLS, input=given, **previous)
                calls = [item for item in response.output if item.type == "function_call"]
                if not calls:
                    return response.output_text
                previous = {"previous_response_id": response.id}
                given = [
                    {"type": "function_call_output", "call_id": c.call_id, "output": use(c.name, c.arguments)}
                    for c in calls
                ]

    return asyncio.run(converse())


LOOPS: Mapping[str, Loop] = {
    "chat-create": Loop(chat_create),
    "chat-parse": Loop(chat_parse),
    "chat-raw": Loop(chat_raw),
    "chat-streaming-response": Loop(chat_streaming_response),
    "chat-stream-flag": Loop(chat_stream_flag, streams=True),
    "chat-stream-raw": Loop(chat_stream_raw, streams=True),
    "chat-stream-helper": Loop(chat_stream_helper, streams=True),
    "chat-async": Loop(chat_async),
    "chat-async-stream": Loop(chat_async_stream, streams=True),
    "responses-create": Loop(responses_create, "responses"),
    "responses-chained": Loop(responses_chained, "responses"),
    "responses-parse": Loop(responses_parse, "responses"),
    "responses-raw": Loop(responses_raw, "responses"),
    "responses-stream-flag": Loop(responses_stream_flag, "responses", streams=True),
    "responses-stream-helper": Loop(responses_stream_helper, "responses", streams=True),
    "responses-async": Loop(responses_async, "responses"),
}
"""Every surface by name."""


def arguments_of(text: str) -> dict[str, Any]:
    """Parsed arguments, as loops read them: not JSON raises."""
    parsed: dict[str, Any] = json.loads(text)
    return parsed
