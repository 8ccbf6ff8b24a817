"""What is particular to the openai adapter; what every adapter must do is in ``tests/contract``."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

import openai
import pydantic
import pytest
import spanward
from openai.types.chat import ChatCompletion
from spanward import adapters, semconv
from spanward.adapters import content, openai_chat, openai_responses
from spanward.adapters.openai import install
from spanward.adapters.openai_events import ChatCollector, ResponsesCollector
from spanward.adapters.openai_raw import REPAIRED_HEADER
from spanward.demo import wire
from spanward.testing import Supervised, directive_for

from tests.adapters.openai_loops import CHAT_TOOLS, RESPONSE_TOOLS
from tests.adapters.watching import attributes, once, watched
from tests.stub_openai import MALFORMED, Brain, Call, Reading, Saying, StubModel, answer, cautious, serving

REQUEST: Any = [{"role": "user", "content": "please"}]


@pytest.fixture
def stub() -> Iterator[StubModel]:
    """A model that sends money."""
    with serving(brain=cautious) as server:
        yield server


@pytest.fixture
def client(stub: StubModel) -> Iterator[openai.OpenAI]:
    """A client made before anything is patched."""
    with openai.OpenAI(base_url=f"{stub.base_url}/v1", api_key="none", max_retries=2) as made:
        made.chat.completions  # noqa: B018 - resources are cached: those made early must be seen, too
        made.responses  # noqa: B018
        yield made


@contextmanager
def served(brain: Brain) -> Iterator[openai.OpenAI]:
    """A client of another model."""
    with serving(brain=brain) as server, openai.OpenAI(base_url=f"{server.base_url}/v1", api_key="none") as made:
        yield made


def asking(text: str) -> Any:
    """A conversation that begins."""
    return [{"role": "user", "content": text}]


def llm(gate: Supervised) -> list[dict[str, Any]]:
    """Attributes of the model steps."""
    return [dict(step) for step in gate.spans.steps("llm")]


# ------------------------------------------------------------------------------------------------------------ requests


def test_the_retries_of_the_sdk_are_attempts_within_one_step(client: openai.OpenAI, stub: StubModel) -> None:
    """A 503 and a 429 that the SDK overcomes are no steps and no errors; they are HTTP children."""
    stub.failures.extend([answer({}, 503, retry_after_ms="1"), answer({}, 429, retry_after_ms="2")])
    with watched(http=True) as gate, spanward.run("bot"):
        client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)

    assert len(llm(gate)) == 1
    assert semconv.ERROR_TYPE not in llm(gate)[0]
    http = [attributes(span) for span in gate.spans.ended if semconv.HTTP_METHOD in attributes(span)]
    assert [span[semconv.HTTP_STATUS] for span in http] == [503, 429, 200]
    assert [span.get(semconv.HTTP_RESEND_COUNT) for span in http] == [None, 1, 2]
    assert [span.get(semconv.RETRY_AFTER_MS) for span in http] == [1, 2, None]


def test_an_error_of_the_api_is_the_hosts_own(client: openai.OpenAI, stub: StubModel) -> None:
    """The exception is the SDK's, the step tells its class and nothing of its message."""
    stub.failures.append(answer({"error": {"message": "no such model, bob"}}, 404))
    with watched() as gate, spanward.run("bot"), pytest.raises(openai.NotFoundError, match="bob"):
        client.chat.completions.create(model="m", messages=REQUEST)

    step = next(span for span in gate.spans.ended if span.name == "chat m")
    assert attributes(step)[semconv.ERROR_TYPE] == "NotFoundError"
    assert not step.status.description
    assert not step.events


def test_retry_after_an_error_of_the_api(client: openai.OpenAI, stub: StubModel) -> None:
    """What the SDK gave up is tried once more when the detector says so; other orders make no sense there."""
    stub.failures.append(answer({}, 404))
    with watched(once("retry", "llm", delay_ms=1)), spanward.run("bot"):
        reply = client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)
    assert reply.choices[0].message.tool_calls

    stub.failures.append(answer({}, 404))
    with watched(once("feedback", "llm", template="tool_error")) as gate, spanward.run("bot"):
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="m", messages=REQUEST)
        assert gate.control.states("feedback") == ["received", "rejected"]


def test_other_endpoints_are_left_alone(client: openai.OpenAI) -> None:
    """Only requests to models are steps."""
    with watched() as gate, spanward.run("bot"), pytest.raises(openai.NotFoundError):
        client.models.list()

    assert gate.spans.steps() == []


def test_a_body_given_beside_the_arguments_counts(client: openai.OpenAI) -> None:
    """``extra_body`` wins over the arguments, as in the SDK."""
    with watched() as gate, spanward.run("bot"):
        client.chat.completions.create(model="m", messages=REQUEST, extra_body={"model": "other", "max_tokens": 9})

    assert llm(gate)[0][semconv.REQUEST_MODEL] == "other"
    assert llm(gate)[0][semconv.REQUEST_MAX_TOKENS] == 9


def test_azure_is_told_apart(stub: StubModel) -> None:
    """Its client inherits the wrapped method and is named as its own provider."""
    azure = openai.AzureOpenAI(api_version="1", azure_endpoint=stub.base_url, api_key="none")
    with watched() as gate, spanward.run("bot"), azure:
        azure.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)

    assert llm(gate)[0][semconv.PROVIDER_NAME] == "azure.ai.openai"


# ------------------------------------------------------------------------------------------------------------- answers


def test_a_parsed_answer_is_parsed_after_the_gate(stub: StubModel) -> None:
    """The parser sees repaired arguments; the parsed object keeps the id of its request."""

    class Weather(pydantic.BaseModel):
        sky: str

    def brain(_reading: Reading) -> Saying:
        return Saying('{"sky": "blue"}')

    with served(brain) as client, watched() as gate, spanward.run("bot"):
        reply = client.chat.completions.parse(model="m", messages=REQUEST, response_format=Weather)
        response = client.responses.parse(model="m", input="please", text_format=Weather)

    assert reply.choices[0].message.parsed == Weather(sky="blue")
    assert response.output_parsed == Weather(sky="blue")
    assert all(step[semconv.FACT_ANSWER_JSON_EXPECTED] and step[semconv.FACT_ANSWER_JSON] for step in llm(gate))


def test_strict_parsing_of_malformed_arguments(client: openai.OpenAI) -> None:
    """Without repair the SDK's parser raises, as it would without us; with it, it gets what it can parse."""
    with watched(), spanward.run("bot"), pytest.raises(ValueError, match="property name"):
        client.chat.completions.parse(model="m", messages=asking("malformed"), tools=CHAT_TOOLS)
    with watched(once("repair_arguments", "llm")), spanward.run("bot"):
        reply = client.chat.completions.parse(model="m", messages=asking("malformed"), tools=CHAT_TOOLS)

    calls = reply.choices[0].message.tool_calls
    assert calls
    assert calls[0].function.parsed_arguments == {"amount": 100, "to": "bob"}


def test_a_raw_response_is_untouched_unless_repaired(client: openai.OpenAI) -> None:
    """Body and headers are the server's; a repaired one says so and is whole in all its forms."""
    raw = client.chat.completions.with_raw_response
    with watched(), spanward.run("bot"):
        plain = raw.create(model="m", messages=asking("malformed"), tools=CHAT_TOOLS)
    assert REPAIRED_HEADER not in plain.headers
    assert plain.parse().choices[0].message.tool_calls[0].function.arguments == MALFORMED

    with watched(once("repair_arguments", "llm")), spanward.run("bot"):
        repaired = raw.create(model="m", messages=asking("malformed"), tools=CHAT_TOOLS)
    arguments = '{"amount": 100, "to": "bob"}'
    assert repaired.headers[REPAIRED_HEADER] == "1"
    assert repaired.status_code == 200
    assert json.loads(repaired.text)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == arguments
    assert repaired.parse().choices[0].message.tool_calls[0].function.arguments == arguments
    assert repaired.elapsed.total_seconds() >= 0


def test_fallback_is_a_safe_answer(client: openai.OpenAI) -> None:
    """The loop gets plain words instead of calls, on each API and raw."""
    with watched(once("fallback", "llm", strategy="degraded")), spanward.run("bot"):
        chat = client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)
    assert chat.choices[0].message.tool_calls is None
    assert chat.choices[0].finish_reason == "stop"
    assert "unavailable" in str(chat.choices[0].message.content)

    with watched(once("fallback", "llm", strategy="degraded"), locale="de"), spanward.run("bot"):
        response = client.responses.create(model="m", input="please", tools=RESPONSE_TOOLS)
    assert "nicht verfügbar" in response.output_text
    assert [item.type for item in response.output] == ["message"]

    with watched(once("fallback", "llm", strategy="degraded")), spanward.run("bot"):
        raw = client.responses.with_raw_response.create(model="m", input="please", tools=RESPONSE_TOOLS)
    assert "unavailable" in raw.parse().output_text


def test_an_answer_without_calls_is_answered_by_a_user_message(client: openai.OpenAI, stub: StubModel) -> None:
    """There is no call to answer, so the model is told as by the user, never by a system message."""
    with watched(once("feedback", "llm", template="off_topic")), spanward.run("bot"):
        chat = client.chat.completions.create(model="m", messages=asking("just talk"), tools=CHAT_TOOLS)
    assert chat.choices[0].message.tool_calls
    assert [message["role"] for message in stub.requests[-1]["messages"]] == ["user", "assistant", "user"]

    with watched(once("feedback", "llm", template="off_topic")), spanward.run("bot"):
        response = client.responses.create(model="m", input="just talk", tools=RESPONSE_TOOLS)
    assert [item.type for item in response.output] == ["function_call"]
    assert [item["role"] for item in stub.requests[-1]["input"]] == ["user", "assistant", "user"]


def test_a_conversation_that_the_server_keeps_is_continued(client: openai.OpenAI, stub: StubModel) -> None:
    """After a refused reply the next request names that reply and sends only what is new."""
    begun = client.responses.create(model="m", input="just talk")
    with watched(once("feedback", "llm", template="loop")), spanward.run("bot"):
        client.responses.create(model="m", input="please", tools=RESPONSE_TOOLS, previous_response_id=begun.id)

    refused, replanned = stub.requests[-2], stub.requests[-1]
    assert refused["previous_response_id"] == begun.id
    assert replanned["previous_response_id"] not in ("", None, begun.id)
    assert [item["type"] for item in replanned["input"]] == ["function_call_output"]

    with watched(once("feedback", "llm", template="loop")), spanward.run("bot"):
        client.responses.create(model="m", input="please", tools=RESPONSE_TOOLS, conversation="conv_1")
    assert [item["type"] for item in stub.requests[-1]["input"]] == ["function_call_output"]
    assert stub.requests[-1]["conversation"] == "conv_1"


def test_replanning_is_bounded(client: openai.OpenAI, stub: StubModel) -> None:
    """A detector that is never content cannot keep a call from returning."""
    with watched(lambda span: directive_for(span, "feedback", template="loop")) as gate, spanward.run("bot"):
        reply = client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)

    assert reply.choices[0].message.tool_calls
    assert len(stub.requests) == 5
    assert [status.reason for status in gate.control.statuses][-1] == "too_often"


def test_what_cannot_be_repaired_is_said(stub: StubModel) -> None:
    """Cut-off arguments pass as they are, and the directive has failed."""

    def brain(_reading: Reading) -> Saying:
        return Saying(calls=(Call("transfer", '{"amount": 100, "to": "b'),))

    with served(brain) as client, watched(once("repair_arguments", "llm")) as gate, spanward.run("bot"):
        reply = client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)

    assert llm(gate)[0][semconv.FACT_CALLS_FORM] == ("truncated",)
    assert gate.control.statuses[-1].reason == "not_repairable"
    calls = reply.choices[0].message.tool_calls
    assert calls
    assert calls[0].type == "function"
    assert calls[0].function.arguments == '{"amount": 100, "to": "b'


def test_arguments_that_break_the_schema(stub: StubModel) -> None:
    """Well-formed arguments that do not fit are told apart, and a number in quotes is repaired."""

    def brain(_reading: Reading) -> Saying:
        return Saying(calls=(Call("transfer", '{"amount": "100", "to": "bob"}'),))

    with served(brain) as client, watched(once("repair_arguments", "llm")) as gate, spanward.run("bot"):
        reply = client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)

    assert llm(gate)[0][semconv.FACT_CALLS_FORM] == ("schema",)
    assert llm(gate)[0][semconv.FACT_ARGUMENTS_SCHEMA] == "type:/amount"
    assert llm(gate)[0][semconv.FACT_ARGUMENTS_REPAIRS] == ("quoted_scalar",)
    calls = reply.choices[0].message.tool_calls
    assert calls
    assert calls[0].type == "function"
    assert json.loads(calls[0].function.arguments) == {"amount": 100, "to": "bob"}


def test_a_verdict_that_came_late_reaches_the_next_request(client: openai.OpenAI, stub: StubModel) -> None:
    """Feedback on a result whose hold is over is shown to the model with the next request, and stays."""
    with watched() as gate, spanward.run("bot"):
        reply = client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS)
        said = reply.choices[0].message
        assert said.tool_calls
        history = [*REQUEST, said, {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "sent 1 to bob"}]
        client.chat.completions.create(model="m", messages=history, tools=CHAT_TOOLS)
        step = next(span for span in gate.spans.ended if span.name == "execute_tool transfer")
        gate.runtime.deliver(directive_for(step, "feedback", directive_id="late", answers_hold=False, template="loop"))
        for _ in range(2):
            client.chat.completions.create(model="m", messages=history, tools=CHAT_TOOLS)

    assert gate.control.states("late") == ["received", "applied"]
    shown = [body["messages"][-1]["content"] for body in stub.requests]
    assert shown[1] == "sent 1 to bob"
    assert shown[2] == shown[3] != "sent 1 to bob"
    assert "transfer" in shown[2]


# ---------------------------------------------------------------------------------------------------------- life cycle


async def test_cancelling_a_call_ends_its_step(stub: StubModel) -> None:
    """The cancellation is the caller's and comes through; nothing stays in flight."""
    started = asyncio.Event()

    async def slow(*_args: object, **_kwargs: object) -> ChatCompletion:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    class Slow(openai.AsyncOpenAI):
        request = slow  # type: ignore[assignment]

    with watched() as gate:
        adapters.uninstall()
        undo = install(gate.runtime, cast(ModuleType, _Library(Slow)))
        async with spanward.run("bot"):
            client = Slow(base_url=stub.base_url, api_key="none")
            call = asyncio.create_task(client.chat.completions.create(model="m", messages=REQUEST))
            await started.wait()
            assert len(gate.runtime.calls_in_flight()) == 1
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        undo()

        assert gate.runtime.calls_in_flight() == []
        assert llm(gate)[0][semconv.ERROR_TYPE] == "CancelledError"


class _Library:
    """As much of the SDK's module as the adapter needs."""

    NOT_GIVEN = openai.NOT_GIVEN
    OpenAI = openai.OpenAI

    def __init__(self, async_client: type) -> None:
        self.AsyncOpenAI = async_client


def test_patches_are_taken_off_without_a_trace() -> None:
    """The class is as it was, its inherited method no longer its own."""
    before = dict(vars(openai.OpenAI))
    with watched():
        assert "request" in vars(openai.OpenAI)
    assert dict(vars(openai.OpenAI)) == before


def test_tools_that_take_free_text(stub: StubModel) -> None:
    """Their input is not JSON and is never judged as such; they are answered like the others."""
    completion = wire.chat_completion(Saying("x"), "m", 1)
    completion["choices"][0]["message"]["tool_calls"] = [
        {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls {"}}
    ]
    tools: Any = [{"type": "custom", "custom": {"name": "shell"}}]
    with serving(brain=cautious) as server, openai.OpenAI(base_url=f"{server.base_url}/v1", api_key="none") as client:
        replies = iter([completion])
        server.complete = lambda body: next(replies, wire.chat_completion(cautious(Reading("", ())), "m", 1))  # type: ignore[method-assign]
        with watched(once("feedback", "llm", template="loop")) as gate, spanward.run("bot"):
            client.chat.completions.create(model="m", messages=REQUEST, tools=tools)

    assert llm(gate)[0][semconv.FACT_CALLS_FORM] == ("ok",)
    assert semconv.FACT_CALLS_UNKNOWN not in llm(gate)[0]
    said = server.requests[-1]["messages"][1]["tool_calls"][0]
    assert said == {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls {"}}


@pytest.mark.parametrize("odd", [["x"], {"a": 1}, 5, True, None])
def test_servers_that_answer_anything_are_read(odd: object) -> None:
    """Ids, types, names and contents may be of any type: they are absent then, and nothing raises."""
    call = {"id": odd, "type": odd, "function": {"name": odd, "arguments": odd}, "index": odd}
    calls = [call, {"id": "x", "function": odd}, odd]
    chat: Any = {"choices": [{"message": {"content": odd, "tool_calls": calls}, "finish_reason": odd}], "usage": odd}
    item = {"type": odd, "call_id": odd, "name": odd, "arguments": odd, "content": odd, "output": odd}
    response: Any = {"output": [item, {**item, "type": "function_call"}], "status": odd, "usage": odd}
    body: Any = {"messages": [{"role": "tool", "tool_call_id": odd, "content": odd}], "input": [item], "tools": [odd]}
    for dialect, reply in ((openai_chat, chat), (openai_responses, response)):
        dialect.asked(body)
        answer = dialect.answer(reply)
        assert all(isinstance(made.id, str) and isinstance(made.name, str) for made in answer.calls)
        list(dialect.tool_messages(body))
        dialect.with_results(body, {"x": "y"})
        dialect.replan(body, reply, {made.id: "x" for made in answer.calls}, "notice")
        dialect.rewrite(reply, {"x": "{}"})
        content.input_messages([*body["messages"], item, {"role": odd, "tool_calls": odd}, {"tool_calls": calls}])
    for collector in (ChatCollector(), ResponsesCollector()):
        for event in (
            {"choices": [{"index": 0, "delta": {"content": odd, "tool_calls": calls}}]},
            {"type": odd, "item": item},
        ):
            collector.take(event)
        collector.reply()
        collector.rewrite([{"type": odd, "item_id": odd, "item": item}], {"x": "{}"})
