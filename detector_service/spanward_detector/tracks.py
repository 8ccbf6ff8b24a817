"""The last acts of one kind, in their order: what loops and polling are seen in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from spanward_detector.model import Step
from spanward_detector.naming import is_pending, is_polling, is_unsettled
from spanward_detector.outcome import Outcome

ACTS: Final = 64
"""Acts of one track that are looked back on: enough for three rounds of the longest cycle."""

Key = tuple[Hashable, ...]


class Timed(Protocol):
    """Who did the acts: how long models took since the last one, and how often the current one was seen."""

    model_ns: int
    seen: int


class Act(NamedTuple):
    """One thing an agent did, as far as repetition is concerned.

    Attributes:
        key: equal for the same call with the same end; it begins with the action and its arguments.
        action: tool, model or decision name.
        span_id: of the step.
        start_ns: of the step.
        end_ns: of the step.
        interval_ns: from the start of the act before, without the time that the model took in between.
        signature: class of its error, "" when it worked.
        known: 2 when both arguments and end are known, 1 for one of them, 0 for a mere name.
        polling: it asks how something is coming along.
    """

    key: Key
    action: str
    span_id: str
    start_ns: int
    end_ns: int
    interval_ns: int
    signature: str
    known: int
    polling: bool


_act: Final = tuple.__new__
"""Makes an :class:`Act` from its fields in order, in half the time: there is one for each step."""


@dataclass(slots=True)
class Track:
    """The last acts of one kind, oldest first, with how often each key is among them."""

    acts: list[Act] = field(default_factory=list)
    counts: dict[Hashable, int] = field(default_factory=dict)

    def push(self, act: Act) -> int:
        """Take an act in; returns how often its like is here now."""
        acts, counts = self.acts, self.counts
        acts.append(act)
        if len(acts) > ACTS:
            left = acts.pop(0).key
            if (others := counts[left] - 1) > 0:
                counts[left] = others
            else:
                del counts[left]
        counts[act.key] = seen = counts.get(act.key, 0) + 1
        return seen

    def clear(self) -> None:
        self.acts.clear()
        self.counts.clear()

    def copy(self) -> Track:
        return Track(self.acts.copy(), self.counts.copy())


def push(lane: Timed, track: Track, step: Step, key: Key, outcome: Outcome, known: int) -> Track:
    """Take a step in as the track's next act."""
    last = track.acts[-1] if track.acts else None
    interval = max(0, step.start_ns - last.start_ns - lane.model_ns) if last is not None else 0
    lane.model_ns = 0
    result = step.result
    if is_polling(step.action):
        polling = result is None or outcome.type != "" or is_unsettled(result)
    else:
        polling = result is not None and not outcome.type and is_pending(result)
    lane.seen = track.push(
        _act(
            Act,
            (
                key,
                step.action,
                step.ref.span_id,
                step.start_ns,
                step.end_ns,
                interval,
                outcome.signature,
                known,
                polling,
            ),
        )
    )
    return track
