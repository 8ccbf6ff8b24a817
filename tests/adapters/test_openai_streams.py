"""Streams of the openai SDK: words pass at once, calls when they are judged, and nothing is left behind."""

import gc
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
import spanward
from spanward import semconv
from spanward.demo import wire
from spanward.feedback import user_message
from spanward.testing import Supervised

from tests.adapters.openai_loops import CHAT_TOOLS, RESPONSE_TOOLS
from tests.adapters.watching import once, watched
from tests.stub_openai import StubModel, cautious, serving

REQUEST: Any = [{"role": "user", "content": "please"}]


@pytest.fixture
def stub() -> Iterator[StubModel]:
    """A model that sends money."""
    with serving(brain=cautious) as server:
        yield server


@pytest.fixture
def client(stub: StubModel) -> Iterator[openai.OpenAI]:
    """A client of it."""
    with openai.OpenAI(base_url=f"{stub.base_url}/v1", api_key="none") as made:
        yield made


def asking(text: str) -> Any:
    """A conversation that begins."""
    return [{"role": "user", "content": text}]


def llm(gate: Supervised) -> list[dict[str, Any]]:
    """Attributes of the model steps."""
    return [dict(step) for step in gate.spans.steps("llm")]


def test_words_pass_at_once_and_calls_at_the_end(client: openai.OpenAI) -> None:
    """While words come nobody has been asked yet; no piece of a call is out before the verdict."""
    with watched() as gate, spanward.run("bot"):
        stream = client.chat.completions.create(
            model="m",
            messages=asking("preamble"),
            tools=CHAT_TOOLS,
            stream=True,
            stream_options={"include_usage": True},
        )
        asked_before: list[tuple[str, int]] = []
        for chunk in stream:
            delta = chunk.choices[0].delta if chunk.choices else None
            kind = "calls" if delta and delta.tool_calls else "words" if delta and delta.content else "end"
            asked_before.append((kind, len(gate.control.holds)))

    assert {asked for kind, asked in asked_before if kind == "words"} == {0}
    assert {asked for kind, asked in asked_before if kind == "calls"} == {1}
    assert asked_before[-1] == ("end", 1)
    assert llm(gate)[0][semconv.OUTPUT_TOKENS] > 0


def test_the_words_of_a_response_pass_at_once(client: openai.OpenAI) -> None:
    """Events come in their order; those from the first call on, and the last one, wait for the verdict."""
    with watched() as gate, spanward.run("bot"):
        events = [
            (event.type, len(gate.control.holds))
            for event in client.responses.create(model="m", input="preamble", tools=RESPONSE_TOOLS, stream=True)
        ]

    assert events[0][0] == "response.created"
    assert {asked for kind, asked in events if kind == "response.output_text.delta"} == {0}
    assert {asked for kind, asked in events if "function_call" in kind} == {1}
    assert events[-1] == ("response.completed", 1)
    assert semconv.FACT_CALLS in llm(gate)[0]


def test_announced_calls_can_still_be_replanned_in_a_chat(client: openai.OpenAI) -> None:
    """The words before a call stand, then the next answer follows in the same stream; the SDK's reader agrees."""
    with (
        watched(once("feedback", "llm", template="loop")) as gate,
        spanward.run("bot"),
        client.chat.completions.stream(model="m", messages=asking("preamble"), tools=CHAT_TOOLS) as stream,
    ):
        for _event in stream:
            pass
        message = stream.get_final_completion().choices[0].message

    assert message.role == "assistant"
    assert message.content == "let me do that "
    assert message.tool_calls
    assert [json.loads(call.function.arguments)["amount"] for call in message.tool_calls] == [5]
    assert gate.control.states("feedback") == ["received", "applied"]


@pytest.mark.parametrize("text", ["just talk", "preamble"])
def test_what_was_read_cannot_be_unsaid(client: openai.OpenAI, text: str) -> None:
    """A streamed response that has begun to pass is not replaced, nor is a chat's answer: the directive is rejected."""
    with watched(once("feedback", "llm", template="off_topic")) as gate, spanward.run("bot"):
        events = list(client.responses.create(model="m", input=text, tools=RESPONSE_TOOLS, stream=True))
    assert events[-1].type == "response.completed"
    assert gate.control.statuses[-1].reason == "streamed"

    with watched(once("feedback", "llm", template="off_topic")) as gate, spanward.run("bot"):
        list(client.chat.completions.create(model="m", messages=asking("just talk"), stream=True))
    assert gate.control.statuses[-1].reason == "streamed"


def test_a_stream_that_is_left_early_ends_its_step(client: openai.OpenAI) -> None:
    """By ``with``, by ``close``, by leaving the loop, and by never reading it: nothing stays in flight."""

    def begin() -> Any:
        return client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS, stream=True)

    with watched() as gate, spanward.run("bot"):
        with begin() as stream:
            next(stream)
        stream = begin()
        assert isinstance(stream, openai.Stream)
        stream.close()
        for _chunk in begin():
            break
        stream = begin()
        del stream
        gc.collect()

        assert gate.runtime.calls_in_flight() == []
        assert len(llm(gate)) == 4


async def test_an_async_stream_that_is_left_early_ends_its_step(stub: StubModel) -> None:
    """By ``async with`` and by ``close``."""
    async with openai.AsyncOpenAI(base_url=f"{stub.base_url}/v1", api_key="none") as client:
        with watched() as gate:
            async with spanward.run("bot"):
                for _ in range(2):
                    stream = await client.chat.completions.create(
                        model="m", messages=REQUEST, tools=CHAT_TOOLS, stream=True
                    )
                    async with stream:
                        await stream.__anext__()
                stream = await client.chat.completions.create(model="m", messages=REQUEST, stream=True)
                await stream.close()

            assert gate.runtime.calls_in_flight() == []
            assert len(llm(gate)) == 3


def test_a_stream_that_breaks_raises_what_the_sdk_raises(
    client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was kept comes out first, as it would have; the step has failed."""
    real = wire.chat_chunks

    def broken(completion: Any, *, usage: bool) -> Iterator[Any]:
        yield from list(real(completion, usage=usage))[:3]
        yield {"error": {"message": "the model fell over"}}

    monkeypatch.setattr(wire, "chat_chunks", broken)
    seen: list[Any] = []
    with watched() as gate, spanward.run("bot"):
        stream = client.chat.completions.create(model="m", messages=REQUEST, tools=CHAT_TOOLS, stream=True)
        with pytest.raises(openai.APIError, match="fell over"):
            seen.extend(stream)

    assert len(seen) == 3
    assert llm(gate)[0][semconv.ERROR_TYPE] == "APIError"


def test_a_raw_stream_of_bytes_is_seen_and_passes(client: openai.OpenAI) -> None:
    """Where the user reads bytes there is no place for a gate: one step, without an answer's facts."""
    with watched() as gate, spanward.run("bot"):
        made = client.chat.completions.with_streaming_response.create(
            model="m", messages=REQUEST, tools=CHAT_TOOLS, stream=True
        )
        with made as response:
            lines = [line for line in response.iter_lines() if line]

    assert lines[-1] == "data: [DONE]"
    assert len(llm(gate)) == 1
    assert semconv.FACT_CALLS not in llm(gate)[0]


@pytest.mark.parametrize("text", ["please", "preamble"])
def test_fallback_puts_a_safe_answer_in_the_place_of_streamed_calls(client: openai.OpenAI, text: str) -> None:
    """Whoever reads the stream gets words and no call, behind what was said before."""
    with watched(once("fallback", "llm", strategy="degraded")) as gate, spanward.run("bot"):
        stream = client.chat.completions.create(model="m", messages=asking(text), tools=CHAT_TOOLS, stream=True)
        choices = [chunk.choices[0] for chunk in stream if chunk.choices]

    said = "".join(choice.delta.content or "" for choice in choices)
    assert said.endswith(user_message("degraded"))
    assert [choice for choice in choices if choice.delta.tool_calls] == []
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    assert gate.control.states("fallback") == ["received", "applied"]


def test_fallback_of_a_streamed_response_is_rejected(client: openai.OpenAI) -> None:
    """Its events cannot become words; the calls pass, and the detector is told why."""
    with watched(once("fallback", "llm", strategy="degraded")) as gate, spanward.run("bot"):
        stream = client.responses.create(model="m", input=REQUEST, tools=RESPONSE_TOOLS, stream=True)
        kinds = [event.type for event in stream]

    assert "response.function_call_arguments.done" in kinds
    assert gate.control.states("fallback") == ["received", "rejected"]
    assert gate.control.statuses[-1].reason == "streamed"
