"""A second source says that what a tool reported is not so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """The cross-check of a tool, which the gate made right after a call that worked, does not agree with its result.

    A check that could not be made is information.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "cross_check"
    failure_types: ClassVar[tuple[str, ...]] = ("silent_error",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.VALIDATION})
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        told = step.extra
        if told.get("check") != self.name or told.get("passed"):
            return None
        contradicted = told.get("passed") is False
        how = "a second source denies it" if contradicted else "that could not be checked"
        return finding(
            self,
            step,
            run,
            f"{step.action} reported success, and {how}",
            severity="error" if contradicted else "info",
            facts={"sign": "cross_check", "why": str(told.get("why") or "")},
        )
