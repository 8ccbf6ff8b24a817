"""Policies: what is taken, what is refused and what is said about it."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.control import codec
from spanward_detector.detectors import DETECTORS
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import Policy, PolicyError, Rung, default, default_text, lint, load
from spanward_detector.policy.load import read, rule_fields
from spanward_detector.policy.model import ToolPolicy
from spanward_detector.sections import CustomRule, JudgePolicy, SemanticPolicy

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
        pytest.param("version: 1\nbudget: 2026-13-45\n", 2, "no value", id="month 13"),
        pytest.param("limits:\n  max_steps: !!int x\n", 2, "no value of the type int", id="letters for an int"),
        pytest.param("limits:\n  max_steps: " + "9" * 5000, 2, "no value of the type int", id="5,000 digits"),
        pytest.param("pause: !!bool maybe\n", 1, "no value of the type bool", id="a word for a bool"),
        pytest.param("limits:\n  max_seconds: " + "9" * 400, 2, "too much", id="400 digits"),
        pytest.param("tools: {pay: {timeout: .inf}}\n", 1, "too much", id="for ever"),
        pytest.param("limits:\n  max_steps: 5000000000", 2, "write at most", id="more than a gate can count"),
        pytest.param("a: " + "[" * 30 + "]" * 30, 1, "nested too deep", id="deep"),
        pytest.param("judge: {endpoint: 'http://[', model: m}\n", 1, "no URL", id="half an address"),
        pytest.param("judge: {endpoint: 5, model: m}\n", 1, "text", id="a number for a URL"),
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


def test_a_large_policy_is_read_or_refused_in_time() -> None:
    """What takes the loader long is not taken at all."""
    with pytest.raises(PolicyError, match="larger than 128 KiB"):
        load("a: 1\n" * 2**16)
    started = time.process_time()
    for text, said in (
        ("ver 1sion: 1" + "\n" * 120_000, "has no section"),
        ("a:\n" + "  b:\n" * 25_000, "stands twice"),
        ("".join(f"version{n}: 1\n" for n in range(8_000)), "did you mean 'version'"),
        ("rules:\n" + "".join(f"  lop{n}: 1\n" for n in range(8_000)), "there is no rule"),
    ):
        with pytest.raises(PolicyError, match=said) as caught:
            load(text)
        assert len(caught.value.problems) <= 101

    assert time.process_time() - started < 3


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


ODD = ("[[1]]", "[{}]", "{a: 1}", "[null]", "5", "2001-01-01", "!!binary aGk=", "[1, x]", ".nan")
TOOL, CUSTOM, JUDGE = fields(ToolPolicy), fields(CustomRule), fields(JudgePolicy)
MEANING = fields(SemanticPolicy)
PLACES = (
    *(f"{section.name}: %s" for section in fields(Policy)),
    *(f"rules: {{{rule}: {{{key}: %s}}}}" for rule, keys in rule_fields().items() for key in keys),
    *(f"tools: {{a: {{{key.name}: %s}}}}" for key in TOOL),
    *(f"custom: [{{{key.name}: %s}}]" for key in CUSTOM),
    *(f"judge: {{{key.name}: %s}}" for key in JUDGE),
    *(f"semantic: {{{key.name}: %s}}" for key in MEANING),
    "tools: {a: {arguments: {b: {allow: %s}}}}", "order: [{before: %s, after: b}]", "models: {m: {input: %s}}",
    "scope: {paths: %s}", "ladders: {loop: %s}", "ladders: {loop: [%s]}", "strategies: {retry: %s}",
    "strategies: {retry: {jitter: %s}}", "budget: {seconds: %s}", "pause: {lease_s: %s}",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_value_of_any_type_is_taken_or_told(place: str) -> None:
    """Wherever it stands; what is taken can be put in force and sent to gates."""
    for value in ODD:
        policy, problems = read(place % value)
        assert policy is not None
        if not problems:
            Pipeline(policy)
            codec.policy(policy)
