"""The states of a run and the one table of allowed transitions, owned by the detector and mirrored by the gate."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a run is in its life."""

    IDLE = "IDLE"
    RUNNING = "RUNNING"
    WAITING_VALIDATION = "WAITING_VALIDATION"
    PAUSED = "PAUSED"
    ROLLING_BACK = "ROLLING_BACK"
    AWAITING_HUMAN = "AWAITING_HUMAN"
    DONE = "DONE"
    FAILED = "FAILED"


TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    State.IDLE: frozenset({State.RUNNING}),
    State.RUNNING: frozenset({State.WAITING_VALIDATION, State.PAUSED, State.FAILED}),
    State.WAITING_VALIDATION: frozenset({State.DONE, State.RUNNING, State.PAUSED, State.FAILED}),
    State.PAUSED: frozenset({State.RUNNING, State.ROLLING_BACK, State.AWAITING_HUMAN, State.FAILED}),
    State.ROLLING_BACK: frozenset({State.RUNNING, State.AWAITING_HUMAN}),
    State.AWAITING_HUMAN: frozenset({State.RUNNING, State.ROLLING_BACK, State.DONE, State.FAILED}),
    State.DONE: frozenset(),
    # Only by takeover, audited, with a new epoch that lifts the terminate latch.
    State.FAILED: frozenset({State.RUNNING}),
}
"""DONE is reached only from a validation or by a person who vouches: never by silence."""

OPEN: Final = frozenset(State) - {State.DONE, State.FAILED}
"""States in which a run may still do something."""


class IllegalTransitionError(ValueError):
    """Raised by :func:`move` for a pair that is not in the table."""

    def __init__(self, state: State, to: State) -> None:
        allowed = ", ".join(sorted(TRANSITIONS[state])) or "nothing"
        super().__init__(f"a run in {state} cannot become {to}; it may become {allowed}")
        self.state = state
        self.to = to


def move(state: State, to: State) -> State:
    """The next state.

    Raises:
        IllegalTransitionError: the table does not allow it.
    """
    if to not in TRANSITIONS[state]:
        raise IllegalTransitionError(state, to)
    return to


def path(state: State, to: State) -> tuple[State, ...] | None:
    """The shortest legal way, without the start; empty when already there, None when there is none.

    PAUSED before AWAITING_HUMAN is such a way: a hand-over of a running run stops it first.
    """
    ways: list[tuple[State, ...]] = [()]
    seen = {state}
    while ways:
        way = ways.pop(0)
        here = way[-1] if way else state
        if here is to:
            return way
        for nxt in sorted(TRANSITIONS[here]):
            if nxt not in seen:
                seen.add(nxt)
                ways.append((*way, nxt))
    return None
