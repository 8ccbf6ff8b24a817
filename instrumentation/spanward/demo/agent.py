"""The demo's agent: a plain loop on the openai SDK, as people write it, run as its own process.

    python -m spanward.demo.agent SCENARIO --base-url URL [--without]

Prints one JSON object a line: ``{"event": "begin" | "step" | "end", "scenario", "t_ms", ...}``. A ``step`` has a
``text`` for people; the ``end`` has ``ok``, ``answer``, ``run_id``, ``steps`` and, when it went wrong, ``error``. The
exit code is 0 whether the story ends well or not, 2 for a wrong command line.
"""

import argparse
import asyncio
import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import cast

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam

import spanward
from spanward.demo.scenarios import SCENARIOS, Scenario, Tool
from spanward.demo.stub import serving

try:
    import httpx
except ImportError:  # the SDK brings one of the two, by its version
    import httpx2 as httpx  # type: ignore[no-redef]

MODEL = "demo-model"
SHOWN = 160
"""Characters of a text that are shown in a step."""


class GaveUpError(RuntimeError):
    """The agent's own guard ended it."""


@dataclass(slots=True)
class Telling:
    """Prints what happens, with the time since the start.

    Attributes:
        scenario: on every line.
        steps: model calls and tool calls told so far.
    """

    scenario: str
    steps: int = 0
    started: float = field(default_factory=time.perf_counter)

    def line(self, event: str, **fields: object) -> None:
        """Prints one event."""
        elapsed = round((time.perf_counter() - self.started) * 1000, 1)
        print(json.dumps({"event": event, "scenario": self.scenario, "t_ms": elapsed, **fields}, ensure_ascii=False))

    def step(self, text: str) -> None:
        """Prints one step, cut to a line's length."""
        self.steps += 1
        self.line("step", text=text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


async def converse(client: AsyncOpenAI, scenario: Scenario, use: Tool, telling: Telling) -> str:
    """The loop: ask the model, run the tool calls it wants, until it answers.

    Returns:
        The answer.

    Raises:
        GaveUpError: no answer after ``guard_steps`` model calls.
        ValueError: the model's arguments are no JSON.
    """
    declared: list[ChatCompletionToolUnionParam] = [
        {
            "type": "function",
            "function": {
                "name": use.__name__,
                "description": use.__doc__ or "",
                "parameters": dict(scenario.parameters),
            },
        }
    ]
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": scenario.request}]
    for _ in range(scenario.guard_steps):
        reply = await client.chat.completions.create(model=MODEL, messages=messages, tools=declared)
        message = reply.choices[0].message
        if not message.tool_calls:
            telling.step(f"model: {message.content}")
            return message.content or ""
        messages.append(cast(ChatCompletionMessageParam, message.to_dict()))
        for call in message.tool_calls:
            if call.type != "function":
                continue
            telling.step(f"model calls {call.function.name}({call.function.arguments})")
            result = await use(**json.loads(call.function.arguments))
            telling.step(f"tool result: {result}")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    raise GaveUpError(f"no answer after {scenario.guard_steps} model calls")


async def play(scenario: Scenario, base_url: str, telling: Telling) -> None:
    """Runs a scenario to its end and tells how it went."""
    answer, error, ok, run_id = "", "", False, ""
    try:
        async with (
            httpx.AsyncClient(base_url=base_url, timeout=60) as http,
            AsyncOpenAI(base_url=f"{base_url}/v1", api_key="not-needed") as client,
            spanward.run(f"{scenario.name}-agent", input=scenario.request) as run,
        ):
            run_id = run.id

            async def fetch(path: str, **query: str) -> str:
                return (await http.get(path, params=query)).raise_for_status().text

            use = scenario.make_tool(fetch)
            answer = await asyncio.wait_for(converse(client, scenario, use, telling), scenario.guard_s)
            ok = scenario.good(answer)
    except spanward.AgentTerminated as ended:
        answer, ok = ended.user_message, scenario.stopped_is_good and bool(ended.user_message)
        telling.step(f"stopped: {ended.reason}")
    except TimeoutError:
        error = f"still waiting after {scenario.guard_s:g} s"
    except Exception as failed:
        error = f"{type(failed).__name__}: {failed}".splitlines()[0]
    ending = {"ok": ok, "answer": answer, "run_id": run_id, "steps": telling.steps}
    telling.line("end", **ending, **({"error": error} if error else {}))


def main() -> None:
    """Plays one scenario."""
    parser = argparse.ArgumentParser("python -m spanward.demo.agent", description="Plays one scenario of the demo.")
    parser.add_argument("scenario", choices=list(SCENARIOS))
    parser.add_argument("--base-url", help="of a running spanward.demo.stub; by default one is started here")
    parser.add_argument("--without", action="store_true", help="without Spanward, to see it fail")
    chosen = parser.parse_args()
    scenario = SCENARIOS[chosen.scenario]
    with ExitStack() as stack:
        base_url = chosen.base_url or stack.enter_context(serving()).base_url
        if not chosen.without:
            spanward.instrument_agent(service_name=f"demo-{scenario.name}")
            stack.callback(spanward.shutdown)
        telling = Telling(scenario.name)
        telling.line("begin", title=scenario.title, request=scenario.request, supervised=not chosen.without)
        asyncio.run(play(scenario, base_url, telling))


if __name__ == "__main__":
    main()
