"""How often a person asked for something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.text.times import MOST, asked_times


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


@given(st.text(max_size=300))
def test_any_request_has_a_number_of_times(text: str) -> None:
    """Whatever a person writes, the number is within bounds."""
    assert 0 <= asked_times(text) <= MOST
