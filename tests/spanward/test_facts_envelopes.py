"""Answers of real services that say below a status of success that a call failed, and some that only look like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.facts import result_facts
from spanward.facts.envelopes import FIELDS

from tests.outputs import outputs

FAILED = outputs("answers/failed.txt")
FINE = outputs("answers/fine.txt")


@pytest.mark.parametrize("name", FAILED)
def test_an_answer_that_says_failure_in_the_way_of_its_service_is_seen(name: str) -> None:
    """Clouds, payment, chat and ticket services, XML, streams of events and what Python prints of an object."""
    facts = result_facts(FAILED[name])

    assert facts.error in ("field", "status", "text", "flag", "page")
    assert len(facts.signature) == 12


@pytest.mark.parametrize("name", FINE)
def test_an_answer_with_the_words_of_a_failure_in_it_is_not_taken_for_one(name: str) -> None:
    """Records of failed jobs, validators' answers, tallies, schemas and texts about errors are answers."""
    assert result_facts(FINE[name]).error == ""


@pytest.mark.parametrize("name", FAILED)
def test_a_document_is_no_answer_because_of_its_words(name: str) -> None:
    """Of foreign text only fields that cannot be missed count: what depends on wording does not."""
    facts = result_facts(FAILED[name], foreign_text=True)

    assert facts.error != "text" or name == "wrapper"  # a program's own stream of errors


@pytest.mark.parametrize("name", ["hint", "data", "response", "id", "x"])
def test_envelopes_in_envelopes_are_opened_to_a_depth(name: str) -> None:
    """A hundred of them raise nothing and say nothing; two of them are opened."""
    text = f'{{"{name}":' * 900 + '{"error": "x"}' + "}" * 900

    assert result_facts(text).error == ""
    assert result_facts('{"data": {"response": {"error": "no such order"}}}').error == "field"


@given(st.dictionaries(st.sampled_from([*FIELDS, "id", "name", "year"]), st.none() | st.just("") | st.just([])))
def test_empty_fields_say_nothing(value: dict[str, object]) -> None:
    """A field for errors that holds nothing is no error, however it is spelled."""
    assert result_facts(value).error == ""
