"""One canonical JSON and its digests."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.canonical import MAX_DEPTH, NotCanonicalError, parse
from spanward.facts import canonical_json, canonical_of_text, digest, text_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
big = st.integers(min_value=-(10**40), max_value=10**40)
finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | big | finite | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    id: int
    note: str | None = None


@given(values)
def test_an_object_and_its_text_have_one_canonical_form(value: Any) -> None:
    """Whatever writes the JSON, reading it back gives the same bytes."""
    canonical = canonical_json(value)

    assert canonical is not None
    assert canonical == canonical_of_text(json.dumps(value))
    assert canonical == canonical_of_text(json.dumps(value, ensure_ascii=False, indent=3))
    assert canonical == canonical_of_text(canonical.decode())


@given(values)
def test_canonical_json_reads_back_as_the_same_value(value: Any) -> None:
    """Nothing is lost: integers keep their digits, doubles their bits."""
    canonical = canonical_json(value)

    assert canonical is not None
    assert json.loads(canonical) == value
    assert parse(canonical.decode()) == value


@given(st.dictionaries(texts, scalars, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_names_does_not_count(value: dict[str, Any], random: Any) -> None:
    """Two objects that differ in the order of their names have one digest."""
    items = list(value.items())
    random.shuffle(items)

    assert canonical_json(dict(items)) == canonical_json(value)
    assert digest(json.dumps(dict(items))) == digest(value)


@given(st.integers(min_value=10**16, max_value=10**30))
def test_neighbouring_large_integers_differ(number: int) -> None:
    """Ids that differ in the last of thirty digits are two ids, in text and as objects."""
    assert digest({"id": number}) != digest({"id": number + 1})
    assert digest(f'{{"id": {number}}}') != digest(f'{{"id": {number + 1}}}')
    assert digest(f'{{"id": {number}}}') == digest({"id": number})


@given(values)
def test_digest_of_object_and_of_text_agree(value: Any) -> None:
    """Both sides of the wire see the same call, with and without a key."""
    if isinstance(value, str):
        return  # a string is taken as text, not as a value
    for key in (None, b"secret"):
        assert digest(value, key) == digest(json.dumps(value), key)
        assert digest(value, key) == digest(text_of(value), key)


@pytest.mark.parametrize(
    "text",
    [
        "NaN", '{"a": NaN}', "[Infinity]", "-Infinity", "1e400", "1" * 400, '{"a": "\\ud800"}', '"\ud800"',
        '{"a":1,"a":2}', '{"a" :1,"a":2}', '{"a":1,"\\u0061":2}', "{'a': 1}", '{"a": 1,}', "", "   ", "nothing", "{",
        '{"a":1}{"b":2}', "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "[" * 100_000, "\ufeff{}", "01", "+1", ".5",
        '"\t"',
    ],
)  # fmt: skip
def test_what_is_not_json_has_a_raw_digest_of_its_bytes(text: str) -> None:
    """No canonical form is invented for text that parsers do not agree on."""
    assert canonical_of_text(text) is None
    assert digest(text) == "raw:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    with pytest.raises(NotCanonicalError):
        parse(text)


@pytest.mark.parametrize(
    "value",
    [
        math.nan, {"a": [1, math.inf]}, [None, math.nan], "\ud800", {"\ud800": 1}, {1: "a"}, {1, 2}, b"x", 10**400,
        Order(1), [Order(1, None)], complex(1, 2), pytest.param(object(), id="object"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_not_json_has_no_canonical_form(value: object) -> None:
    """NaN, lone surrogates and other types are refused, and still have a digest that can be taken twice."""
    assert canonical_json(value) is None
    assert digest(value) == digest(value)
    assert digest(value) == digest(text_of(value))


@pytest.mark.parametrize(
    ("value", "same_as"),
    [
        ((1, 2), "[1,2]"),
        (OrderedDict(b=1, a=2), '{"a":2,"b":1}'),
        (Colour.RED, '"red"'),
        ({"level": Level.HIGH, "id": 10**30}, '{"id":1000000000000000000000000000000,"level":3}'),
        (uuid.UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        ([uuid.UUID(int=5), None], '["00000000-0000-0000-0000-000000000005",null]'),
        (Point(1, 2), "[1,2]"),
        (1e16, "1e+16"),
        ({"a": 1e22, "b": None}, '{"a":1e+22,"b":null}'),
        (True, "true"),
        (-0.0, "-0.0"),
    ],
)
def test_close_relatives_of_json_values_are_taken_as_them(value: object, same_as: str) -> None:
    """Tuples, ordered dictionaries, enum members and UUIDs have one obvious form."""
    canonical = canonical_json(value)

    assert canonical is not None
    assert canonical.decode() == same_as


def test_depth_is_the_same_limit_for_objects_and_text() -> None:
    """The deepest allowed nesting passes both ways, one more fails both ways; with big integers too."""
    for leaf in (1, 10**30):
        fits: Any = leaf
        for _ in range(MAX_DEPTH):
            fits = [fits]

        assert canonical_json(fits) == canonical_of_text("[" * MAX_DEPTH + str(leaf) + "]" * MAX_DEPTH) is not None
        assert canonical_json([fits]) is None


def test_a_key_makes_the_digest_an_hmac() -> None:
    """With a key neither JSON nor raw digests can be guessed from a list of likely values."""
    assert digest({"pin": 1234}, b"k").startswith("hmac-sha256:")
    assert digest("no json", b"k").startswith("raw:")
    assert digest("no json", b"k") != digest("no json") != digest("no json", b"l")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as is", "as is"),
        (None, "null"),
        ({"b": 1, "a": [1.5, None]}, '{"a":[1.5,null],"b":1}'),
        (b"bytes", "bytes"),
        (Order(7), '{"id":7,"note":null}'),
        ({1: "a"}, '{"1":"a"}'),
        ({"x": math.nan}, '{"x":NaN}'),
        ({"s": {3, 1}}, '{"s":[1,3]}'),
    ],
    ids=repr,
)
def test_text_of_a_value_is_what_telemetry_would_carry(value: object, text: str) -> None:
    """Objects that describe themselves become JSON, NaN stays NaN, strings stay untouched."""
    assert text_of(value) == text


def test_memory_addresses_do_not_make_two_results_of_one() -> None:
    """Two plain objects of one class look the same, so that a loop that returns them is seen."""
    assert digest(object()) == digest(object())


def test_text_of_survives_objects_that_cannot_be_written() -> None:
    """A broken ``__str__`` or a circle gives a text, not an exception."""

    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    circle: list[Any] = []
    circle.append(circle)

    assert "Broken" in text_of(Broken())
    assert text_of(circle)
