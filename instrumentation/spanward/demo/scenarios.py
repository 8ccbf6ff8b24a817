"""The five scenarios: what the user asks, which tool the agent has, and what a good end looks like."""

import json
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spanward import tool
from spanward.demo.brain import CITY, INVENTED_WEATHER

Tool = Callable[..., Awaitable[str]]
Fetch = Callable[..., Awaitable[str]]
"""``await fetch(path, **query)``: text of an answer by HTTP; raises where there is none or its status is an error."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One story.

    Attributes:
        name: as given on the command line.
        title: one line for people.
        request: what the user asks.
        make_tool: makes the agent's one tool, given the way to its service.
        parameters: JSON Schema of its arguments.
        good: whether an answer is right.
        stopped_is_good: a termination with a safe message is the right end.
        guard_steps: model calls after which the agent gives up by itself.
        guard_s: seconds after which it does.
    """

    name: str
    title: str
    request: str
    make_tool: Callable[[Fetch], Tool]
    parameters: Mapping[str, Any]
    good: Callable[[str], bool]
    stopped_is_good: bool = False
    guard_steps: int = 12
    guard_s: float = 20.0


def _weather(fetch: Fetch) -> Tool:
    @tool(side_effect="read")
    async def query_weather(city: str) -> str:
        """The weather of a city, now."""
        return await fetch("/service/weather", city=city)

    return query_weather


def _papers(fetch: Fetch) -> Tool:
    @tool(side_effect="read")
    async def search_papers(query: str) -> str:
        """Papers about something."""
        return await fetch("/service/papers", query=query)

    return search_papers


def _rate(fetch: Fetch) -> Tool:
    client = uuid.uuid4().hex

    @tool(side_effect="read")
    async def exchange_rate(pair: str) -> str:
        """The rate of two currencies, such as EURUSD."""
        return await fetch("/service/rate", pair=pair, client=client)

    return exchange_rate


def _trains(fetch: Fetch) -> Tool:
    @tool(side_effect="read")
    async def find_trains(origin: str, destination: str, passengers: int) -> str:
        """Trains with free seats."""
        return await fetch("/service/trains", origin=origin, destination=destination, passengers=str(passengers))

    return find_trains


async def yesterdays_report(quarter: str) -> str:
    """A copy of the report that may be old."""
    return json.dumps({"quarter": quarter, "revenue": "4.1 million euros", "stale": True})


def _report(fetch: Fetch) -> Tool:
    @tool(side_effect="read", interruptible=True, fallback=yesterdays_report)
    async def slow_report(quarter: str) -> str:
        """The report of a quarter."""
        return await fetch("/service/report", quarter=quarter)

    return slow_report


def _takes(**properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


SCENARIOS: Final[Mapping[str, Scenario]] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="weather",
            title="A tool fails but says success, and the model would make up the weather",
            request=f"What is the weather in {CITY} right now?",
            make_tool=_weather,
            parameters=_takes(city="string"),
            good=lambda answer: "21 °C" in answer and CITY in answer and INVENTED_WEATHER not in answer,
        ),
        Scenario(
            name="loop",
            title="The model searches for the same thing again and again",
            request="Which benchmark is best for long contexts?",
            make_tool=_papers,
            parameters=_takes(query="string"),
            good=lambda _answer: False,
            stopped_is_good=True,
        ),
        Scenario(
            name="flaky",
            title="A service is overloaded for a moment",
            request="How many US dollars is one euro?",
            make_tool=_rate,
            parameters=_takes(pair="string"),
            good=lambda answer: "1.0842" in answer,
        ),
        Scenario(
            name="malformed",
            title="The model writes arguments that are no JSON",
            request="Is there a train from Berlin to Wien with seats for two?",
            make_tool=_trains,
            parameters=_takes(origin="string", destination="string", passengers="integer"),
            good=lambda answer: "14 free seats" in answer,
        ),
        Scenario(
            name="hung",
            title="A tool hangs, and nobody would notice",
            request="What was our revenue in the third quarter?",
            make_tool=_report,
            parameters=_takes(quarter="string"),
            good=lambda answer: "4.1 million euros" in answer and "copy" in answer,
            guard_s=8.0,
        ),
    )
}
"""Every scenario by name, in the order in which they are told."""
