"""Breakers over all runs: what opens one, who makes the probe, and what the gates are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from spanward_detector.breakers import Breakers, Fleet, Signal, of_environment
from spanward_detector.control import codec
from spanward_detector.control.outages import GRACE_S, Outages
from spanward_detector.control.outgoing import Outgoing
from spanward_detector.control.session import Session, Sessions
from spanward_detector.model import HttpAttempt, Kind, SpanRef, Step
from spanward_detector.outcome import WORKED, Outcome
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import Policy

DOWN = Outcome("http_error", 503)


class FakeClock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def call(n: int = 0, run_id: str = "run-1", tool: str = "quote", **more: Any) -> Step:
    """A tool call."""
    ref = SpanRef("ab" * 16, f"{n:016x}")
    step = Step(Kind.TOOL, ref, None, run_id, n * 10, n * 10 + 5, "spanward", "spanward", tool, action=tool)
    for key, value in more.items():
        setattr(step, key, value)
    return step


@pytest.mark.parametrize(
    ("outcome", "more", "counts"),
    [
        (Outcome("timeout"), {}, True),
        (Outcome("rate_limited", 429), {}, True),
        (DOWN, {}, True),
        (Outcome("http_error", 404), {}, False),
        (Outcome("auth_error", 401), {}, False),
        (Outcome("tool_error"), {}, False),
        (Outcome("environment_error"), {"error_type": "httpx.ConnectError"}, True),
        (Outcome("environment_error"), {"error_type": "FileNotFoundError"}, False),
        (Outcome("environment_error"), {"http": (HttpAttempt(0, None, "e" * 16, 0, None),)}, True),
    ],
)
def test_only_failures_of_the_environment_count(outcome: Outcome, more: dict[str, Any], counts: bool) -> None:
    """A wrong call, a missing file and a refused access say nothing of the service."""
    assert of_environment(call(**more), outcome) is counts


def test_failures_in_a_row_over_all_runs_trip_once() -> None:
    """The fifth trips, whichever runs they were of; a success in between starts anew."""
    fleet = Fleet(5)
    for n in range(4):
        fleet.take(call(n, f"run-{n}"), DOWN)
    fleet.take(call(4), WORKED)
    for n in range(5, 10):
        fleet.take(call(n, f"run-{n}"), DOWN)

    assert [n for n in range(10) if fleet.tripped(call(n).ref)] == [9]


def test_a_span_counts_once_however_often_it_is_told() -> None:
    """A run that is told over for a late step trips nothing by that."""
    fleet = Fleet(3)
    for _ in range(9):
        fleet.take(call(1), DOWN)

    assert not fleet.tripped(call(1).ref)


def test_failures_far_apart_are_no_row() -> None:
    """Ten minutes between them."""
    fleet = Fleet(2)
    fleet.take(call(1), DOWN)
    fleet.take(call(2, start_ns=600_000_000_000, end_ns=600_000_000_001), DOWN)

    assert not fleet.tripped(call(2).ref)


def test_it_opens_for_all_and_one_probes() -> None:
    """Open, then half-open for one gate while the others stay open; a success closes it for all."""
    clock = FakeClock()
    breakers = Breakers(30.0, clock)

    assert breakers.trip("quote", "run-1") == [Signal("quote", "open", 30.0)]
    assert breakers.due(lambda _run: True) == []
    clock.now += 30
    assert breakers.due(lambda _run: True) == [
        Signal("quote", "open", 30.0),
        Signal("quote", "half_open", run_id="run-1"),
    ]
    assert breakers.phase("quote") == "half_open"
    assert breakers.ended(call(), WORKED) == [Signal("quote", "closed")]
    assert breakers.phase("quote") == "closed"


def test_a_probe_that_fails_opens_it_again() -> None:
    """Only a failure of the environment is one; a wrong call decides nothing."""
    clock = FakeClock()
    breakers = Breakers(30.0, clock)
    breakers.trip("quote", "run-1")
    clock.now += 30
    breakers.due(lambda _run: True)

    assert breakers.ended(call(), Outcome("tool_error")) == []
    assert breakers.ended(call(), DOWN) == [Signal("quote", "open", 30.0)]
    assert breakers.phase("quote") == "open"


def test_a_call_from_before_it_opened_does_not_close_it() -> None:
    """While it is open only time helps."""
    breakers = Breakers(30.0, FakeClock())
    breakers.trip("quote", "run-1")

    assert breakers.ended(call(), WORKED) == []
    assert "quote" in breakers


def test_a_probe_that_nobody_makes_is_another_ones() -> None:
    """A gate that is gone is passed over; those that were refused come in turn; with nobody left all may try."""
    clock = FakeClock()
    breakers = Breakers(30.0, clock)
    breakers.trip("quote", "run-1")
    for run in ("run-2", "run-3"):
        breakers.ended(call(run_id=run, extra={"refused": "breaker"}), WORKED)
    chosen = []
    for gone in ({"run-3"}, {"run-3"}, {"run-1", "run-2", "run-3"}):
        clock.now += 30
        chosen.append(breakers.due(lambda run, gone=gone: run not in gone)[-1].run_id)  # type: ignore[misc]

    assert chosen == ["run-2", "run-1", ""]


async def test_every_gate_is_told_and_one_is_let_through() -> None:
    """Open to both streams, half-open to one, closed to both; a stream that comes later is told, too."""
    clock = FakeClock()
    sessions = Sessions()
    streams = {name: Session(name, "svc", frozenset(), Outgoing(64), 0.0) for name in ("a", "b", "late")}
    for name in ("a", "b"):
        sessions.add(streams[name])
        sessions.claim(streams[name], _agent_run(f"run-{name}"))
    pipeline = Pipeline(Policy())
    outages = Outages(sessions, Breakers(30.0, clock))
    outages.sweep(30.0)

    def judge(n: int, run_id: str, **more: Any) -> None:
        step = call(n, run_id, failed=bool(more), error_type="HTTPStatusError" if more else "", **more)
        outages.follow(pipeline.step(step))

    for n in range(1, 6):
        judge(n, "run-a" if n % 2 else "run-b", http=(HttpAttempt(503, None, "e" * 16, 0, None),))
    sessions.add(streams["late"])
    outages.sweep(30.0)
    clock.now += 30
    outages.sweep(30.0)
    judge(9, "run-a")
    told = {name: await _said(stream.outgoing) for name, stream in streams.items()}

    opened = ("open", int((30 + GRACE_S) * 1000))
    assert told["a"] == [opened, opened, ("half_open", 0), ("closed", 0)]
    assert told["b"] == [opened, opened, ("closed", 0)]
    assert told["late"] == [opened, opened, ("closed", 0)]


def _agent_run(run_id: str) -> codec.AgentRun:
    return codec.AgentRun(run_id, "agent", "", "", None, 0, 0, 0, 0, 0.0, {})


async def _said(outgoing: Outgoing) -> list[tuple[str, int]]:
    names = {1: "closed", 2: "open", 3: "half_open"}
    said = []
    while True:
        try:
            item = await asyncio.wait_for(outgoing.get(), 0.05)
        except TimeoutError:
            return said
        said.append((names[item.message.breaker.phase], item.message.breaker.open_for_ms))
