"""The demo's stub and scenarios: without help each fails, with the right verdicts each ends well."""

import asyncio
import dataclasses
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from spanward import semconv
from spanward.demo.agent import Telling, play
from spanward.demo.brain import INVENTED_WEATHER, Call, Reading, Saying, think
from spanward.demo.scenarios import SCENARIOS, Fetch, Scenario, Tool
from spanward.demo.stub import StubModel, serving
from spanward.ports import GateDirective
from spanward.testing import Supervised, directive_for

from tests.adapters.openai_loops import CHAT_TOOLS, RESPONSE_TOOLS
from tests.adapters.watching import attributes, watched

pytestmark = pytest.mark.slow

TOOL = "tool"


@pytest.fixture
def stub() -> Iterator[StubModel]:
    """The demo's model and services."""
    with serving() as server:
        yield server


def played(scenario: Scenario, stub: StubModel, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The events that a scenario prints."""
    asyncio.run(play(scenario, stub.base_url, Telling(scenario.name)))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", SCENARIOS)
def test_without_help_every_scenario_fails_and_ends(
    name: str, stub: StubModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody sees the failure, or the agent's own guard gives up."""
    quick = dataclasses.replace(SCENARIOS[name], guard_s=0.5) if name == "hung" else SCENARIOS[name]

    end = played(quick, stub, capsys)[-1]

    assert end["event"] == "end"
    assert end["ok"] is False
    if name == "weather":
        assert INVENTED_WEATHER in end["answer"]
    else:
        assert end["error"]


def weather(span: ReadableSpan) -> GateDirective | None:
    """What the detector says of an error under a success status."""
    failed = attributes(span).get(semconv.FACT_RESULT_ERROR)
    return directive_for(span, "feedback", template="silent_error") if failed else None


def flaky(span: ReadableSpan) -> GateDirective | None:
    """What it says of a service that is overloaded."""
    failed = attributes(span).get(semconv.ERROR_TYPE) == "HTTPStatusError"
    return directive_for(span, "retry", delay_ms=1) if failed else None


def malformed(span: ReadableSpan) -> GateDirective | None:
    """What it says of arguments that are no JSON."""
    facts = attributes(span)
    if facts.get(semconv.FACT_CALLS_FORM) != ("malformed",):
        return None
    return directive_for(span, "repair_arguments", repairs=facts[semconv.FACT_ARGUMENTS_REPAIRS])


class LoopVerdicts:
    """Feedback at the third equal call, and the end when it comes back."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, span: ReadableSpan) -> GateDirective | None:
        if attributes(span).get(semconv.STEP_KIND) != TOOL:
            return None
        self.seen.append(attributes(span)[semconv.PAYLOAD_DIGEST])
        times = self.seen.count(self.seen[-1])
        if times == 3:
            return directive_for(span, "feedback", template="loop")
        return directive_for(span, "terminate", reason="loop") if times > 3 else None


@pytest.mark.parametrize(
    ("name", "answer"), [("weather", weather), ("flaky", flaky), ("malformed", malformed), ("loop", LoopVerdicts())]
)
def test_with_the_right_verdict_it_ends_well(
    name: str, answer: Any, stub: StubModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """The directives are executed, and the agent that knows nothing of them comes to a right or a safe end."""
    with watched(answer, http=True) as gate:
        events = played(SCENARIOS[name], stub, capsys)

    assert events[-1]["ok"], events
    assert events[-1]["answer"]
    assert {status.state for status in gate.control.statuses} == {"received", "applied"}
    assert gate.runtime.counters.internal_errors == 0
    http = [attributes(span) for span in gate.spans.ended if semconv.HTTP_METHOD in attributes(span)]
    assert http
    if name == "flaky":
        assert [span[semconv.ATTEMPT] for span in gate.spans.steps(TOOL)] == [1, 2, 3]
        assert sorted(span[semconv.HTTP_STATUS] for span in http).count(503) == 2


def test_a_hung_tool_is_interrupted_and_replaced(stub: StubModel, capsys: pytest.CaptureFixture[str]) -> None:
    """An order from outside cuts the call short; the run goes on with the tool's fallback."""

    def answer(span: ReadableSpan) -> GateDirective | None:
        cut = attributes(span).get(semconv.ERROR_TYPE) == "CallInterrupted"
        return directive_for(span, "fallback", strategy="tool_fallback") if cut else None

    async def both(gate: Supervised) -> None:
        running = asyncio.Event()

        def make_tool(fetch: Fetch) -> Tool:
            async def noticed(path: str, **query: str) -> str:
                running.set()
                return await fetch(path, **query)

            return SCENARIOS["hung"].make_tool(noticed)

        async def interrupt() -> None:
            await running.wait()
            call = next(call for call in gate.runtime.calls_in_flight() if call.action == "slow_report")
            order = GateDirective("cut", call.run_id, "interrupt_call", payload={"span_id": call.span_id})
            gate.runtime.deliver(order)

        scenario = dataclasses.replace(SCENARIOS["hung"], make_tool=make_tool)
        await asyncio.gather(play(scenario, stub.base_url, Telling(scenario.name)), interrupt())

    with watched(answer) as gate:
        asyncio.run(both(gate))

    end = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert end["ok"], end
    assert "yesterday" in end["answer"]
    assert gate.control.states("cut") == ["received", "applied"]


def test_the_agent_is_a_process_of_its_own() -> None:
    """It starts a stub when none is named, prints one JSON object a line, and ends with 0 although the story is sad."""
    command = [sys.executable, "-m", "spanward.demo.agent", "malformed", "--without"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events] == ["begin", "step", "end"]
    assert events[0]["supervised"] is False
    assert events[-1]["error"].startswith("JSONDecodeError")


def test_the_model_answers_by_what_it_reads() -> None:
    """The same reading gives the same reply, whatever was asked before; feedback changes it."""
    asked = Reading("weather?", ("query_weather",))
    told = Reading("weather?", ("query_weather",), ("[spanward] it failed",))

    assert think(asked) == think(asked)
    assert json.loads(think(asked).calls[0].arguments)["city"] != json.loads(think(told).calls[0].arguments)["city"]
    assert think(Reading("hello", ())).text == "You said: hello"


def test_whole_and_streamed_replies_say_the_same(stub: StubModel) -> None:
    """On both APIs the SDK puts the pieces together to what it gets in one."""

    def brain(_reading: Reading) -> Saying:
        return Saying("let me send that", (Call("transfer", '{"amount": 1, "to": "eve"}'),) * 2)

    with serving(brain=brain) as server:
        client = openai.OpenAI(base_url=f"{server.base_url}/v1", api_key="none")
        with client.chat.completions.stream(
            model="m", messages=[{"role": "user", "content": "x"}], tools=CHAT_TOOLS
        ) as chat:
            for _event in chat:
                pass
            message = chat.get_final_completion().choices[0].message
        with client.responses.stream(model="m", input="x", tools=RESPONSE_TOOLS) as events:
            for _any in events:
                pass
            response = events.get_final_response()
        client.close()

    assert message.content == response.output_text == "let me send that"
    assert message.tool_calls
    assert [call.function.arguments for call in message.tool_calls] == ['{"amount": 1, "to": "eve"}'] * 2
    assert [item.type for item in response.output] == ["message", "function_call", "function_call"]


def test_unknown_paths_are_refused(stub: StubModel) -> None:
    """A wrong base URL shows as 404 and not as a silent success."""
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{stub.base_url}/nowhere")
    with pytest.raises(openai.NotFoundError):
        openai.OpenAI(base_url=stub.base_url, api_key="none").embeddings.create(model="m", input="x")
