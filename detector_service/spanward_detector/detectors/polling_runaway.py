"""Asking how it is coming along, without end and without waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.detectors.loop import waiting
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class PollingRunaway:
    """A tool that asks for a state gets the same one many times in a row, a few seconds apart.

    Told from a loop by the tool's name or by a result such as "running"; told from waiting by the time in between.

    Attributes:
        mode: observe or act.
        repeats: equal answers in a row.
        close_s: longer times between two calls are waiting.
    """

    name: ClassVar[str] = "polling_runaway"
    failure_types: ClassVar[tuple[str, ...]] = ("polling_runaway",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    repeats: int = 10
    close_s: float = 30.0

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.lane.seen < self.repeats or run.track is None:
            return None
        acts = run.track.acts
        last = acts[-1]
        if not last.polling or last.signature or last.known < 2:
            return None
        polls = [act for act in acts[-4 * self.repeats :] if act.key == last.key][-self.repeats :]
        if len(polls) < self.repeats or waiting(acts[acts.index(polls[0]) :], self.close_s, self.close_s):
            return None
        count = run.lane.seen
        return finding(
            self,
            step,
            run,
            f"{step.action} was asked {count} times and always said the same",
            severity="warning",
            facts={"count": count, "interval_ms": round((last.start_ns - polls[0].start_ns) / 1e6 / (len(polls) - 1))},
            evidence=tuple(act.span_id for act in polls),
        )
