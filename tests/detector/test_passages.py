"""Texts in pieces: no character is lost, and only what states something counts as a sentence."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.text.passages import passages, sentences


@given(st.text(st.sampled_from("ab .!?\n\u3002x\t"), max_size=300), st.integers(2, 40))
def test_passages_hold_the_whole_text(text: str, size: int) -> None:
    """In order, every character but spaces once, and none of them is longer than asked for."""
    pieces = list(passages(text, size))

    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(0 < len(piece) <= size and piece == piece.strip() for piece in pieces)


def test_passages_are_cut_between_sentences() -> None:
    """Sentences that fit together stay together; a word is cut only where it is longer than a passage."""
    assert list(passages("One two. Three four. Five six.", 20)) == ["One two. Three four.", "Five six."]
    assert list(passages("a" * 25, 10)) == ["a" * 10, "a" * 10, "a" * 5]


@pytest.mark.parametrize(
    "said",
    [
        "Thank you for your patience with this.",
        "Would you like me to book that flight for you?",
        "I will look at the order and tell you more.",
        "Here is what the tool has found for you today:",
        "It works.",
        'for (const item of items) { total += item["price"]; count++; }',
        "```\nthe quick brown fox jumps over the lazy dog\n```",
        "",
    ],
)
def test_what_states_nothing_is_no_sentence(said: str) -> None:
    """Courtesy, questions, announcements, short ones and code."""
    assert sentences(said, 9) == []


def test_sentences_are_found_in_prose_and_lists() -> None:
    """Without marks of lists, and no more of them than asked for."""
    text = "- The order was sent on the third of May.\n- It weighs two kilos and costs nine euros.\nOkay."

    assert sentences(text, 9) == [
        "The order was sent on the third of May.",
        "It weighs two kilos and costs nine euros.",
    ]
    assert len(sentences(text, 1)) == 1


@pytest.mark.parametrize(
    "hostile", ["```" * 400_000, "` " * 500_000, ".\n" * 500_000, "a" * 1_000_000, "~~~`" * 200_000]
)
def test_a_megabyte_is_read_in_time(hostile: str) -> None:
    """Nothing is looked at again and again."""
    started = time.process_time()
    sentences(hostile, 9)
    list(passages(hostile, 400))

    assert time.process_time() - started < 5
