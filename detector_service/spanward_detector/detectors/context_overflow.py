"""The model was sent more than it can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """A model call failed because its input is longer than the context window.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "context_overflow"
    failure_types: ClassVar[tuple[str, ...]] = ("context_overflow",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type != self.name:
            return None
        return finding(self, step, run, f"the input is too long for {step.action}")
