"""Different calls, and nothing new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.naming import is_polling

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class NoProgress:
    """The same error whatever the arguments, pages read before, or only calls whose ends are known already.

    Or the same answer, time and again, to a search in other words or to what was stated before.

    Attributes:
        mode: observe or act.
        same_errors: failures in a row of one tool, alike but for their arguments.
        stale_pages: ranges in a row that lie within what was read.
        revisits: calls in a row that were made before with the same end.
        same_answers: calls in a row for the same, in other words, with the same answer.
    """

    name: ClassVar[str] = "no_progress"
    failure_types: ClassVar[tuple[str, ...]] = ("no_progress",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    same_errors: int = 4
    stale_pages: int = 4
    revisits: int = 6
    same_answers: int = 5

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        lane = run.lane
        if run.outcome.type:
            streak = lane.tool_errors
            if streak.same < self.same_errors or lane.seen >= self.same_errors or run.outcome.transient:
                return None
            message = f"{step.action} failed {streak.same} times in a row in the same way with other arguments"
            return self._found(step, run, message, streak.same, "same_error", streak.span_ids)
        if lane.paging and lane.stale_pages >= self.stale_pages:
            message = f"{step.action} has read {lane.stale_pages} ranges in a row that it had read before"
            return self._found(step, run, message, lane.stale_pages, "read_before")
        asked = lane.alike + 1
        if asked >= self.same_answers and lane.seen < self.same_answers and not is_polling(step.action):
            message = f"{step.action} was called {asked} times for the same in other words and always said the same"
            return self._found(step, run, message, asked, "same_answer")
        if lane.revisited < self.revisits or lane.seen <= 1 or run.track is None:
            return None
        acts = run.track.acts[-lane.revisited :]
        if any(act.polling for act in acts):
            return None
        message = f"the last {lane.revisited} calls were all made before with the same results"
        return self._found(step, run, message, lane.revisited, "revisited", tuple(act.span_id for act in acts[-24:]))

    def _found(
        self, step: Step, run: Run, message: str, count: int, why: str, evidence: tuple[str, ...] = ()
    ) -> Finding:
        return finding(
            self, step, run, message, severity="warning", facts={"count": count, "why": why}, evidence=evidence
        )
