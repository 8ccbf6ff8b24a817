"""What the tool stands on is not there: a module, a file, a permission, a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class EnvironmentFailure:
    """A call failed for a reason outside of it, so that the same call cannot work until that changes.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "environment_error"
    failure_types: ClassVar[tuple[str, ...]] = ("environment_error",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type != self.name:
            return None
        return finding(
            self,
            step,
            run,
            f"{step.action} failed for its environment" + (f": {step.error_type}" if step.error_type else ""),
        )
