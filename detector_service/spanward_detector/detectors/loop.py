"""The same again, and again: one action, or a cycle of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.text.times import asked_times
from spanward_detector.tracks import Act

if TYPE_CHECKING:
    from spanward_detector.run import Run

_GROWTH: Final = 1.5


def waiting(acts: Sequence[Act], close_s: float, patient_s: float) -> bool:
    """True when the times between acts say that somebody waits: long ones, or ones that keep growing.

    Args:
        acts: in order; the first one's interval belongs to what was before.
        close_s: a longer interval is a wait.
        patient_s: growth counts only once an interval is as long as this.
    """
    intervals = [act.interval_ns / 1e9 for act in acts[1:]]
    if not intervals:
        return False
    if max(intervals) > close_s:
        return True
    grows = all(b >= _GROWTH * a for a, b in pairwise(intervals))
    return len(intervals) > 1 and grows and intervals[-1] >= patient_s


@dataclass(frozen=True, slots=True)
class Loop:
    """Equal calls with equal ends, close together: by one agent, with the same canonical arguments, result or error.

    As many as the request asks for in so many words are none. Changing results are progress, long or growing times in
    between are waiting, parallel calls and attempts of one call are one, sub-agents are told apart. Without content the
    digests and error classes that the gate gives serve; where there is nothing but a name, more repeats are needed and
    it is information only.

    Attributes:
        mode: observe or act.
        repeats: equal rounds that make a loop.
        longest_cycle: acts in one round, at most.
        close_s: longer times between two acts are waiting.
        patient_s: growing times are waiting from this length on.
        blind_repeats: equal rounds where arguments and end are not both known.
    """

    name: ClassVar[str] = "loop"
    failure_types: ClassVar[tuple[str, ...]] = ("loop",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL, Kind.LLM, Kind.DECISION})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    repeats: int = 3
    longest_cycle: int = 8
    close_s: float = 60.0
    patient_s: float = 2.0
    blind_repeats: int = 4

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        lane = run.lane
        if lane.seen < self.repeats or run.track is None:
            return None
        acts = run.track.acts
        last = acts[-1]
        if last.polling and not last.signature:
            return None  # asking again is what polling is; polling_runaway has its own measure
        needed = self.repeats if last.known == 2 or (last.known and last.signature) else self.blind_repeats
        for period in range(1, self.longest_cycle + 1):
            rounds = _rounds(acts, period)
            if rounds < needed or (period > 1 and any(act.polling for act in acts[-period:])):
                continue
            if rounds <= max(map(asked_times, (*run.memory.heard.requests, lane.goal.request))):
                return None  # it is what the user wants
            if waiting(acts[-period * needed :], self.close_s, self.patient_s):
                return None
            return self._found(step, run, acts, period, rounds)
        return None

    def _found(self, step: Step, run: Run, acts: Sequence[Act], period: int, rounds: int) -> Finding:
        last = acts[-1]
        severity: Severity = "error" if last.signature or rounds >= 2 * self.repeats else "warning"
        if not last.known:
            severity = "info"
        what = step.action if period == 1 else f"a cycle of {period} actions"
        end = (
            "the same error"
            if last.signature
            else "the same result"
            if last.known == 2
            else "no more to tell them apart"
        )
        return finding(
            self,
            step,
            run,
            f"{what} {rounds} times in a row with {end}",
            severity=severity,
            facts={"count": rounds, "period": period, "failing": int(bool(last.signature))},
            evidence=tuple(act.span_id for act in acts[-min(period * rounds, 24) :]),
        )


def _rounds(acts: Sequence[Act], period: int) -> int:
    """How many times the last ``period`` acts stand in a row at the end."""
    if len(acts) <= period or acts[-1].key != acts[-1 - period].key:
        return 1
    same = 0
    for back in range(len(acts) - 1, period - 1, -1):
        if acts[back].key != acts[back - period].key:
            break
        same += 1
    return 1 + same // period
