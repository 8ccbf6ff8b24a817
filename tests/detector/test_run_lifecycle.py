"""How runs move: by what agents and spans say, and never to DONE by silence."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector import run_lifecycle
from spanward_detector.model import Kind, ToolCall
from spanward_detector.run_lifecycle import COMPLETED, Life
from spanward_detector.states import TRANSITIONS, State

from tests.detector.service_fakes import RUN, make_finding, make_step

GATED = "instance-1"


def running(**fields: object) -> Life:
    life = Life(RUN, **({"instance_id": GATED} | fields))
    run_lifecycle.started(life, 1)
    return life


def see(life: Life, failure: str = "", **fields: object) -> None:
    step = make_step(**fields)
    run_lifecycle.observed(life, step, [make_finding(step, failure)] if failure else [], [], 2)


def states(life: Life, reason: str = COMPLETED) -> State:
    run_lifecycle.ended(life, reason, 9)
    run_lifecycle.judged(life, 10)
    return life.state


def test_a_run_that_was_seen_whole_and_clean_is_done() -> None:
    """Its course is told move by move."""
    life = Life(RUN, instance_id=GATED)
    moves = run_lifecycle.started(life, 1)
    see(life)
    moves += run_lifecycle.ended(life, COMPLETED, 2)
    moves += run_lifecycle.judged(life, 3)

    assert [(m.from_state.value, m.to_state.value) for m in moves] == [
        ("IDLE", "RUNNING"),
        ("RUNNING", "WAITING_VALIDATION"),
        ("WAITING_VALIDATION", "DONE"),
    ]


def test_a_run_that_nobody_saw_waits() -> None:
    """It ended well by its own word, and is not DONE for that."""
    assert states(running()) is State.WAITING_VALIDATION


def test_a_run_of_which_steps_are_missing_waits_for_them() -> None:
    """The agent told of three steps; the third, late, makes it DONE."""
    life = running(steps_told=3)
    see(life)
    see(life)
    assert states(life) is State.WAITING_VALIDATION

    see(life)
    run_lifecycle.judged(life, 11)
    assert life.state is State.DONE


def test_the_same_span_twice_is_one_step() -> None:
    """Duplicates do not stand in for steps that are missing."""
    life = running(steps_told=2)
    step = make_step()
    for _ in range(3):
        run_lifecycle.observed(life, step, [], [], 2)

    assert states(life) is State.WAITING_VALIDATION


def test_a_run_that_raised_has_failed() -> None:
    """Whatever was seen of it."""
    life = running()
    see(life)

    assert states(life, "ValueError") is State.FAILED


def test_a_failure_that_was_never_made_good_fails_the_run() -> None:
    """It ended well by its own word, but its last tool call had failed."""
    life = running()
    see(life, "tool_error")

    assert states(life) is State.FAILED


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"kind": Kind.TOOL, "action": "search"}, id="the-tool-works"),
        pytest.param({"kind": Kind.TOOL, "action": "other"}, id="another-tool-works"),
        pytest.param({"kind": Kind.LLM, "n_calls": 0}, id="an-answer-without-blame"),
    ],
)
def test_a_failure_is_made_good_by_what_works_after_it(fields: dict[str, object]) -> None:
    """A step of the same kind, or a last answer that no rule blames."""
    life = running()
    see(life, "tool_error", start_ns=10)
    see(life, start_ns=20, **fields)

    assert states(life) is State.DONE


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"kind": Kind.LLM, "calls": (ToolCall("1", "search"),)}, id="a-model-that-calls-again"),
        pytest.param({"kind": Kind.TOOL, "start_ns": 5}, id="a-tool-that-worked-before"),
        pytest.param({"kind": Kind.TOOL, "failed": True}, id="a-tool-that-fails-again"),
    ],
)
def test_a_failure_is_not_made_good_by_anything_else(fields: dict[str, object]) -> None:
    """Neither by the model's wish nor by what came before."""
    life = running()
    see(life, "tool_error", start_ns=10)
    see(life, **({"start_ns": 20} | fields))

    assert states(life) is State.FAILED


def test_a_blamed_answer_makes_nothing_good() -> None:
    """An answer that ignores the failure is a failure itself."""
    life = running()
    see(life, "tool_error", start_ns=10)
    see(life, "ignored_failure", start_ns=20, kind=Kind.LLM, n_calls=0)

    assert states(life) is State.FAILED


def test_findings_that_only_observe_do_not_fail_a_run() -> None:
    """Neither do warnings."""
    life = running()
    step = make_step()
    found = [make_finding(step, mode="observe"), make_finding(step, severity="warning")]
    run_lifecycle.observed(life, step, found, [], 2)

    assert states(life) is State.DONE


def test_a_withdrawn_finding_is_no_failure() -> None:
    """A late span took it back."""
    life = running()
    step = make_step()
    finding = make_finding(step)
    run_lifecycle.observed(life, step, [finding], [], 2)
    run_lifecycle.observed(life, make_step(kind=Kind.DECISION), [], [finding], 3)

    assert life.findings == 0
    assert states(life) is State.DONE


def test_an_applied_fallback_stands_in_for_the_failed_result() -> None:
    """A hung tool that was interrupted and replaced is no failure of the run."""
    life = running()
    step = make_step(kind=Kind.TICK, action="slow")
    run_lifecycle.observed(life, step, [make_finding(step, "hung")], [], 2)
    run_lifecycle.applied(life, "fallback", make_step().ref, "slow", 3)
    see(life, kind=Kind.DECISION)

    assert states(life) is State.DONE


@pytest.mark.parametrize(
    ("kind", "state"),
    [("pause", "PAUSED"), ("handover", "AWAITING_HUMAN"), ("terminate", "FAILED"), ("feedback", "RUNNING")],
)
def test_applied_directives_move_the_run(kind: str, state: str) -> None:
    """Only those that stop it; repairs let it run."""
    life = running()
    run_lifecycle.applied(life, kind, make_step().ref, "search", 3)

    assert life.state == state


def test_a_paused_run_goes_on_by_resume() -> None:
    """And may end well then."""
    life = running()
    see(life)
    run_lifecycle.applied(life, "pause", make_step().ref, "", 3)
    run_lifecycle.applied(life, "resume", make_step().ref, "", 4)

    assert states(life) is State.DONE


def test_what_is_over_stays_over() -> None:
    """No event moves a run that is DONE or FAILED; only a takeover may, and that is not here."""
    life = running()
    run_lifecycle.applied(life, "terminate", make_step().ref, "", 3)
    moves = run_lifecycle.applied(life, "resume", make_step().ref, "", 4)
    moves += run_lifecycle.ended(life, COMPLETED, 5) + run_lifecycle.judged(life, 6) + run_lifecycle.unseen(life, "", 7)

    assert moves == []
    assert life.state is State.FAILED


def test_a_run_whose_process_is_gone_waits_and_may_come_back() -> None:
    """It was given up too early."""
    life = running()
    run_lifecycle.unseen(life, "process_gone", 3)
    assert life.state is State.WAITING_VALIDATION

    run_lifecycle.started(life, 4)
    assert life.state is State.RUNNING


def test_after_a_loss_of_ours_the_mirror_in_the_gate_counts() -> None:
    """A run that its gate holds paused is PAUSED here too."""
    life = Life(RUN, instance_id=GATED)
    run_lifecycle.started(life, 1, State.PAUSED)

    assert life.state is State.PAUSED


def test_foreign_runs_live_by_their_spans() -> None:
    """The first span starts them, the span of the agent itself ends them."""
    life = Life("trace")
    see(life, kind=Kind.LLM)
    see(life, kind=Kind.AGENT, run_ended=COMPLETED, is_root=True)
    run_lifecycle.judged(life, 5)

    assert life.state is State.DONE


def test_a_sub_agent_does_not_end_the_run() -> None:
    """Only an agent's span without another above it does."""
    life = Life("trace")
    see(life, kind=Kind.AGENT)

    assert life.state is State.RUNNING


EVENTS = st.sampled_from(
    ["start", "step", "fail", "completed", "error", "judge", "unseen", "pause", "resume", "terminate"]
)


@given(st.lists(EVENTS, max_size=30))
def test_every_move_is_in_the_table_and_follows_the_one_before(events: list[str]) -> None:
    """Whatever comes in whatever order, and DONE needs a judgement of a run that was seen."""
    life = Life(RUN, instance_id=GATED)
    moves = []
    for at, event in enumerate(events, 1):
        if event == "start":
            moves += run_lifecycle.started(life, at)
        elif event in ("step", "fail"):
            step = make_step(start_ns=at)
            found = [make_finding(step)] if event == "fail" else []
            moves += run_lifecycle.observed(life, step, found, [], at)
        elif event in ("completed", "error"):
            moves += run_lifecycle.ended(life, event, at)
        elif event == "judge":
            moves += run_lifecycle.judged(life, at)
        elif event == "unseen":
            moves += run_lifecycle.unseen(life, "process_gone", at)
        else:
            moves += run_lifecycle.applied(life, event, make_step().ref, "", at)

    assert all(move.to_state in TRANSITIONS[move.from_state] for move in moves)
    assert all(a.to_state is b.from_state for a, b in pairwise(moves))
    if life.state is State.DONE:
        assert "completed" in events
        assert {"step", "fail"} & set(events)


def test_a_failure_that_gets_another_name_stays_made_good() -> None:
    """Late telemetry may rename a failure that a retry has made good long since: it is not opened again."""
    life = running()
    failing, working, root = make_step(start_ns=1), make_step(start_ns=2), make_step(kind=Kind.AGENT, start_ns=0)
    first, renamed = make_finding(failing, "tool_error"), make_finding(failing, "http_error")
    run_lifecycle.observed(life, failing, [first], [], 3)
    run_lifecycle.observed(life, working, [], [], 4)
    run_lifecycle.observed(life, root, [renamed], [first], 5)

    assert (states(life), life.findings) == (State.DONE, 1)


def test_a_failure_that_gets_another_name_before_it_is_made_good_stays_open() -> None:
    """Renaming loses nothing."""
    life = running()
    failing, root = make_step(start_ns=1), make_step(kind=Kind.AGENT, start_ns=0)
    first, renamed = make_finding(failing, "tool_error"), make_finding(failing, "http_error")
    run_lifecycle.observed(life, failing, [first], [], 3)
    run_lifecycle.observed(life, root, [renamed], [first], 5)

    assert states(life) is State.FAILED


def test_the_start_of_a_run_is_a_move_like_any_other() -> None:
    """The gate already runs when it tells of the run: the move is told all the same."""
    moves = run_lifecycle.started(Life(RUN, instance_id=GATED), 1, State.RUNNING)

    assert [(m.from_state, m.to_state) for m in moves] == [(State.IDLE, State.RUNNING)]
