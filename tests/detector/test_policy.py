"""Policies: what is taken, what is refused and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.detectors import DETECTORS
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.policy import PolicyError, Rung, default, default_text, lint, load

EXAMPLE = Path(__file__).parents[2] / "examples" / "policy.yaml"


def test_the_default_policy_has_a_ladder_for_every_failure_type() -> None:
    """No failure is without an answer."""
    assert set(default().ladders) == set(FAILURE_TYPES)
    assert all(default().ladders.values())


def test_the_default_policy_has_the_numbers_of_the_design() -> None:
    """Retries, repairs, feedback, breaker and escalation are those of the design page."""
    policy = default()
    retry = policy.strategy("retry")

    assert (retry.max, retry.delay_s, policy.strategy("repair_arguments").max, policy.strategy("feedback").max) == (
        2,
        0.5,
        1,
        2,
    )
    assert (policy.breaker.failures, policy.breaker.open_s, policy.pause.escalate_s) == (5, 30, 1800)


@pytest.mark.parametrize("text", [default_text(), EXAMPLE.read_text()], ids=["default", "example"])
def test_shipped_policies_are_sound_and_sane(text: str) -> None:
    """Neither errors nor warnings come from what we ship."""
    assert lint(text) == []


def test_a_policy_changes_only_what_it_says() -> None:
    """Sections are laid over the default key by key."""
    policy = load("ladders: {loop: [feedback x2, handover]}\nstrategies: {retry: {max: 4}}\n")

    assert policy.ladders["loop"] == (Rung("feedback", 2), Rung("handover"))
    assert policy.ladders["tool_error"] == default().ladders["tool_error"]
    assert (policy.strategy("retry").max, policy.strategy("retry").delay_s) == (4, 0.5)


def test_the_version_is_the_hash_of_the_source() -> None:
    """Equal text has an equal version, other text another one."""
    assert load("version: 1\n").version == load("version: 1\n").version != load("version: 1 \n").version


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param("budgets: {}\n", 1, "did you mean 'budget'?", id="unknown section"),
        pytest.param("version: 2\n", 1, "write version: 1", id="unknown version"),
        pytest.param("ladders:\n  tool_eror: [feedback]\n", 2, "did you mean 'tool_error'?", id="unknown failure type"),
        pytest.param("ladders:\n  loop: [fedback]\n", 2, "did you mean 'feedback'?", id="unknown directive"),
        pytest.param("ladders:\n  loop: []\n", 2, "write a list", id="empty ladder"),
        pytest.param("ladders:\n  loop:\n  - feedback x0\n", 3, "1 to 20 times", id="zero times"),
        pytest.param("rules:\n  lop: {}\n", 2, "did you mean 'loop'?", id="unknown rule"),
        pytest.param("rules:\n  loop:\n    repeat: 3\n", 3, "did you mean 'repeats'?", id="unknown threshold"),
        pytest.param("rules:\n  loop:\n    repeats: three\n", 3, "a whole number", id="text for a number"),
        pytest.param("rules:\n  loop:\n    repeats: true\n", 3, "a whole number", id="boolean for a number"),
        pytest.param("rules:\n  loop:\n    repeats: -1\n", 3, "0 or more", id="negative"),
        pytest.param("rules:\n  loop:\n    mode: active\n", 3, "act", id="unknown mode"),
        pytest.param("budget: {seconds: .nan}\n", 1, "a number", id="not a number"),
        pytest.param("tools:\n  a: {side_effect: writes}\n", 2, "did you mean 'write'?", id="unknown side effect"),
        pytest.param("tools: [a]\n", 1, "write key: value", id="list for a mapping"),
        pytest.param("a: &x 1\nb: *x\n", 1, "write the value out", id="anchor"),
        pytest.param("budget: {repairs: 1}\nbudget: {repairs: 2}\n", 2, "keep one", id="key twice"),
        pytest.param("a: [1\n", 2, "not YAML", id="broken YAML"),
        pytest.param("1: 2\n", 1, "in quotes", id="number as key"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_line_and_what_to_write(text: str, line: int, said: str) -> None:
    """Every mistake is an error with the line and the remedy."""
    with pytest.raises(PolicyError) as caught:
        load(text)

    assert any(p.line == line and said in str(p) for p in caught.value.problems), [
        str(p) for p in caught.value.problems
    ]


def test_all_mistakes_are_told_at_once() -> None:
    """Nobody has to run lint once per mistake."""
    assert len([p for p in lint("budgets: {}\nladders: {lop: [x]}\nrules: {lop: {}}\n") if p.level == "error"]) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("strategies: {retry: {max: 15}}", "hide an outage", id="many retries"),
        pytest.param("breaker: {failures: 1}", "sane is", id="nervous breaker"),
        pytest.param("ladders: {loop: [feedback]}", "end with handover", id="ladder without an end"),
        pytest.param("ladders: {loop: [terminate, pause]}", "put it last", id="nothing follows terminate"),
    ],
)
def test_doubtful_numbers_are_warnings_not_errors(text: str, said: str) -> None:
    """Outside the sane range a policy is taken, and lint says why it is doubtful."""
    load(text)
    problems = lint(text)

    assert [p.level for p in problems] == ["warning"]
    assert said in str(problems[0])


def test_a_yaml_bomb_is_refused_before_it_unfolds() -> None:
    """Anchors are refused while they are still a few hundred bytes."""
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
    )

    with pytest.raises(PolicyError, match="aliases"):
        load(bomb)


@given(st.text(max_size=300))
def test_no_text_makes_the_loader_fall(text: str) -> None:
    """Whatever is in the file, the answer is a policy or a PolicyError."""
    try:
        load(text)
    except PolicyError as error:
        assert error.problems  # noqa: PT017 - not every text is refused


def test_every_rule_can_be_set_by_its_thresholds() -> None:
    """Each detector's own defaults pass the loader when written out."""
    for detector in DETECTORS:
        policy = load(f"rules: {{{detector.name}: {{mode: observe}}}}")

        assert policy.rules[detector.name] == {"mode": "observe"}
