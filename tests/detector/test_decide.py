"""From findings to a directive: which rung, and which is never right."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.facts import ArgumentsFacts, ResultFacts
from spanward_detector.directives import RepairLedger
from spanward_detector.model import Directive, Finding, HttpAttempt, InFlight, Kind, SpanRef, Step, Tick
from spanward_detector.policy import Clock, Policy, decide, load

TRACE = "a" * 32


@dataclass
class FakeRun:
    """What a decision needs of a run."""

    id: str = "run-1"
    repair: RepairLedger = field(default_factory=RepairLedger)


def clock(now_s: float = 1_000.0) -> Clock:
    """Time that stands still, ids that count."""
    ids = count(1)
    return Clock(now_ns=lambda: int(now_s * 1e9), new_id=lambda: f"d{next(ids)}", random=lambda: 0.5)


_spans = count(1)


def step(kind: Kind = Kind.TOOL, **values: Any) -> Step:
    """A step as the pipeline makes it."""
    ref = SpanRef(TRACE, f"{next(_spans):016x}")
    base: dict[str, Any] = {"action": "get", "held": True, **values}
    return Step(kind, ref, None, "run-1", 0, 1, "spanward", "spanward", "execute_tool get", **base)


def finding(at: Step, failure_type: str = "tool_error", **values: Any) -> Finding:
    """A finding at a step."""
    base: dict[str, Any] = {
        "rule": failure_type,
        "severity": "error",
        "mode": "act",
        "message": "",
        "agent": "",
        "action": at.action,
        "ref": at.ref,
    }
    return Finding(failure_type=failure_type, step=1, **{**base, **values})


def kinds(policy: Policy, run: FakeRun, steps: list[Step], failure_type: str) -> list[str | None]:
    """Directive kinds for the same failure at each step, where nothing ever helps."""
    out = []
    for at in steps:
        found = [finding(at, failure_type)]
        run.repair.follow(at, found)
        directive = decide(policy, run, at, found, clock())
        out.append(directive.kind if directive else None)
    return out


def test_a_ladder_is_climbed_rung_by_rung() -> None:
    """A write that keeps failing: two feedbacks, then a person; nothing follows a hand-over."""
    steps = [step(side_effect="write") for _ in range(4)]

    assert kinds(load("version: 1\n"), FakeRun(), steps, "tool_error") == ["feedback", "feedback", "handover", None]


def test_a_read_that_fails_for_a_passing_reason_is_retried_first() -> None:
    """Reads with a transient error get L0 before the model is bothered."""
    steps = [step(side_effect="read", error_type="ConnectionError") for _ in range(4)]

    assert kinds(load("version: 1\n"), FakeRun(), steps, "tool_error") == ["retry", "retry", "feedback", "feedback"]


@pytest.mark.parametrize(
    ("values", "retried"),
    [
        pytest.param({"side_effect": "read"}, True, id="read"),
        pytest.param({"side_effect": "scratch"}, True, id="scratch"),
        pytest.param({"side_effect": "write"}, False, id="write"),
        pytest.param({"side_effect": "write", "idempotent": True}, True, id="idempotent write"),
        pytest.param({"side_effect": "high_risk", "idempotent": True}, False, id="high risk"),
        pytest.param({}, False, id="nobody says"),
    ],
)
def test_only_what_may_happen_twice_is_retried(values: dict[str, Any], retried: bool) -> None:
    """Retries follow the side effect; a tool of which nobody says anything is a write."""
    at = step(error_type="TimeoutError", **values)
    directive = decide(load("version: 1\n"), FakeRun(), at, [finding(at, "timeout")], clock())

    assert directive is not None
    assert (directive.kind == "retry") is retried


@pytest.mark.parametrize(
    ("status", "retried"), [(503, True), (429, True), (0, True), (404, False), (401, False), (500, True)]
)
def test_a_status_says_whether_trying_again_can_help(status: int, retried: bool) -> None:
    """Server errors and limits pass by themselves, client errors do not."""
    at = step(side_effect="read", http=(HttpAttempt(status, None, "b" * 16, 0, None),))
    directive = decide(load("version: 1\n"), FakeRun(), at, [finding(at, "http_error")], clock())

    assert directive is not None
    assert (directive.kind == "retry") is retried


def test_retry_after_wins_over_the_policy_s_delay() -> None:
    """The server's own word on when to come back is kept."""
    at = step(side_effect="read", http=(HttpAttempt(429, 7_000, "b" * 16, 0, None),))
    directive = decide(load("version: 1\n"), FakeRun(), at, [finding(at, "rate_limited")], clock())

    assert directive is not None
    assert directive.payload == {"delay_ms": 7_000, "attempt": 2}


def test_the_delay_grows_with_the_attempt() -> None:
    """Half a second times the attempt, without jitter at the middle of the die."""
    at = step(side_effect="read", error_type="TimeoutError", attempt=2)
    directive = decide(load("version: 1\n"), FakeRun(), at, [finding(at, "timeout")], clock())

    assert directive is not None
    assert directive.payload == {"delay_ms": 1000, "attempt": 3}


def test_arguments_are_repaired_only_where_a_repair_is_known_to_validate() -> None:
    """Without a repair that validates the model is asked; truncated arguments are never repaired."""
    policy = load("version: 1\n")
    good = step(arguments_facts=ArgumentsFacts("malformed", ("trailing_commas",), ""), arguments_digest="raw:1")
    bad = step(arguments_facts=ArgumentsFacts("malformed", (), ""))
    cut = step(arguments_facts=ArgumentsFacts("truncated", ("literal_object",), ""))
    directives = [decide(policy, FakeRun(), at, [finding(at, "invalid_arguments")], clock()) for at in (good, bad, cut)]

    assert [d.kind if d else None for d in directives] == ["repair_arguments", "feedback", "feedback"]
    assert directives[0] is not None
    assert (directives[0].payload, directives[0].target_digest) == ({"repairs": ("trailing_commas",)}, "raw:1")


def test_a_degraded_answer_never_stands_for_a_write() -> None:
    """Without a fallback of its own a failed write goes to a person, a failed read to a degraded answer."""
    policy = load("ladders: {tool_error: [fallback, handover]}\n")
    read, write, prepared = (
        step(side_effect="read"),
        step(side_effect="write"),
        step(side_effect="write", has_fallback=True),
    )
    directives = [decide(policy, FakeRun(), at, [finding(at)], clock()) for at in (read, write, prepared)]

    assert [d.kind if d else None for d in directives] == ["fallback", "handover", "fallback"]
    assert [d.payload.get("strategy") for d in directives if d] == ["degraded", None, "tool_fallback"]


def test_a_hung_call_is_interrupted_where_that_can_be_done() -> None:
    """An interruptible call gets the interrupt, another goes on to the next rung that is right."""
    ref = SpanRef(TRACE, "c" * 16)
    calls = [InFlight(ref.span_id, "tool", "get", 9_000, 0, able, ()) for able in (True, False)]
    ticks = [step(Kind.TICK, held=False, tick=Tick(0, (call,))) for call in calls]
    directives = [decide(load("version: 1\n"), FakeRun(), at, [finding(at, "hung", ref=ref)], clock()) for at in ticks]

    assert [d.kind if d else None for d in directives] == ["interrupt_call", "handover"]
    assert directives[0] is not None
    assert (directives[0].payload, directives[0].answers_hold) == ({"span_id": "c" * 16}, False)


def test_observing_findings_order_nothing() -> None:
    """Mode observe is recorded and alerted, never acted on."""
    at = step()

    assert decide(load("version: 1\n"), FakeRun(), at, [finding(at, mode="observe")], clock()) is None


def test_a_loop_that_feedback_does_not_break_is_terminated() -> None:
    """L2, then L4, and after that nothing."""
    assert kinds(load("version: 1\n"), FakeRun(), [step() for _ in range(3)], "loop") == ["feedback", "terminate", None]


def test_the_worst_finding_speaks() -> None:
    """One directive a step: the loop, not the single error, and an error before a warning."""
    at = step()
    found = [finding(at, "tool_error"), finding(at, "loop"), finding(at, "invalid_json", severity="warning")]
    directive = decide(load("version: 1\n"), FakeRun(), at, found, clock())

    assert directive is not None
    assert directive.failure_type == "loop"


def test_a_spent_budget_hands_over() -> None:
    """When the run's repairs are used up a person is asked, whatever the ladder still offers."""
    policy = load(
        "budget: {repairs: 2}\nladders: {tool_error: [feedback x9, handover]}\nstrategies: {feedback: {max: 9}}\n"
    )

    assert kinds(policy, FakeRun(), [step(action=f"t{n}") for n in range(3)], "tool_error") == [
        "feedback",
        "feedback",
        "handover",
    ]


def test_a_repair_that_took_too_long_hands_over() -> None:
    """Seconds count from the first repair."""
    policy, run = load("budget: {seconds: 10}\n"), FakeRun()
    first, second = step(), step()
    decide(policy, run, first, [finding(first)], clock(100))
    directive = decide(policy, run, second, [finding(second)], clock(111))

    assert directive is not None
    assert directive.kind == "handover"


def test_a_repair_that_helped_gives_its_try_back() -> None:
    """A verified repair does not use up the ladder of a later failure."""
    policy, run = load("ladders: {tool_error: [feedback, handover]}\n"), FakeRun()
    failing, fine, again = step(arguments_digest="1"), step(arguments_digest="2"), step(arguments_digest="3")
    first = decide(policy, run, failing, [finding(failing)], clock())
    outcomes = run.repair.follow(fine, [])
    later = decide(policy, run, again, [finding(again)], clock())

    assert first is not None
    assert [(o.directive_id, o.state, o.recovered_by) for o in outcomes] == [(first.id, "verified", "change")]
    assert later is not None
    assert later.kind == "feedback"


def test_a_loop_that_comes_back_after_one_other_step_is_terminated() -> None:
    """One better step verifies the feedback, but does not give the ladder of a loop back."""
    policy, run = load("version: 1\n"), FakeRun()
    looping, other, again = step(arguments_digest="1"), step(arguments_digest="2"), step(arguments_digest="1")
    first = decide(policy, run, looping, [finding(looping, "loop")], clock())
    outcomes = run.repair.follow(other, [])
    second = decide(policy, run, again, [finding(again, "loop")], clock())

    assert [o.state for o in outcomes] == ["verified"]
    assert [d.kind if d else None for d in (first, second)] == ["feedback", "terminate"]


@pytest.mark.parametrize(
    ("digest", "found", "state", "by"),
    [
        pytest.param("1", False, "verified", "repetition", id="same call worked"),
        pytest.param("2", False, "verified", "change", id="other call worked"),
        pytest.param("2", True, "unverified", "", id="failure came back"),
    ],
)
def test_a_repair_is_followed_to_its_end(digest: str, found: bool, state: str, by: str) -> None:
    """The next comparable step proves or refutes it, and says whether the change or mere repetition helped."""
    run = FakeRun()
    failing, after = step(arguments_digest="1"), step(arguments_digest=digest, input_tokens=5)
    decide(load("version: 1\n"), run, failing, [finding(failing)], clock())
    outcomes = run.repair.follow(after, [finding(after)] if found else [])

    assert [(o.state, o.recovered_by, o.steps, o.tokens) for o in outcomes] == [(state, by, 1, 5)]


def test_a_model_call_between_says_nothing_about_a_tool_s_repair() -> None:
    """Only a comparable step is a proof."""
    run = FakeRun()
    failing = step()
    decide(load("version: 1\n"), run, failing, [finding(failing)], clock())

    assert run.repair.follow(step(Kind.LLM, action="model"), []) == []
    assert run.repair.open == 1


def test_a_rejected_directive_has_nothing_to_be_verified() -> None:
    """What was not applied is not followed."""
    run = FakeRun()
    failing = step()
    directive = decide(load("version: 1\n"), run, failing, [finding(failing)], clock())
    assert directive is not None
    run.repair.acknowledged(directive.id, "rejected")

    assert run.repair.open == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["tool_error", "loop", "timeout", "silent_error", "hung"]),
            st.sampled_from("ab"),
            st.booleans(),
        ),
        max_size=60,
    )
)
def test_no_course_of_a_run_repairs_without_end(course: list[tuple[str, str, bool]]) -> None:
    """Whatever fails in whatever order, repairs stay within the budget and nothing follows a stop."""
    policy, run = load("budget: {repairs: 5}\n"), FakeRun()
    directives: list[Directive] = []
    for failure_type, action, failed in course:
        at = step(action=action, side_effect="read", error_type="TimeoutError")
        found = [finding(at, failure_type)] if failed else []
        run.repair.follow(at, found)
        if directive := decide(policy, run, at, found, clock()):
            directives.append(directive)
    kinds_ = [d.kind for d in directives]
    stops = [n for n, kind in enumerate(kinds_) if kind in ("handover", "terminate", "pause")]

    assert sum(kind in ("retry", "feedback", "fallback") for kind in kinds_) <= 5
    assert all(n == len(kinds_) - 1 or kinds_[n + 1] == "terminate" for n in stops)


def test_results_of_a_tool_carry_their_own_status() -> None:
    """A status inside the result counts where no HTTP span was seen."""
    facts = ResultFacts(
        size=1,
        empty=False,
        is_json=True,
        json_expected=False,
        schema="",
        error="status",
        signature="",
        exit_code=None,
        status=503,
    )
    at = step(side_effect="read", result_facts=facts)
    directive = decide(load("version: 1\n"), FakeRun(), at, [finding(at, "silent_error")], clock())

    assert directive is not None
    assert directive.kind == "feedback"  # the ladder of a silent error has no retry
