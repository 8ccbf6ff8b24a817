"""The outside world of the demo's tools: four small HTTP services, each with the fault that its scenario needs."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from spanward.demo.brain import CITY

HANG_S: Final = 60.0
"""How long the report hangs when nobody ends it, in seconds."""
FAILURES: Final = 2
"""How often the exchange rate answers 503 before it answers."""

Query = Mapping[str, str]


@dataclass(slots=True)
class World:
    """What the services remember.

    Attributes:
        closing: set when the server stops, so that a hanging request ends at once.
        asked: requests for the exchange rate, by client.
    """

    closing: threading.Event = field(default_factory=threading.Event)
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer: status, JSON text and further headers."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(value: object, status: int = 200, **headers: str) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, json.dumps(value, ensure_ascii=False), headers)


def weather(_world: World, query: Query) -> Answer:
    """Knows one city; for any other it reports success and hides the error inside."""
    city = query.get("city", "")
    if city != CITY:
        return answer({"status": "success", "data": None, "error": f"unknown city: {city}"})
    return answer({"status": "success", "data": {"city": CITY, "temp_c": 21, "sky": "cloudy"}})


def papers(_world: World, query: Query) -> Answer:
    """Finds the same two papers for the same words."""
    words = query.get("query", "")
    return answer({"query": words, "papers": [f"A study of {words}", f"{words}, revisited"]})


def rate(world: World, query: Query) -> Answer:
    """Overloaded for the first :data:`FAILURES` requests of each client."""
    client = query.get("client", "")
    with world.lock:
        world.asked[client] += 1
        number = world.asked[client]
    if number <= FAILURES:
        return answer({"detail": "upstream connect timeout"}, 503)
    return answer({"pair": query.get("pair", ""), "rate": 1.0842})


def trains(_world: World, query: Query) -> Answer:
    """One train with free seats."""
    route = {"origin": query.get("origin", ""), "destination": query.get("destination", "")}
    return answer({**route, "trains": [{"departs": "09:37", "seats": 14}]})


def report(world: World, _query: Query) -> Answer:
    """Hangs, then admits that it did."""
    world.closing.wait(HANG_S)
    return answer({"detail": "gave up"}, 504)


SERVICES: Final[Mapping[str, Callable[[World, Query], Answer]]] = {
    "/service/weather": weather,
    "/service/papers": papers,
    "/service/rate": rate,
    "/service/trains": trains,
    "/service/report": report,
}
"""Every service by its path."""
