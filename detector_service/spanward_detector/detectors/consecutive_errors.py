"""One failure after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class ConsecutiveErrors:
    """Tool calls, or model calls, of one agent failed in a row. Parallel ones and attempts of one call count once.

    Attributes:
        mode: observe or act.
        repeats: failures in a row.
    """

    name: ClassVar[str] = "consecutive_errors"
    failure_types: ClassVar[tuple[str, ...]] = ("consecutive_errors",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"
    repeats: int = 3

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        streak = run.lane.tool_errors if step.kind is Kind.TOOL else run.lane.model_errors
        if streak.count < self.repeats:
            return None
        what = "tool" if step.kind is Kind.TOOL else "model"
        return finding(
            self,
            step,
            run,
            f"{streak.count} {what} calls failed in a row",
            facts={"count": streak.count},
            evidence=streak.span_ids,
        )
