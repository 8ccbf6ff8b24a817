"""Facts of arguments and answers, and the schemas behind them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.facts import ArgumentsFacts, Schema, answer_facts, arguments_facts
from spanward.facts.claims import _DONE, _STANDBY, claims_in
from spanward.facts.compute import MARKS
from spanward.facts.phrases import ADMISSIONS, DENIALS
from spanward.repair import REPAIRS
from spanward.semconv import ARGUMENT_FORMS

CITY = Schema.of(
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
            "unit": {"enum": ["c", "f"]},
            "where": {"type": "object", "properties": {"zip": {"type": "string", "pattern": "^[0-9]+$"}}},
        },
        "required": ["city"],
    }
)
NO_KEYS = Schema.of({"type": "object", "properties": {}})


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        ('{"query": "what\'s the weather"}', "ok"), ("{}", "ok"), (' {"a": 1}\n', "ok"), ({"a": 1}, "ok"),
        ('{"id": 123456789012345678901234567890}', "ok"), (None, "empty"), ("", "empty"), (" \n", "empty"),
        ("{'query': 'test',}", "malformed"), ('{"a": 1,}', "malformed"),
        ('{"prompt": "A timeline:\n- 1\n- 2"}', "malformed"), ('{"a": 1}{"a": 2}', "malformed"),
        ('{"a": 1, "a": 2}', "malformed"), ("city=Berlin", "malformed"), ("}", "malformed"),
        ('```json\n{"a": 1}\n```', "malformed"), ('{"a" 1}', "malformed"), ('{"a": "\\ud800"}', "malformed"),
        ("{'q': 'it's'}", "malformed"), ('{"path": "a.py", "content": "def f():\\n    retu', "truncated"),
        ('{"a": 1', "truncated"), ('{"a":', "truncated"), ('{"a": [1, 2', "truncated"), ("{", "truncated"),
        ('{"a": tru', "truncated"), ('{"a": "x\\', "truncated"), ('{"a": -', "truncated"),
        ('{"items": [{"score": NaN}]}', "non_finite"), ('{"a": -Infinity}', "non_finite"),
        ({"a": float("nan")}, "non_finite"), ('"{\\"a\\": 1}"', "double_encoded"), ('"just text"', "not_object"),
        ("[1]", "not_object"), ("5", "not_object"), ("null", "not_object"),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_the_form_of_arguments(raw: Any, form: str) -> None:
    """Each way in which an argument text can be wrong has its name."""
    assert arguments_facts(raw).form == form
    assert form in ARGUMENT_FORMS


@pytest.mark.parametrize(
    ("raw", "repairs"),
    [
        ("{'city': 'test',}", ("trailing_commas", "single_quotes")),
        ('{"city": "a", "days": "3"}', ("quoted_scalar",)),
        ('{"city": "a", "tags": "[\\"x\\"]"}', ("nested_json",)),
        ('"{\\"city\\": \\"a\\"}"', ("double_encoding",)),
        ('{"city": "a", "days": "three"}', ()),
        ('{"city": "a"', ()),
        ("{'days': 3,}", ()),
        ('{"city": "a"}', ()),
    ],
)
def test_repairs_that_would_help_are_named(raw: str, repairs: tuple[str, ...]) -> None:
    """The detector learns that a repair exists without seeing the arguments; one that would not fit is not named."""
    assert arguments_facts(raw, schema=CITY).repairs == repairs
    assert set(repairs) <= set(REPAIRS)


@pytest.mark.parametrize(
    ("raw", "violation"),
    [
        ('{"city": "a"}', ""),
        ("{}", "required:/city"),
        ("", "required:/city"),
        (None, "required:/city"),
        ('{"city": 5.5}', "type:/city"),
        ('{"city": "a", "days": true}', "type:/days"),
        ('{"city": "a", "days": 0}', "minimum:/days"),
        ('{"city": "a", "days": 1e400}', ""),
        ('{"city": "a", "tags": ["x", 1]}', "type:/tags/1"),
        ('{"city": "a", "unit": "k"}', "enum:/unit"),
        ('{"city": "a", "where": {"zip": "x"}}', "pattern:/where/zip"),
        ('{"city": "a", "town": "b"}', "undeclared:"),
        ('{"town": "b", "days": 0}', "minimum:/days"),
        ('{"days": 0, "town": "b"}', "minimum:/days"),
    ],
)
def test_the_first_violation_is_named_without_content(raw: str | None, violation: str) -> None:
    """Keyword and place, the same for every order of names; invented parameters are seen, their names are not told."""
    assert arguments_facts(raw, schema=CITY).schema == violation


def test_no_arguments_for_a_tool_without_parameters_are_fine() -> None:
    """An empty string means an empty object where nothing is required."""
    assert arguments_facts("", schema=NO_KEYS) == ArgumentsFacts("empty", (), "")
    assert arguments_facts("", schema=None) == ArgumentsFacts("empty", (), "")


@pytest.mark.parametrize(
    ("facts", "label"),
    [
        (ArgumentsFacts(), "ok"),
        (ArgumentsFacts("ok", (), "type:/a"), "schema"),
        (ArgumentsFacts("truncated"), "truncated"),
    ],
)
def test_one_word_for_a_call(facts: ArgumentsFacts, label: str) -> None:
    """The label tells form and schema apart in one word."""
    assert facts.label == label


def test_names_that_the_schema_does_not_declare_are_left_out() -> None:
    """A pointer through an open object does not tell the model's own names."""
    schema = Schema.of({"type": "object", "properties": {"m": {"additionalProperties": {"type": "integer"}}}})

    assert schema.first_violation({"m": {"secret": "x"}}) == "type:/m/*"


def test_a_schema_that_does_not_compile_accepts_everything() -> None:
    """The tool's author erred, not the model; nothing is fetched from anywhere."""
    for source in (
        {"$ref": "https://example.invalid/x.json"},
        {"type": "nonsense"},
        {"pattern": "("},
        {"$ref": "#/none"},
    ):
        assert Schema.of(source).first_violation({"a": 1}) == ""


def test_patterns_with_lookaround_work_within_a_budget() -> None:
    """Patterns beyond the linear engine are used too, evil ones end."""
    assert Schema.of({"type": "string", "pattern": "^(?!x)"}).first_violation("xa") == "pattern:"
    assert Schema.of({"type": "string", "pattern": "^(?!x)(a+)+$"}).first_violation("a" * 5_000 + "!") in {
        "",
        "pattern:",
    }


def test_equal_schemas_share_one_compiled_object() -> None:
    """The order of names in a schema does not matter; a schema without canonical form still compiles."""
    one = Schema.of({"type": "object", "required": ["a"]})

    assert one is Schema.of({"required": ["a"], "type": "object"})
    assert Schema.of({"const": float("nan"), "type": "object"}).first_violation([]) in {"", "const:", "type:"}


@pytest.mark.parametrize(
    ("source", "undeclared"),
    [
        ({"properties": {"a": {}}}, True), ({"properties": {"a": {}}, "additionalProperties": True}, False),
        ({"properties": {}}, False), ({}, False), ({"properties": {"a": {}}, "anyOf": [{}]}, False),
        ({"properties": {"a": {}, "b": {}}}, False),
        ({"properties": {"a": {}}, "patternProperties": {"b": {}}}, False),
    ],
)  # fmt: skip
def test_undeclared_names_count_only_where_the_schema_is_closed_in_spirit(
    source: dict[str, Any], undeclared: bool
) -> None:
    """A schema that lists parameters and says nothing of others means those; one that opens itself does not."""
    assert Schema.of(source).undeclared({"a": 1, "b": 2}) is undeclared


def test_thirty_digit_integers_are_integers() -> None:
    """Exactness does not end at 64 bits."""
    schema = Schema.of({"type": "object", "properties": {"id": {"type": "integer"}}})

    assert arguments_facts('{"id": 123456789012345678901234567890}', schema=schema) == ArgumentsFacts()


@given(st.text(max_size=200) | st.dictionaries(st.text(max_size=5), st.integers() | st.floats() | st.text(max_size=9)))
def test_any_arguments_give_facts(raw: Any) -> None:
    """No text and no mapping raises."""
    facts = arguments_facts(raw, schema=CITY)

    assert facts.form in ARGUMENT_FORMS
    assert set(facts.repairs) <= set(REPAIRS)


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.booleans() | st.none(), min_size=1), st.data())
def test_every_cut_of_an_object_is_truncated(value: dict[str, Any], data: st.DataObject) -> None:
    """Wherever the output limit cuts an object, it is called cut off and nothing would repair it."""
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(min_value=1, max_value=len(text) - 1))]

    assert arguments_facts(cut) == ArgumentsFacts("truncated")


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "admits"),
    [
        ("It is sunny in Beijing.", False), ("The report is ready and saved.", False), ("Es ist sonnig.", False),
        ("I issued the refund without errors.", False), ("Heavy rainfall.", False),
        ("Kein Problem, alles ist fertig, keine Fehler.", False), ("一切正常", False),
        ("Sorry, I could not reach the service.", True), ("The lookup failed, so I estimate.", True),
        ("Leider ist das nicht möglich.", True), ("Lo siento, no se pudo completar.", True),
        ("Désolé, le service est indisponible.", True), ("很抱歉，查询失败。", True),
        ("Helaas is het mislukt.", True), ("Sajnos hiba történt.", True), ("申し訳ありません。", True),
        ("I wasn’t able to do that.", True), ("x" * 50_000 + " unfortunately", True),
        ("Infelizmente não foi possível.", True), ("Purtroppo non è disponibile.", True),
    ],
)  # fmt: skip
def test_an_answer_that_owns_up_is_seen(text: str, admits: bool) -> None:
    """An answer that speaks of the failure itself does not ignore it, in any of the languages."""
    assert answer_facts(text).admits_failure is admits


_WORDING = st.sampled_from([
    *ADMISSIONS, *DENIALS, "I've sent", "ready when you are", "ich habe das Ticket", "gebucht", "elküldtem", "已经发送",
    "ho inviato", "the", "ñ", "Ünable", " ", ".", "\n", *MARKS,
])  # fmt: skip


@given(st.lists(_WORDING, max_size=12).map("".join))
def test_marks_and_alphabets_change_no_fact_of_an_answer(text: str) -> None:
    """The short cuts for text in ASCII, and for English with dashes and quotes, say what a full search says."""
    lower = text.lower().replace("’", "'")
    denied = lower
    for words in DENIALS:
        denied = denied.replace(words, " ")
    admits = any(word in lower for word in ADMISSIONS) and any(word in denied for word in ADMISSIONS)
    facts = answer_facts(text)
    if text.strip():
        assert (facts.admits_failure, facts.claims) == (admits, claims_in(lower))


def test_no_wording_holds_a_typographic_mark() -> None:
    """Else a text without its marks would say something else."""
    wording = "".join([*ADMISSIONS, *DENIALS, *_STANDBY, *(opening + rest.pattern for opening, rest in _DONE)])
    assert not set(MARKS) & set(wording)


def test_answer_facts() -> None:
    """Size in bytes, emptiness, and JSON as a whole."""
    assert answer_facts(None) == answer_facts("")
    assert answer_facts(None)[:3] == (0, True, None)
    assert answer_facts(" \n").empty
    assert answer_facts('{"a": 1}', json_expected=True)[2:4] == (True, True)
    assert answer_facts('```json\n{"a": 1}\n```').is_json is False
    assert answer_facts("NaN").is_json is False
    assert answer_facts("é").size == 2


@pytest.mark.parametrize("blank", ["\u2003", "\x1c", "\u00a0", "\u2028"])
def test_white_space_that_json_does_not_know_is_no_json(blank: str) -> None:
    """Around arguments only the white space of JSON is fine; any other is malformed, as to every parser."""
    assert arguments_facts(' \t\r\n{"a": 1} \n').form == "ok"
    assert arguments_facts('{"a": 1}' + blank).form == "malformed"
    assert arguments_facts(blank + '{"a": 1}').form == "malformed"


def test_types_that_are_no_names_are_left_out() -> None:
    """A schema may say anything where it should name a type."""
    schema = Schema.of({"type": [["object"], "null", 5], "properties": {}})

    assert schema.types(schema.source) == {"null"}
