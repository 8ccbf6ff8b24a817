"""What arguments may be: plain values and patterns, and the same verdict at the gate and in the detector."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from spanward.facts import text_of
from spanward.facts.allow import (
    MAX_TEXT,
    MAX_TEXTS,
    ArgumentRule,
    PatternError,
    compiled,
    first_forbidden,
    limits_of,
    read,
)
from spanward.policy_cache import CallLists
from spanward.ports import PolicyUpdate

RULES = {
    "to": ArgumentRule(("/.*@example\\.com/", "boss"), ("/no-reply@.*/",)),
    "amount": ArgumentRule((), ("1000000", "true")),
}


def fits(text: str, written: str) -> bool:
    """Whether a text is the value, or is matched as a whole by the pattern."""
    pattern = compiled(written)
    return text == written if pattern is None else pattern.fullmatch(text[:MAX_TEXT]) is not None


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


@pytest.fixture
def no_re2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in which ``re2`` cannot be imported."""
    real = builtins.__import__

    def without(name: str, *more: Any, **options: Any) -> Any:
        if name == "re2":
            raise ImportError(name)
        return real(name, *more, **options)

    compiled.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    yield
    compiled.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        ({"to": "boss"}, ""),
        ({"to": "a@example.com"}, ""),
        ({"to": "a@example.com.evil.test"}, "to"),
        ({"to": "no-reply@example.com"}, "to"),
        ({"to": ["boss", "a@example.com"]}, ""),
        ({"to": ("boss", "eve")}, "to"),
        ({"to": [["boss", ["eve"]]]}, "to"),
        ({"to": {"boss"}}, ""),
        ({"to": {"eve": "boss"}}, "to"),
        ({"to": None}, ""),
        ({"to": [None, "boss"]}, ""),
        ({"to": []}, ""),
        ({}, ""),
        ({"to": "boss\ud800"}, "to"),
        ({"to": b"boss"}, ""),
        ({"amount": 1_000_000}, "amount"),
        ({"amount": "1000000"}, "amount"),
        ({"amount": [3, [1_000_000]]}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": 5, "to": "boss"}, ""),
        ({"amount": 1.5}, ""),
    ],
)
def test_an_argument_has_to_fit(arguments: dict[str, Any], forbidden: str) -> None:
    """Each of its values is allowed and none is denied; what was not given breaks no rule."""
    assert first_forbidden(arguments, limits_of(RULES)) == forbidden


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Colour.RED, "red"),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (Point(3), '{"x":3}'),
        (Path("/etc/passwd"), "/etc/passwd"),
        (10**40, str(10**40)),
        ({"b": 1, "a": [True]}, '{"a":[true],"b":1}'),
        (float("nan"), "NaN"),
    ],
    ids=str,
)
def test_values_of_other_types_are_judged_by_their_text(value: object, text: str) -> None:
    """As the detector gets to see them, without the quotes of JSON around a text."""
    limits = limits_of({"x": ArgumentRule((text,))})

    assert first_forbidden({"x": value}, limits) == ""
    assert first_forbidden({"x": [value, "other"]}, limits) == "x"


def test_what_is_too_much_to_look_at_is_on_no_list() -> None:
    """A long text and a long list are not allowed where something is; a deny list is asked of what is looked at."""
    allow = limits_of({"x": ArgumentRule(("/a*/",))})
    deny = limits_of({"x": ArgumentRule((), ("b",))})

    assert [first_forbidden({"x": "a" * n}, allow) for n in (MAX_TEXT, MAX_TEXT + 1)] == ["", "x"]
    assert [first_forbidden({"x": ["a"] * n}, allow) for n in (MAX_TEXTS, MAX_TEXTS + 1)] == ["", "x"]
    assert first_forbidden({"x": ["a"] * (MAX_TEXTS - 1) + ["b"]}, deny) == "x"
    assert first_forbidden({"x": ["a"] * MAX_TEXTS * 2}, deny) == ""


def test_a_hostile_value_is_judged_quickly_and_never_raises() -> None:
    """Deep nesting, an object that cannot be written, digits without end, and a pattern that would hang ``re``."""
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]

    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

        __repr__ = __str__

    limits = limits_of({"x": ArgumentRule(("/(a+)+/",))})
    for value in (deep, Broken(), [Broken()], 10**5000, "a" * 4000 + "!", "\udfff", "\x00"):
        assert first_forbidden({"x": value}, limits) == "x"


def test_without_re2_plain_values_are_kept_and_patterns_are_left_out(no_re2: None) -> None:
    """Only what no pattern could change is forbidden: the detector judges the rest."""
    limits = limits_of({**RULES, "only": ArgumentRule(("/a+/",)), "never": ArgumentRule((), ("/a+/",))}, lenient=True)

    assert first_forbidden({"to": "eve"}, limits) == ""
    assert first_forbidden({"to": "no-reply@example.com", "only": "b", "never": "a"}, limits) == ""
    assert first_forbidden({"amount": 1_000_000}, limits) == "amount"
    assert first_forbidden({"to": "a" * (MAX_TEXT + 1)}, limits) == "to"
    with pytest.raises(ImportError):
        limits_of(RULES)


def test_a_pattern_that_is_none_is_left_out_only_by_the_gate() -> None:
    """A policy of ours cannot have one; what a foreign detector sends is no reason to fall."""
    rules = {"x": ArgumentRule(("/(/",), ("b",))}

    assert first_forbidden({"x": "b"}, limits_of(rules, lenient=True)) == "x"
    assert first_forbidden({"x": "a"}, limits_of(rules, lenient=True)) == ""
    with pytest.raises(PatternError):
        limits_of(rules)


_words = st.sampled_from(["a", "b", "boss", "1", "1.5", "true", "", "é", "[1]", "/", "//", "12345678901234567890123"])
_texts = _words | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts
    | st.integers(min_value=10**18, max_value=10**30)
)  # fmt: skip
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=3), max_leaves=8
)
_calls = st.dictionaries(st.sampled_from(["x", "y"]), _values)


@st.composite
def _ruled(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, ArgumentRule]]:
    """A call, and rules of which some name what is in it."""
    call = draw(_calls)
    near = [text_of(value) for value in call.values()] + [
        text_of(item) for value in call.values() if isinstance(value, list) for item in value
    ]
    entries = st.lists(_texts | st.sampled_from(near or ["a"]), max_size=3).map(tuple)
    rules = draw(st.dictionaries(st.sampled_from(["x", "y"]), st.builds(ArgumentRule, entries, entries)))
    return call, rules


def _plain(rules: dict[str, ArgumentRule]) -> bool:
    return not any(len(v) > 2 and v[0] == v[-1] == "/" for r in rules.values() for v in (*r.allow, *r.deny))


@given(_ruled())
def test_gate_and_detector_judge_alike(ruled: tuple[dict[str, Any], dict[str, ArgumentRule]]) -> None:
    """The gate judges what it holds, the detector what came over the wire as text; plain values need no RE2."""
    call, rules = ruled
    assume(_plain(rules))
    gate = CallLists.of(PolicyUpdate("v", arguments={"t": rules}))
    said = gate.outside("t", call) if gate is not None else ""

    assert said.removeprefix("argument ") == first_forbidden(read(text_of(call)), limits_of(rules))


@given(_texts, st.lists(_texts | st.sampled_from(["/a*/", "/.+/", "/[0-9]+/"]), max_size=3), st.booleans())
def test_a_list_holds_what_fits_one_of_its_entries(text: str, entries: list[str], denied: bool) -> None:
    """A list is no more than its entries, each asked alone."""
    rule = ArgumentRule((), tuple(entries)) if denied else ArgumentRule(tuple(entries))
    try:
        on_it = any(fits(text, entry) for entry in entries)
    except PatternError:
        return
    forbidden = on_it if denied else bool(entries) and not on_it

    assert first_forbidden({"x": text}, limits_of({"x": rule})) == ("x" if forbidden else "")
