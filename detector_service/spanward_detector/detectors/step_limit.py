"""More steps than a run may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import NUMBERED, Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class StepLimit:
    """A run goes on beyond the limit that it, or the policy, states; without one a long run is only noted, once.

    Attributes:
        mode: observe or act.
        max_steps: for runs that state none; 0 = not stated.
        note_after: steps after which a run without any limit is noted; 0 = never.
    """

    name: ClassVar[str] = "step_limit"
    failure_types: ClassVar[tuple[str, ...]] = ("step_limit",)
    kinds: ClassVar[frozenset[Kind]] = NUMBERED
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    max_steps: int = 0
    note_after: int = 15

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        limit = run.max_steps or self.max_steps
        if limit:
            if step.index <= limit:
                return None
            return finding(
                self, step, run, f"step {step.index} of at most {limit}", facts={"count": step.index, "limit": limit}
            )
        if step.index != self.note_after + 1 or not self.note_after:
            return None
        return finding(
            self,
            step,
            run,
            f"the run has taken more than {self.note_after} steps",
            severity="info",
            facts={"count": step.index},
        )
