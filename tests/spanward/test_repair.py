"""Repair of argument texts: what is repaired, what never is, and that nothing is invented or lost."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.facts import Schema, arguments_facts
from spanward.relaxed import DEVIATIONS, MAX_TOKENS, UnreadableError, read
from spanward.repair import DROPS_OR_GUESSES, REPAIRS, repair_arguments

ANY = Schema.of({"type": "object"})
TYPED = Schema.of(
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "flag": {"type": "boolean"},
            "name": {"type": "string"},
            "todos": {"type": "array", "items": {"$ref": "#/$defs/Todo"}},
            "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "either": {"type": ["string", "integer"]},
            "pick": {"enum": [1, 2]},
        },
        "$defs": {"Todo": {"type": "object", "properties": {"t": {"type": "string"}, "done": {"type": "boolean"}}}},
        "additionalProperties": False,
    }
)
NEEDS_PATH = Schema.of({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})

FORM = [
    (
        '{"prompt": "A timeline:\n- Event 1\n- Event 2"}',
        {"prompt": "A timeline:\n- Event 1\n- Event 2"},
        ["control_characters"],
    ),
    ('{"a": "tab\there"}', {"a": "tab\there"}, ["control_characters"]),
    ("{'query': 'test',}", {"query": "test"}, ["trailing_commas", "single_quotes"]),
    ('{"path": "a.md", "content": "hi",}', {"path": "a.md", "content": "hi"}, ["trailing_commas"]),
    ('{"a": [1, 2,], "b": {"c": 1 , } }', {"a": [1, 2], "b": {"c": 1}}, ["trailing_commas"]),
    ('```json\n{"a": 1}\n```', {"a": 1}, ["fences"]),
    ('  ```\n{"a": "```\\n"}\n```\n', {"a": "```\n"}, ["fences"]),
    ('{"a": 1, // one\n "b": /* two */ 2}', {"a": 1, "b": 2}, ["comments"]),
    ('{"a": 1} # done', {"a": 1}, ["comments"]),
    ('{"url": "http://x/*y*/#z"}', {"url": "http://x/*y*/#z"}, []),
    ("{'a': 'say \"hi\"', 'b': 'it\\'s'}", {"a": 'say "hi"', "b": "it's"}, ["single_quotes"]),
    ('{"a": "what\'s up", \'b\': 1}', {"a": "what's up", "b": 1}, ["single_quotes"]),
    ("{'a': True, 'b': None, 'c': [False]}", {"a": True, "b": None, "c": [False]}, ["single_quotes", "literal_object"]),
    ('{city: "Wien", $n: 1}', {"city": "Wien", "$n": 1}, ["bare_names"]),
    ('{"p": "\\d+\\.\\w", "q": "it\\\'s"}', {"p": "\\d+\\.\\w", "q": "it's"}, ["escapes"]),
    ('"{\\"a\\": 1}"', {"a": 1}, ["double_encoding"]),
    ('"\\"{\\\\\\"a\\\\\\": 1}\\""', {"a": 1}, ["double_encoding"]),
    ("\"{'a': 1,}\"", {"a": 1}, ["trailing_commas", "single_quotes", "double_encoding"]),
    ('{"id": 123456789012345678901234567890,}', {"id": 123456789012345678901234567890}, ["trailing_commas"]),
    ('{"query": "what\'s the weather"}', {"query": "what's the weather"}, []),
    ("", {}, []),
    (" \n", {}, []),
]

TYPES = [
    ('{"n": "35"}', {"n": 35}, ["quoted_scalar"]),
    ('{"n": "\\"35\\"", "x": "12"}', {"n": 35, "x": 12}, ["quoted_scalar"]),
    ('{"n": "-7"}', {"n": -7}, ["quoted_scalar"]),
    ('{"n": "123456789012345678901234567890"}', {"n": 123456789012345678901234567890}, ["quoted_scalar"]),
    ('{"x": "1.5"}', {"x": 1.5}, ["quoted_scalar"]),
    ('{"x": "1e3"}', {"x": 1000.0}, ["quoted_scalar"]),
    ('{"flag": "true"}', {"flag": True}, ["quoted_scalar"]),
    ('{"maybe": "null"}', {"maybe": None}, ["quoted_scalar"]),
    ('{"maybe": "4"}', {"maybe": 4}, ["quoted_scalar"]),
    ('{"pick": "2"}', {"pick": 2}, ["quoted_scalar"]),
    ('{"name": 42}', {"name": "42"}, ["unquoted_string"]),
    ('{"todos": "[{\\"t\\": \\"a\\"}]", "name": "42"}', {"todos": [{"t": "a"}], "name": "42"}, ["nested_json"]),
    ('{"todos": ["{\\"t\\": \\"a\\"}"]}', {"todos": [{"t": "a"}]}, ["nested_json"]),
    ('{"todos": [{"t": "a", "done": "false"}]}', {"todos": [{"t": "a", "done": False}]}, ["quoted_scalar"]),
    ('{"options": "{\\"depth\\": \\"3\\"}"}', {"options": {"depth": 3}}, ["nested_json", "quoted_scalar"]),
    ("{'n': '3',}", {"n": 3}, ["trailing_commas", "single_quotes", "quoted_scalar"]),
    ('{"either": "5", "name": "[1]"}', {"either": "5", "name": "[1]"}, []),
]

NEVER = [
    '{"path": "a.py", "content": "def f():\\n    retu', '{"path": "n.ipynb", "content": "{\\"cells\\": [', '{"a": 1',
    "{", '{"a": [1', '{"a": 1, "b"', '{"a": tr', '```json\n{"a": 1}', '{"a": 1 /* x', '{"pattern": "*.tmp',
    '{"a": 1}{"a": 2}', '{"a": 1}\n{"b": 2}', '{"a": 1}, {"b": 2}', '{"a": 1}}', '{"a": 1} and that is all',
    'Here: {"a": 1}', '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', '{"items": [{"score": NaN}]}',
    '{"a": Infinity}', '{"a": -Infinity}', '{"a": nan}', '{"a": undefined}', '{"a": 1, "a": 2}', "{'a': 1, \"a\": 2}",
    "{'q': 'what's up'}", "{'q': 'rock 'n' roll'}", '{"a": hello}', '{"a": 007}', '{"a": +1}', '{"a": 0x1f}',
    '{"a": 1_000}', '{"a": .5}', '{"a" 1}', '{"a": 1 "b": 2}', '{"a": 1,, "b": 2}', '{,}', '[,]', '{"a": (1, 2)}',
    '{"a": "\\x41"}', '{"a": "\\ud800"}', '{"a": 1e400}', "[1, 2]", "5", "null", '"text"', '"[1]"', "}", '{"a": 1]',
    "<a>1</a>", '{"{"tagIds": [1]}', '{\\n "a": 1}', "[" * 5_000, '{"a":' * 5_000,
]  # fmt: skip

UNFIT = [
    '{"n": "12.5"}', '{"n": "007"}', '{"n": "12a"}', '{"n": ""}', '{"n": "١٢"}', '{"n": 1.5}', '{"flag": "yes"}',
    '{"flag": 1}', '{"n": true}', '{"todos": "a, b"}', '{"todos": "[1, 2"}', '{"todos": "5"}', '{"name": 1.50}',
    '{"name": true}', '{"unknown": 1}', '{"n": null}', '{"x": "0.1234567890123456789012345"}', '{"x": "NaN"}',
    '{"options": "null"}', '{"name": ["a"]}',
]  # fmt: skip

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
objects = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), values, max_size=4)


@pytest.mark.parametrize(("raw", "arguments", "repairs"), FORM, ids=lambda v: str(v)[:30])
def test_slips_of_form_are_repaired(raw: str, arguments: dict[str, Any], repairs: list[str]) -> None:
    """Each slip that has one reading is read, with and without a schema, and named."""
    for schema in (ANY, None):
        repaired = repair_arguments(raw, schema=schema)

        assert repaired is not None
        assert repaired.arguments == arguments
        assert list(repaired.repairs) == repairs
        assert json.loads(repaired.text) == arguments


@pytest.mark.parametrize(("raw", "arguments", "repairs"), TYPES, ids=lambda v: str(v)[:30])
def test_values_get_the_type_that_the_schema_asks_for(raw: str, arguments: dict[str, Any], repairs: list[str]) -> None:
    """A value is retyped only where its schema demands it and no digit is lost; strings that may be strings stay."""
    repaired = repair_arguments(raw, schema=TYPED)

    assert repaired is not None
    assert repaired.arguments == arguments
    assert [type(value) for value in repaired.arguments.values()] == [type(value) for value in arguments.values()]
    assert list(repaired.repairs) == repairs


@pytest.mark.parametrize("raw", NEVER, ids=lambda v: v[:30])
def test_what_has_no_single_reading_is_never_repaired(raw: str) -> None:
    """Cut off, concatenated, duplicate, not finite, ambiguous or not an object: the model is asked again."""
    assert repair_arguments(raw, schema=ANY) is None
    assert repair_arguments(raw, schema=None) is None
    assert repair_arguments(raw, schema=ANY, writes=True) is None
    assert arguments_facts(raw, schema=ANY).repairs == ()


@pytest.mark.parametrize("raw", UNFIT, ids=lambda v: v[:30])
def test_what_does_not_fit_the_schema_is_not_forced(raw: str) -> None:
    """A value that would lose something by the change is left to the model, and so is the whole call."""
    assert repair_arguments(raw, schema=TYPED) is None


def test_missing_arguments_are_not_made_up() -> None:
    """Empty arguments are an empty object only for a tool that needs none."""
    assert repair_arguments("", schema=NEEDS_PATH) is None
    assert repair_arguments("{,}", schema=NEEDS_PATH) is None
    repaired = repair_arguments('{"path": "a",}', schema=NEEDS_PATH)
    assert repaired is not None
    assert repaired.arguments == {"path": "a"}


def test_only_allowed_repairs_are_used() -> None:
    """A repair that was not allowed and is needed means no repair at all."""
    raw = "{'a': 1,}"

    assert repair_arguments(raw, schema=ANY, allowed=("single_quotes",)) is None
    assert repair_arguments(raw, schema=ANY, allowed=("single_quotes", "trailing_commas")) is not None
    assert repair_arguments('{"n": "3"}', schema=TYPED, allowed=("nested_json",)) is None
    assert repair_arguments('{"n": 3}', schema=TYPED, allowed=()) is not None


@pytest.mark.parametrize("raw", ['{"a": 1, /* not now */ "b": 2}', '{"a": "C:\\dir"}'])
def test_a_tool_that_writes_gets_no_repair_that_drops_or_guesses(raw: str) -> None:
    """Comments are bytes that were dropped, stray backslashes bytes that may mean something else."""
    repaired = repair_arguments(raw, schema=ANY)

    assert repaired is not None
    assert set(repaired.repairs) <= DROPS_OR_GUESSES
    assert repair_arguments(raw, schema=ANY, writes=True) is None


def test_the_models_own_order_of_names_is_kept() -> None:
    """The repaired text reads like the model's own."""
    repaired = repair_arguments("{'z': 1, 'a': 'ü'}", schema=ANY)

    assert repaired is not None
    assert repaired.text == '{"z": 1, "a": "ü"}'


def test_the_ladder_names_every_repair_once() -> None:
    """Directives name repairs; the names are unique and the slips of form come first."""
    assert len(set(REPAIRS)) == len(REPAIRS)
    assert REPAIRS[: len(DEVIATIONS)] == DEVIATIONS


@given(objects, st.sampled_from([None, 2]), st.booleans())
def test_valid_arguments_are_never_touched(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    """Strict JSON comes back as it is, apostrophes and large integers included."""
    repaired = repair_arguments(json.dumps(value, indent=indent, ensure_ascii=ascii_only), schema=None)

    assert repaired is not None
    assert repaired.arguments == value
    assert repaired.repairs == ()


@given(objects)
def test_python_literals_read_as_what_they_are(value: dict[str, Any]) -> None:
    """The way Python prints an object is read without loss, or not at all."""
    repaired = repair_arguments(repr(value), schema=None)

    assert repaired is None or repaired.arguments == value


@given(objects)
def test_fences_commas_and_raw_line_ends_change_nothing(value: dict[str, Any]) -> None:
    """Slips round a valid object give that object."""
    text = json.dumps(value, ensure_ascii=False)
    slipped = "```json\n" + (text[:-1] + ",}" if value else text).replace("\\n", "\n") + "\n```"
    repaired = repair_arguments(slipped, schema=None)

    # A backslash before the n was content, not a line end: then only the outcome "none" or the same value is right.
    if "\\\\n" not in text:
        assert repaired is not None
        assert repaired.arguments == value


@given(objects, st.data())
def test_a_cut_text_is_never_completed(value: dict[str, Any], data: st.DataObject) -> None:
    """No proper beginning of an object is repaired, whatever it ends in."""
    text = json.dumps(value, ensure_ascii=False)
    cut = text[: data.draw(st.integers(min_value=1, max_value=len(text) - 1))]

    assert repair_arguments(cut, schema=None) is None


@given(objects, objects)
def test_two_objects_are_never_merged(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Concatenated calls are two calls, and neither is dropped in silence."""
    for between in ("", "\n", ",", " "):
        assert repair_arguments(json.dumps(one) + between + json.dumps(other), schema=None) is None


@given(st.text(alphabet="{}[]\"',:\\/*#` \nabtfnuTF019.-", max_size=60))
def test_what_is_read_from_noise_holds_only_what_was_written(raw: str) -> None:
    """Every string and number of a repaired value stands in the text that it came from."""
    repaired = repair_arguments(raw, schema=None)
    if repaired is None or "\\" in raw:
        return
    pending: list[Any] = [repaired.arguments]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += [*value, *value.values()]
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str):
            assert value in raw
        elif value is not None:
            assert str(value).lower() in raw.lower() or isinstance(value, float) or value == 0


@pytest.mark.parametrize(
    "raw",
    [
        "'" * 250_000, "{'a':" * 20_000, '{"a": "' + "\n" * 230_000 + '"}', "//" * 250_000, "/*" * 250_000,
        "\\" * 250_000, "," * 250_000, "```\n" * 60_000, "{" + "'a':1," * 30_000 + "}", " " * 250_000, "-" * 250_000,
    ],
    ids=lambda v: v[:6],
)  # fmt: skip
def test_hostile_arguments_cost_no_time(raw: str) -> None:
    """One pass, whatever the text."""
    started = time.thread_time()
    repair_arguments(raw, schema=ANY)

    assert time.thread_time() - started < 5


def test_very_long_texts_are_refused_unread() -> None:
    """Beyond a quarter of a mebibyte nobody repairs."""
    with pytest.raises(UnreadableError):
        read("{'a': '" + "x" * (1 << 18) + "'}")


def test_a_text_of_countless_pieces_is_given_up() -> None:
    """A list of half as many values as may be is repaired; one of more than that is left to the model."""
    piece = MAX_TOKENS // 4
    assert repair_arguments(f'{{"a": [{"1," * piece}]}}', schema=None) is not None
    with pytest.raises(UnreadableError):
        read(f'{{"a": [{"1," * 3 * piece}]}}')
