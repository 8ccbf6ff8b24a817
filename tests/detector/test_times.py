"""How often a person asked for something."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import default
from spanward_detector.text.times import MOST, asked_times


def step(kind: Kind, at: int, **fields: Any) -> Step:
    """A step of one run, a second after the one before."""
    start = 1 + at * 1_000_000_000
    return Step(kind, SpanRef("a" * 32, f"{at + 1:016x}"), None, "r", start, start + 1, "genai", "s", "n", **fields)


@pytest.mark.parametrize(
    ("request_text", "times"),
    [
        ("Call the health endpoint exactly five times, one second apart.", 5),
        ("Take 12 readings of the sensor.", 12),
        ("Ping the host twice.", 2),
        ("Rufe den Endpunkt fünfmal auf.", 5),
        ("Rufe den Endpunkt 7 mal auf.", 7),
        ("Llama cinco veces al servicio.", 5),
        ("Appelle le service trois fois.", 3),
        ("Roep de dienst tien keer aan.", 10),
        ("请查询状态五次", 5),
        ("ステータスを3回確認してください", 3),
        ("Hívd meg háromszor.", 3),
        ("Book a table for five at nine.", 0),
        ("What happened in 2024?", 0),
        ("It failed 5000 times.", 0),
        ("", 0),
    ],
)
def test_numbers_of_times_are_read(request_text: str, times: int) -> None:
    """As digits and words, beside what is counted; other numbers count nothing."""
    assert asked_times(request_text) == times


def test_as_many_rounds_as_were_asked_for_are_no_loop() -> None:
    """One more than that is."""
    ask = (("user", "Call the endpoint five times."),)
    for rounds, found in ((5, []), (6, ["loop"])):
        pipeline = Pipeline(default())
        for n in range(rounds):
            pipeline.step(step(Kind.LLM, 2 * n, said=ask, n_calls=1, extra={"history": ("h",)}))
            pipeline.step(step(Kind.TOOL, 2 * n + 1, action="call", arguments="{}", result="ok", result_digest="d"))
        run = pipeline.find("r")
        assert run is not None
        assert [f.rule for f in run.findings() if f.rule == "loop"] == found


@given(st.text(max_size=300))
def test_any_request_has_a_number_of_times(text: str) -> None:
    """Whatever a person writes, the number is within bounds."""
    assert 0 <= asked_times(text) <= MOST
