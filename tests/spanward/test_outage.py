"""One line per outage, however many notice and however it flaps."""

from __future__ import annotations

import logging

import pytest
from spanward.outage import BURST, REFILL_S, Outage, outage


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "spanward")


def test_two_parts_make_one_outage(caplog: pytest.LogCaptureFixture) -> None:
    """Spans and stream both fail, often: one line; it is over when both are well: one line."""
    clock = Clock()
    health = Outage("host:1", clock)
    for part in ("spans", "control", "spans"):
        health.failed(part, "UNAVAILABLE")
    clock.now += 12
    health.recovered("spans")
    health.recovered("control")
    health.recovered("control")
    assert lines(caplog) == [
        "spanward: host:1 does not answer (UNAVAILABLE); the agent goes on without it",
        "spanward: host:1 is back after 12.0 s",
    ]


def test_flapping_is_told_in_moderation(caplog: pytest.LogCaptureFixture) -> None:
    """A link that comes and goes gets a few lines; the silent ones are counted in the next that is told."""
    clock = Clock()
    health = Outage("host:1", clock)
    for _ in range(100):
        health.failed("spans", "X")
        health.recovered("spans")
    assert len(lines(caplog)) == 2 * BURST
    clock.now += REFILL_S
    health.failed("spans", "X")
    assert f"({100 - BURST} outages before were not logged)" in lines(caplog)[-1]


def test_who_stops_trying_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    """A part that is shut down in an outage does not keep it open, and says nothing."""
    health = Outage("host:1")
    health.failed("spans", "X")
    health.forget("spans")
    health.failed("control", "Y")
    assert [line.split("(")[1][0] for line in lines(caplog)] == ["X", "Y"]


def test_one_per_address() -> None:
    """All that talk to one address share its health."""
    assert outage("a:1") is outage("a:1")
    assert outage("a:1") is not outage("b:1")
