"""A tool raised, or returned what its protocol flags as an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class ToolError:
    """The tool failed and nothing more specific is known.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "tool_error"
    failure_types: ClassVar[tuple[str, ...]] = ("tool_error",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "failed"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type != self.name:
            return None
        return finding(
            self, step, run, f"{step.action} failed" + (f" with {step.error_type}" if step.error_type else "")
        )
