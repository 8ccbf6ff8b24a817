"""What the stub model says. It answers by what it reads, never by turn number: without help the same agent fails.

Each character below has one flaw that real models show: it trusts a success status, repeats itself, gives up at an
error, writes Python where JSON is due, or needs a slow tool. Pure functions over a :class:`Reading`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

RAW_CITY: Final = "北京@2024"
CITY: Final = "北京"
INVENTED_WEATHER: Final = "26 °C and sunny"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model is shown.

    Attributes:
        request: text of the user's messages, in order, joined by newlines.
        tools: names of the declared tools.
        results: texts of the tool messages, oldest first.
        notice: a user message that follows the last answer or tool result, else ``""``: somebody wants another try.
    """

    request: str
    tools: tuple[str, ...]
    results: tuple[str, ...] = ()
    notice: str = ""

    @property
    def last(self) -> str | None:
        """Text of the newest tool message, ``None`` before the first."""
        return self.results[-1] if self.results else None


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the model.

    Attributes:
        name: the tool.
        arguments: the text that the model writes, JSON or not.
    """

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Saying:
    """One reply of the model: words, tool calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = field(default=())


Brain = Callable[[Reading], Saying]
"""Reads, then speaks. Must be pure: the server calls it from several threads."""


def weather(reading: Reading) -> Saying:
    """Trusts any result that says success and makes up what is missing; told that it failed, it corrects the city."""
    if reading.last is None:
        return _call("query_weather", city=RAW_CITY)
    data = _json_object(reading.last)
    if data is None:
        return _call("query_weather", city=CITY)
    seen = data.get("data")
    if isinstance(seen, dict):
        return Saying(f"It is {seen['temp_c']} °C and {seen['sky']} in {seen['city']}.")
    return Saying(f"It is {INVENTED_WEATHER} in {CITY}.")


def loop(reading: Reading) -> Saying:
    """Never content with what it finds, so it searches for the same again; a hint makes it rephrase, once."""
    hinted = bool(reading.notice) or (reading.last is not None and _json_object(reading.last) is None)
    words = "transformer long-context benchmark 2024 survey" if hinted else "best long-context benchmark"
    return _call("search_papers", query=words)


def flaky(reading: Reading) -> Saying:
    """Gives up at the first error."""
    if reading.last is None:
        return _call("exchange_rate", pair="EURUSD")
    rate = (_json_object(reading.last) or {}).get("rate")
    return Saying(f"One euro is {rate} US dollars." if rate else "Sorry, the exchange rate is not available right now.")


def malformed(reading: Reading) -> Saying:
    """Writes its arguments as a Python literal with a comma too many."""
    if reading.last is None:
        return Saying(calls=(Call("find_trains", "{'origin': 'Berlin', 'destination': 'Wien', 'passengers': 2,}"),))
    trains = (_json_object(reading.last) or {}).get("trains")
    if not trains:
        return Saying("Sorry, I could not look up any train.")
    return Saying(f"The {trains[0]['departs']} train has {trains[0]['seats']} free seats.")


def hung(reading: Reading) -> Saying:
    """Waits for the report as long as it takes, and says so when it is an old copy."""
    if reading.last is None:
        return _call("slow_report", quarter="Q3")
    report = _json_object(reading.last) or {}
    if "revenue" not in report:
        return Saying("Sorry, the report did not arrive.")
    source = "From yesterday's copy: revenue" if report.get("stale") else "Revenue"
    return Saying(f"{source} was {report['revenue']}.")


BRAINS: Final[Mapping[str, Brain]] = {
    "query_weather": weather,
    "search_papers": loop,
    "exchange_rate": flaky,
    "find_trains": malformed,
    "slow_report": hung,
}
"""Which character answers, by a tool that the request declares."""


def think(reading: Reading) -> Saying:
    """Answers as the character whose tool is declared; with no known tool, repeats the request."""
    for name in reading.tools:
        if name in BRAINS:
            return BRAINS[name](reading)
    return Saying(f"You said: {reading.request}")


def read_chat(body: Mapping[str, Any]) -> Reading:
    """Reads a chat-completions request body."""
    tools = (tool.get("function", {}).get("name", "") for tool in body.get("tools") or ())
    turns = ((message.get("role", ""), _text(message.get("content"))) for message in body.get("messages") or ())
    return _reading(tools, turns)


def read_responses(body: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]] = ()) -> Reading:
    """Reads a responses request body.

    Args:
        body: the request.
        earlier: input and output items of the responses before, when the request names one of them.
    """
    given = body.get("input") or ()
    items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    tools = (tool.get("name", "") for tool in body.get("tools") or ())
    turns = (
        ("tool", _text(item.get("output")))
        if item.get("type") == "function_call_output"
        else (item.get("role") or "assistant", _text(item.get("content")))
        for item in [*earlier, *items]
    )
    return _reading(tools, turns)


def _reading(tools: Iterable[str], turns: Iterable[tuple[str, str]]) -> Reading:
    asked: list[str] = []
    results: list[str] = []
    answered = False
    notice = ""
    for role, text in turns:
        if role == "user":
            asked.append(text)
            notice = text if answered else ""
        elif role == "tool":
            results.append(text)
            answered, notice = True, ""
        elif role == "assistant":
            answered, notice = True, ""
    return Reading("\n".join(asked), tuple(tools), tuple(results), notice)


def _call(name: str, **arguments: object) -> Saying:
    return Saying(calls=(Call(name, json.dumps(arguments, ensure_ascii=False)),))


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""
