"""What can be told from texts: numbers however spelled, where values come from, subjects and languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.text.heard import CAP, LONGEST, Heard
from spanward_detector.text.numbers import cut_short, follows_from, spellings
from spanward_detector.text.words import covered, language, subject


def step(**more: object) -> Step:
    """A step that says no more than what is given."""
    made = Step(Kind.TOOL, SpanRef("ab" * 16, "cd" * 8), None, "run", 1, 2, "x", "x", "x")
    for name, value in more.items():
        setattr(made, name, value)
    return made


def heard(*texts: str) -> Heard:
    """What was asked, as a user's messages."""
    memory = Heard()
    memory.model(step(said=tuple(("user", text) for text in texts)))
    return memory


@pytest.mark.parametrize("text", ["1,234.5", "1.234,5", "1234.5", "1234,5", "1 234,5", "1'234.5", "1234.50"[:6]])
def test_a_number_is_found_however_it_is_spelled(text: str) -> None:
    """Thousand separators and decimal marks of several countries."""
    assert heard(f"It costs {text} EUR.").has_any(spellings("1234.5"))


@pytest.mark.parametrize(
    ("number", "text", "cut"),
    [
        ("1", "pay 1,000 euros", True),
        ("1", "pay 1.000 Euro", True),
        ("1.0", "pay 1,000,000 euros", True),
        ("12", "12,500 pieces", True),
        ("2", "pay 1,000 euros", False),
        ("1", "at 1,5 percent", False),
        ("0", "0,500 litres", False),
        ("1000", "pay 1,000 euros", False),
        ("x", "1,000", False),
    ],
)
def test_a_number_that_was_cut_at_its_separator(number: str, text: str, cut: bool) -> None:
    """What stands before a thousand separator is not the number."""
    assert cut_short(number, text) is cut


@given(st.integers(min_value=0, max_value=10**12))
def test_every_spelling_of_a_whole_number_is_found_in_itself(number: int) -> None:
    """A number stands in each of the texts that spell it, and is not cut short there."""
    for text in spellings(str(number)):
        assert heard(f"x {text} y").has_any(spellings(str(number)))
        assert not cut_short(str(number), f"x {text} y")


def test_a_figure_follows_from_two_others() -> None:
    """Sums, differences, products and shares are given; others are not."""
    texts = ["rent 1,200 and power 80.50", "3 rooms"]

    assert follows_from("1280.5", texts)
    assert follows_from("1119.5", texts)
    assert follows_from("3600", texts)
    assert follows_from("400", texts)
    assert not follows_from("777", texts)


def test_a_value_has_to_stand_on_its_own() -> None:
    """In any case, but not as a part of a longer word or number."""
    memory = heard("Order W-48213 for Zoë, id 99127.")

    assert memory.has("w-48213")
    assert memory.has("Zoë")
    assert not memory.has("9912")
    assert not memory.has("W-482")


def test_json_escapes_hide_nothing() -> None:
    """A name that a tool returned with escapes is known."""
    memory = Heard()
    memory.tool(step(result='{"name": "Jos\\u00e9 M\\u00fcller"}'))
    memory.tool(step())

    assert memory.has("José")


def test_a_result_is_known_from_the_next_step_on() -> None:
    """Nothing in a call's arguments can come from its own result."""
    memory = Heard()
    memory.tool(step(result="ACC-99127"))
    before = memory.has("ACC-99127")
    memory.model(step())

    assert (before, memory.has("ACC-99127"), memory.returned) == (False, True, 1)


@pytest.mark.parametrize("result", ["a [truncated] b", "x" * 4096, "y" * (LONGEST + 1)])
def test_what_was_cut_makes_it_partial(result: str) -> None:
    """Then nothing is known to be new."""
    memory = Heard()
    memory.tool(step(result=result))
    memory.tool(step())

    assert memory.partial


def test_it_is_bounded_and_says_when_something_went() -> None:
    """However much is said, no more than the cap is kept, and a copy is independent."""
    memory = heard("the request")
    twin = memory.copy()
    for n in range(300):
        memory.tool(step(result=f"{n} " + "z" * 997))
    memory.tool(step())

    assert sum(map(len, memory.texts())) <= CAP
    assert memory.partial
    assert not twin.partial
    assert twin.texts() == ["the request"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("What is the price of the hotel and how can I book it for you?", "en"),
        ("Wie ist der Preis und wird das Hotel auch für eine Nacht gebucht?", "de"),
        ("¿Cuál es el precio del hotel y qué está más cerca de la playa?", "es"),
        ("酒店的价格是多少，我怎样才能为两个晚上预订一个靠近海边的房间呢，谢谢您", "cjk"),
        ("42", ""),
    ],
)
def test_a_language_is_told_by_its_commonest_words(text: str, code: str) -> None:
    """Or by its script; too little text tells nothing."""
    assert language(text) == code


def test_a_summary_covers_a_request() -> None:
    """Words count by their stems, whatever stands between them."""
    wanted = subject("Find hotels near the harbour in Lisbon for Anna")

    assert covered(wanted, "Anna needs one hotel by Lisbon's harbour; findings so far: none nearby") >= 0.5
    assert covered(wanted, "The weather is fine today") == 0
