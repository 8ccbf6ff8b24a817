"""The table of run states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.states import OPEN, TRANSITIONS, IllegalTransitionError, State, move, path

ALLOWED = {
    "IDLE": "RUNNING",
    "RUNNING": "WAITING_VALIDATION PAUSED FAILED",
    "WAITING_VALIDATION": "DONE RUNNING PAUSED FAILED",
    "PAUSED": "RUNNING ROLLING_BACK AWAITING_HUMAN FAILED",
    "ROLLING_BACK": "RUNNING AWAITING_HUMAN",
    "AWAITING_HUMAN": "RUNNING ROLLING_BACK DONE FAILED",
    "DONE": "",
    "FAILED": "RUNNING",
}


def test_the_table_is_the_one_of_the_design() -> None:
    """Every state has exactly the successors that the design page lists."""
    assert {s.value: set(to.split()) for s, to in ((State(k), v) for k, v in ALLOWED.items())} == {
        s.value: {t.value for t in to} for s, to in TRANSITIONS.items()
    }


@given(st.sampled_from(State), st.sampled_from(State))
def test_a_move_outside_the_table_is_refused_with_what_is_allowed(state: State, to: State) -> None:
    """``move`` follows the table, and an illegal move says what would be legal."""
    if to in TRANSITIONS[state]:
        assert move(state, to) is to
    else:
        with pytest.raises(IllegalTransitionError, match="may become"):
            move(state, to)


def test_done_is_never_reached_by_silence() -> None:
    """Only a validation or a person leads to DONE."""
    assert {s for s, to in TRANSITIONS.items() if State.DONE in to} == {State.WAITING_VALIDATION, State.AWAITING_HUMAN}


@given(st.sampled_from(State), st.sampled_from(State))
def test_a_path_is_made_of_legal_moves_and_ends_where_it_should(state: State, to: State) -> None:
    """Every way that ``path`` finds can be walked with ``move``; where it finds none there is none in the table."""
    way = path(state, to)
    if way is None:
        assert state is State.DONE or to is State.IDLE  # nothing leads out of DONE or back to IDLE
        return
    here = state
    for nxt in way:
        here = move(here, nxt)
    assert here is to


def test_open_states_are_those_in_which_something_can_still_happen() -> None:
    """DONE and FAILED are closed, all others open."""
    assert set(State) - OPEN == {State.DONE, State.FAILED}
