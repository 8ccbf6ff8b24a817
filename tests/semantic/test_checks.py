"""The semantic checks with an embedder of words: when they speak, and all that keeps them quiet."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic import Question
from spanward_detector.semantic.checks import RULE, findings, off_topic

from tests.semantic.fakes import ANSWER, ASKED, ON, RECIPE, RECORDS, Words, asked

GERMAN = (
    "Zuerst die Kartoffeln schälen und mit etwas Salz kochen. Danach die Butter in der Pfanne schmelzen, Zwiebeln "
    "zugeben und goldbraun braten. Zuletzt Sahne, Pfeffer und Muskat unterrühren, alles mit Käse schichten und im "
    "heißen Ofen vierzig Minuten backen. Dazu passen grüner Salat und ein Glas Weißwein, und die Gäste sind zufrieden."
)
FRAGE = "Welche Unterlagen braucht die Schule in Hamburg von den Eltern, und bis wann sind sie für die Klasse nötig?"
CHINESE = (
    "首先把土豆削皮，用盐煮二十分钟。然后在大平底锅里融化黄油，把切碎的洋葱炒至金黄。"
    "最后加入奶油、胡椒和肉豆蔻，放入烤箱烤四十分钟。配上绿色沙拉和一杯白葡萄酒味道最好。"
)
ALL = asked(RECIPE, ASKED, RECORDS, ASKED, whole=True)


def types(question: Question, policy: SemanticPolicy = ON) -> list[str]:
    """Failure types that are found."""
    return [f.failure_type for f in findings(question, policy, Words())]


def test_an_answer_about_something_else_that_rests_on_nothing_is_both() -> None:
    """A recipe for a question about a school: far from the request, and no sentence stands in what was returned."""
    assert types(ALL) == ["off_topic", "ungrounded"]


def test_an_answer_about_the_matter_is_neither() -> None:
    """It is near to the request, and its sentences to what the tool returned."""
    assert types(asked(ANSWER, ASKED, RECORDS, whole=True)) == []


def test_a_finding_is_a_warning_that_only_observes() -> None:
    """Rule ``semantic``, numbers as facts, and no word of the texts in it."""
    for found in findings(ALL, ON, Words()):
        assert (found.rule, found.severity, found.mode, found.ref) == (RULE, "warning", "observe", ALL.ref)
        assert all(isinstance(value, int | float) for value in found.facts.values())
        assert not any(word in found.message for word in ("potato", "school", "measles"))


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(replace(ALL, answer=""), id="no answer any more"),
        pytest.param(replace(ALL, request="", whole=False), id="nothing known"),
        pytest.param(replace(ALL, answer="Two of them."), id="short"),
        pytest.param(replace(ALL, answer=GERMAN), id="German answer"),
        pytest.param(replace(ALL, answer=GERMAN, request=FRAGE), id="German both"),
        pytest.param(replace(ALL, answer=CHINESE), id="Chinese answer"),
        pytest.param(replace(ALL, answer=CHINESE, request=CHINESE), id="Chinese both"),
        pytest.param(replace(ALL, heard=(GERMAN, ASKED)), id="German results"),
        pytest.param(replace(ALL, heard=('{"菜谱": "土豆削皮，用盐煮二十分钟"}', ASKED)), id="Chinese results"),
        pytest.param(replace(ALL, known=frozenset({"off_topic", "ungrounded"})), id="the rules have said so"),
        pytest.param(replace(ALL, heard=(RECIPE, ASKED)), id="what a tool returned"),
    ],
)
def test_what_cannot_be_compared_is_left_alone(question: Question) -> None:
    """The model knows English, and nothing is said twice."""
    assert types(question) == []


def test_an_answer_that_asks_back_or_to_a_short_request_is_not_off_topic() -> None:
    """The same conditions as those of the rule ``off_topic``."""
    assert off_topic(replace(ALL, answer=RECIPE + " Is that right?"), ON, Words()) is None
    assert off_topic(replace(ALL, request="And now dinner, please."), ON, Words()) is None
    assert off_topic(ALL, ON, Words()) is not None


def test_a_system_text_may_call_for_the_answer() -> None:
    """An agent of a kitchen answers with recipes."""
    kitchen = replace(ALL, system=("Answer with recipes: peel potatoes, boil them, fry onions.",))

    assert off_topic(kitchen, ON, Words()) is None


def test_where_a_text_is_not_known_nothing_is_ungrounded() -> None:
    """The sentence may rest on what is missing."""
    assert types(replace(ALL, whole=False)) == ["off_topic"]


def test_where_there_is_more_to_read_than_allowed_nothing_is_said() -> None:
    """What was not read may be what the answer rests on; what was read may clear it."""
    long = replace(ALL, heard=(*(f"{RECORDS} {n}" for n in range(40)), ASKED))
    short = replace(ON, max_chars=1_000)

    assert types(long, short) == []
    assert types(long) == ["off_topic", "ungrounded"]
    assert types(replace(ALL, heard=(RECIPE, *long.heard)), short) == []


def test_few_sentences_without_a_source_are_no_finding() -> None:
    """A share of them, and a number of them."""
    mixed = f"{ANSWER} {RECIPE}"

    assert types(asked(mixed, ASKED, RECORDS, whole=True)) == []
    assert types(asked(mixed, ASKED, RECORDS, whole=True), replace(ON, share=0.5)) == ["ungrounded"]
    assert types(asked(RECIPE, ASKED, RECORDS, whole=True), replace(ON, topic=0, sentences=9)) == []


def test_each_check_can_be_switched_off() -> None:
    """By a threshold of 0."""
    assert types(ALL, replace(ON, topic=0)) == ["ungrounded"]
    assert types(ALL, replace(ON, grounded=0)) == ["off_topic"]


def test_reading_stops_once_the_answer_is_cleared() -> None:
    """The result that the answer is about comes first: what is older is not read."""
    words = Words()
    findings(asked(ANSWER, ASKED, RECORDS, "Something else.", "Quite another thing.", whole=True), ON, words)

    assert not {"Something else.", "Quite another thing."} & set(words.texts)


@given(
    st.text(st.sampled_from("abcdefg .!\n"), max_size=400), st.lists(st.sampled_from([ASKED, RECORDS, RECIPE, ANSWER])),
    st.sampled_from([ASKED, RECORDS, RECIPE, ANSWER]),
)  # fmt: skip
def test_more_that_was_heard_never_makes_a_finding(answer: str, heard: list[str], more: str) -> None:
    """What rests on something rests on it still when more is known."""
    question = asked(f"{RECIPE} {answer}", ASKED, *heard, whole=True)
    known = replace(question, heard=(more, *heard))

    assert set(types(known)) <= set(types(question))


@given(st.permutations([ASKED, RECORDS, "The oven is hot and the green salad is fresh today.", ANSWER]))
def test_the_order_of_what_was_heard_does_not_matter(heard: list[str]) -> None:
    """The nearest passage is the nearest, wherever it stands."""
    assert findings(asked(RECIPE, ASKED, *heard, whole=True), ON, Words()) == findings(
        asked(RECIPE, ASKED, *sorted(heard), whole=True), ON, Words()
    )


@pytest.mark.parametrize(
    "hostile",
    ["", "\x00" * 50, "\ud800 " * 400, "a" * 1_000_000, ". " * 500_000, "```" * 300_000, "` `` " * 200_000],
    ids=["empty", "NUL", "surrogates", "letters", "ends", "fences", "ticks"],
)
def test_hostile_texts_come_to_an_end(hostile: str) -> None:
    """Empty, NULs, half surrogates, a megabyte of one letter, of sentence ends, of fences; wherever it stands."""
    assert types(asked(hostile, hostile, hostile, whole=True)) == []
    assert set(types(asked(RECIPE, ASKED, hostile, whole=True))) <= {"off_topic", "ungrounded"}
