"""Expressions of users: what is refused with a remedy, and what can do no harm when it is not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spanward_detector import cel_rules
from spanward_detector.calls import Calls
from spanward_detector.cel_rules import STRIKES, CelError, Program, context, program
from spanward_detector.detectors.custom import MAX_ITEMS, MAX_TEXT
from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.policy import PolicyError, load


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "empty"),
        ("step.", "not CEL"),
        ("1 == 1", "neither step nor run"),
        ("step.a == " + "1" * 2001, "at most"),
        ("(" * 100_000, "at most"),
        ("(" * 40 + "step.a" + ")" * 40, "nested deeper"),
        ("[" * 40 + "step.a" + "]" * 40, "nested deeper"),
        ("!" * 500 + "step.a", "operators"),
        ("step.l.all(a, step.l.all(b, step.l.exists(c, true)))", "macros"),
        ("step.a ? " * 60, "operators"),
        ("step.l.map(a, step.l.exists(b, true)).size() > 0", "map or filter"),
        ("step.l.all(a, step.l.filter(b, true).size() > 0)", "map or filter"),
        ("step.l.all(a, " + " || ".join(["step.b"] * 9) + ")", "inside macros"),
        ("step.a.matches(step.b)", "no plain text"),
        ("matches(step.a, step.b)", "no plain text"),
        (r"step.a.matches('((x{1,20}){1,20}){1,20}')", "counts in patterns"),
    ],
)
def test_what_costs_too_much_or_is_no_cel_is_refused_with_a_remedy(source: str, says: str) -> None:
    """Before the library sees it, which panics on depth."""
    with pytest.raises(CelError, match=says) as caught:
        program(source)

    assert caught.value.hint


def test_brackets_in_text_do_not_count() -> None:
    """Only those of the expression nest."""
    assert (
        program("step.action == '" + "(" * 100 + "'").holds(context({"step": {"action": "("}, "run": {}}, {})) is False
    )


NESTED = "step.l.all(a, step.l.all(b, step.l.exists(c, true)))"


@pytest.mark.parametrize(
    "source",
    [
        f"// '''\n{NESTED}\n// '''",
        f"// it's\n{NESTED} || step.a == 'x'",
        rf"r'\' == step.a || {NESTED} || step.a == r'\'",
        rf'''R"""\""" == step.a || {NESTED} || step.a == r"""\"""''',
        rf'''step.a == """\"""  """ || {NESTED} || step.a == """ x """''',
    ],
)
def test_text_and_comments_hide_nothing(source: str) -> None:
    """What the library evaluates is what is counted, however the quotation marks around it stand."""
    with pytest.raises(CelError, match="macros"):
        program(source)


HOSTILE = {"l": [["x" * 100, n] for n in range(MAX_ITEMS)], "t": "x" * MAX_TEXT}


@pytest.mark.parametrize(
    "source",
    [
        "step.l.map(x, step.l).size() > 0",
        "step.l.map(x, " + "+".join(["step.t"] * 8) + ").size() > 0",
        "step.l.map(x, [" + ",".join(["x"] * 900) + "]).size() > 0",
        "step.l.all(x, step.l.all(y, " + "+".join(["step.t"] * 7) + " != 'q'))",
        "step.l.all(x, step.l.all(y, step.l == step.l && step.l == step.l))",
        "step.l.all(x, step.l.all(y, [" + ",".join(["x,y"] * 400) + "].size() > 0))",
        "step.t.matches('((x{1,10}){1,10}){1,10}y')",
    ],
)
def test_what_is_taken_ends_in_time_whatever_the_data_are(source: str) -> None:
    """One evaluation cannot be interrupted, so the worst that is taken has to end by itself."""
    made = program(source)
    started = time.thread_time()
    made.holds(context({"step": HOSTILE, "run": {}}, {}))

    assert time.thread_time() - started < 5  # a twentieth of that on a machine with nothing else to do


def test_what_is_no_cel_is_refused_in_time() -> None:
    """The library tells of each wrong character with the whole line: reading that must not take long."""
    started = time.thread_time()
    with pytest.raises(CelError, match="not CEL"):
        program("run" + "\u205f" * 1900 + ".x")

    assert time.thread_time() - started < 1


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="step.runab()[]{}!&|<>=+-*/?:,'\"0123456789 \n\\", max_size=300))
def test_no_expression_breaks_the_loader(source: str) -> None:
    """Anything is either a program or refused; panics of the library included."""
    try:
        made = program(source)
    except CelError:
        return
    made.holds(context({"step": {"a": 1}, "run": {}}, {}))


def test_a_missing_key_is_not_true() -> None:
    """Nor does it count against the rule."""
    made = program("step.no_such_key_here > 1")
    for _ in range(STRIKES + 1):
        assert made.holds(context({"step": {}, "run": {}}, {})) is False

    assert made.off == ""


def test_a_rule_that_breaks_again_and_again_is_switched_off() -> None:
    """A panic of the library: counted, logged, and not evaluated any more."""

    class Panic(BaseException):
        pass

    calls = []

    def run(_context: object) -> bool:
        calls.append(1)
        raise Panic

    made = Program("step.x", run)
    before = cel_rules.COUNTERS["broken"]
    for _ in range(STRIKES + 3):
        assert made.holds(None) is False

    assert made.off == "broken (Panic)"
    assert len(calls) == STRIKES
    assert cel_rules.COUNTERS["broken"] == before + 1


def test_data_that_do_not_fit_switch_nothing_off() -> None:
    """A text where the rule wants a number is not true, however often it comes; the next number counts again."""
    made = program("step.amount_of_something > 100")
    for _ in range(STRIKES * 3):
        assert made.holds(context({"step": {"amount_of_something": "many"}, "run": {}}, {})) is False

    assert made.holds(context({"step": {"amount_of_something": 101}, "run": {}}, {})) is True


def test_a_slow_rule_is_switched_off_and_one_that_was_slow_once_is_not() -> None:
    """Its own clock says how long it took."""
    now = [0.0]
    took = [1.0] * (STRIKES - 1) + [0.0] + [1.0] * STRIKES

    def run(_context: object) -> bool:
        now[0] += took.pop(0)
        return True

    made = Program("step.x", run, lambda: now[0])
    for n in range(STRIKES * 2):
        assert made.holds(None) is True
        assert bool(made.off) == (n == STRIKES * 2 - 1)
    assert made.holds(None) is False


def test_a_policy_names_line_and_remedy() -> None:
    """Every problem of a rule is one of the policy."""
    text = "version: 1\ncustom:\n- {name: Bad Name, when: 'step.', kinds: [tol]}\n- name: ok\n  when: step.a == 1\n"
    with pytest.raises(PolicyError) as caught:
        load(text)

    assert {(p.line, bool(p.hint)) for p in caught.value.problems} == {(3, True)}
    assert len(caught.value.problems) == 3
    assert "did you mean 'tool'?" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("custom: [{name: a, when: step.x}, {name: a, when: step.y}]", "twice"),
        ("custom: {name: a}", "not a list"),
        ("custom: [{name: a, when: step.x, ladder: [fly]}]", "no directive 'fly'"),
        ("custom: [{name: a, when: step.x, failure_type: loop}]", "not known here"),
        ("order: [{before: a}]", "two tools"),
        ("tools: {t: {arguments: {x: {allow: ['/(/']}}}}", "missing"),
        ("tools: {t: {arguments: {x: {alow: []}}}}", "alow"),
        ("judge: {endpoint: 'ftp://x', model: m}", "no URL"),
        ("judge: {endpoint: 'http://x/v1'}", "no model"),
        ("judge: {ask_on: [lop]}", "did you mean 'loop'?"),
        ("models: {m: {context: -1}}", "below 0"),
        ("allowed_tools: send", "not a list"),
    ],
)
def test_the_other_sections_are_checked_as_well(text: str, says: str) -> None:
    """Each with its line and what to write instead."""
    with pytest.raises(PolicyError) as caught:
        load(text)

    assert says in str(caught.value)
    assert all(problem.line for problem in caught.value.problems)


def test_a_rule_may_have_a_ladder_of_its_own() -> None:
    """Else that of its failure type counts."""
    policy = load(
        "custom: [{name: a, when: step.x, mode: act, ladder: [feedback, pause]}, {name: b, when: step.y, mode: act}]"
    )

    assert [rung.kind for rung in policy.ladder("custom", "", "custom.a")] == ["feedback", "pause"]
    assert [rung.kind for rung in policy.ladder("custom", "", "custom.b")] == ["alert"]


def test_calls_answer_questions_of_time() -> None:
    """First calls, their order, and how many there were of late."""
    calls = Calls()
    for index, tool in enumerate(("a", "b", "a", "c", "a"), 1):
        step = Step(
            Kind.TOOL, SpanRef("t", str(index)), None, "r", index, index, "d", "s", tool, action=tool, index=index
        )
        calls.take(step, worked=tool != "b")
        calls.take(step, worked=True)  # told twice

    assert calls.called("b")
    assert not calls.called("d")
    assert calls.before("a", "c")
    assert calls.before("a", "never")
    assert not calls.before("c", "b")
    assert [calls.count("a", n) for n in (1, 3, 5, 0)] == [1, 2, 3, 0]
    assert not calls.worked_by("b", 99)
    assert calls.copy() == calls
