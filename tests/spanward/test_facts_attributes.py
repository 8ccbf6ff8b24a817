"""Facts as attributes: they round-trip, they are the same for a value and its text, and they carry no content."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from spanward.facts import (
    AnswerFacts,
    ArgumentsFacts,
    Facts,
    ResultFacts,
    Schema,
    answer_facts,
    arguments_facts,
    canonical_json,
    facts_from_attributes,
    facts_to_attributes,
    result_facts,
    text_of,
)
from spanward.repair import REPAIRS
from spanward.semconv import ARGUMENT_FORMS, CLAIMS, ERROR_SIGNS, INJECTION_SIGNS, SECRET_KINDS

CANARY = "kanarienvogel"

counts = st.integers(min_value=0, max_value=2**40)
pointers = st.sampled_from(["", "type:/a", "required:/b~1c", "undeclared:"])
optional = st.none() | st.booleans()
results = st.builds(
    lambda sign, signature, **rest: ResultFacts(**rest, error=sign, signature=signature if sign else ""),
    sign=st.sampled_from(["", *ERROR_SIGNS]),
    signature=st.from_regex("[0-9a-f]{12}", fullmatch=True),
    size=counts,
    empty=st.booleans(),
    is_json=optional,
    json_expected=st.booleans(),
    schema=pointers,
    exit_code=st.none() | st.integers(min_value=-255, max_value=255),
    status=st.none() | st.integers(min_value=400, max_value=599),
    injection=st.sampled_from(["", *INJECTION_SIGNS]),
    secret=st.sampled_from(["", *SECRET_KINDS]),
)
arguments = st.builds(
    ArgumentsFacts,
    form=st.sampled_from(ARGUMENT_FORMS),
    repairs=st.lists(st.sampled_from(REPAIRS), max_size=3, unique=True).map(tuple),
    schema=pointers,
    secret=st.sampled_from(["", *SECRET_KINDS]),
)
answers = st.builds(
    AnswerFacts,
    size=counts,
    empty=st.booleans(),
    is_json=optional,
    json_expected=st.booleans(),
    admits_failure=st.booleans(),
    claims=st.lists(st.sampled_from(CLAIMS), unique=True).map(tuple),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.sampled_from(
    ["error", "status", "success", "ok", "failed", "code", "exit_code", "message", "data", "a", "content"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | texts, inner, max_size=4),
    max_leaves=8,
)


@given(st.none() | results, st.none() | arguments, st.none() | answers)
def test_facts_survive_the_way_as_attributes(
    result: ResultFacts | None, argument: ArgumentsFacts | None, answer: AnswerFacts | None
) -> None:
    """What the gate writes is what the detector reads."""
    attributes = facts_to_attributes(result=result, arguments=argument, answer=answer)

    assert facts_from_attributes(attributes.get) == Facts(result, argument, answer)
    assert all(type(value) in (str, int, bool, list) for value in attributes.values())


def test_values_of_a_wrong_type_count_as_absent() -> None:
    """Attributes made by somebody else do not crash the reader."""
    assert facts_from_attributes(lambda key: object()) == Facts()
    assert facts_from_attributes(lambda key: 5).result == ResultFacts(5, False, None, False, "", "", "", 5, 5)
    assert facts_from_attributes(lambda key: "x").arguments == ArgumentsFacts("x", (), "x", "x")


@given(json_values)
def test_facts_of_a_result_are_those_of_its_text(value: Any) -> None:
    """The gate sees a Python object, the detector the text that was recorded of it."""
    assert result_facts(value) == result_facts(text_of(value))
    assert result_facts(value, foreign_text=True) == result_facts(text_of(value), foreign_text=True)


@given(json_values)
def test_facts_do_not_depend_on_how_json_was_written(value: Any) -> None:
    """White space and escapes of another serialiser change the size and nothing else."""
    assume(canonical_json(value) is not None and not isinstance(value, str))

    assert result_facts(value)._replace(size=0) == result_facts(json.dumps(value, indent=1))._replace(size=0)


@given(st.dictionaries(words | texts, json_values, max_size=4))
def test_facts_of_arguments_are_those_of_their_text(value: dict[str, Any]) -> None:
    """A mapping and the text that was recorded of it have the same form, repairs and violation."""
    schema = Schema.of({"type": "object", "properties": {"a": {"type": "integer"}, "data": {"type": "array"}}})

    assert arguments_facts(value, schema=schema) == arguments_facts(text_of(value), schema=schema)


def _hide(value: Any) -> Any:
    """Put the canary into every name and every text, and the number that stands for it in place of numbers."""
    if isinstance(value, dict):
        return {f"{name}{CANARY}" if name == "a" else name: _hide(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_hide(item) for item in value]
    if isinstance(value, str):
        return f"{value} {CANARY} 4111222233334444"
    return 4111222233334444 if isinstance(value, int) and not isinstance(value, bool) else value


@settings(max_examples=200)
@given(
    json_values, texts, st.sampled_from(["", "Error: ", "Exit code: 1\n", "<html><title>Login</title>", '{"a": ', "'"])
)
def test_no_content_reaches_the_attributes(value: Any, name: str, opening: str) -> None:
    """Names and values that the schema does not declare, texts, numbers and error messages stay where they are."""
    schema = Schema.of(
        {
            "type": "object",
            "properties": {"status": {"type": "integer"}, "data": {"additionalProperties": {"type": "null"}}},
            "patternProperties": {"^error": {"enum": [None]}},
            "additionalProperties": {"type": "boolean"},
        }
    )
    hidden = _hide(value)
    raw = hidden if isinstance(hidden, dict) else {f"{CANARY}{name}": hidden, "data": {CANARY: hidden}}
    text = f"{opening}{text_of(hidden)} {CANARY}"
    error = RuntimeError(text)
    for attributes in (
        facts_to_attributes(result=result_facts(hidden, schema=schema), arguments=arguments_facts(raw, schema=schema)),
        facts_to_attributes(result=result_facts(text), arguments=arguments_facts(text), answer=answer_facts(text)),
        facts_to_attributes(result=result_facts(None, error=error)),
    ):
        told = json.dumps(attributes)
        assert CANARY not in told
        assert "4111222233334444" not in told
