"""A model that is no longer told what it is to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

_WHAT: Final = {
    "request": "the original request",
    "system": "the system text",
    "fact": "an id or number of the original request",
}


@dataclass(frozen=True, slots=True)
class GoalLost:
    """A conversation goes on, and the first request, its ids and numbers, or the system text have gone from the input.

    A summary that has most of the request's words keeps it. Said once, at the model call that first lacks it; as
    information where the user has asked for more since.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "goal_lost"
    failure_types: ClassVar[tuple[str, ...]] = ("goal_lost",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        goal = run.lane.goal
        if not goal.lost:
            return None
        return finding(
            self,
            step,
            run,
            f"{_WHAT[goal.lost]} is no longer part of what the model is told",
            severity="info" if goal.moved else "warning",
            facts={"lost": goal.lost},
        )
