"""A run that its own framework ended, because it took too long."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

_CLASSES: Final = (
    "GraphRecursionError", "MaxTurnsExceeded", "UsageLimitExceeded", "AgentMaxStepsError", "MaxIterationsReached",
    "MaxIterationsExceeded", "MaxStepsExceeded",
)  # fmt: skip
_MARGIN: Final = 9
_FIRST: Final = frozenset("aAmMrReE")
"""First letters of what is said: a quick look that spares the pattern."""
_UNIT: Final = "(?:time|rounds?|turns?|steps?|iterations?|messages)"
_SAYS: Final = re.compile(
    r"\s{0,8}(?:agent stopped due to (?:iteration|time|max)"
    rf"|max(?:imum)?(?: number of)? {_UNIT}\b[^.\n]{{0,24}}\b(?:reached|exceeded)"
    rf"|(?:reached|exceeded)(?: the)? max(?:imum)?(?: number of)? {_UNIT}\b"
    r"|recursion limit of \d{1,6} reached)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class StoppedByLimit:
    """The framework says that a limit of its own was reached: by the class of its exception, or by how a text begins.

    The run is over by then, so nothing can be ordered; what led there is told by other rules.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "stopped_by_limit"
    failure_types: ClassVar[tuple[str, ...]] = ("step_limit",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM, Kind.TOOL, Kind.DECISION})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.failed and step.error_type.endswith(_CLASSES):
            return finding(self, step, run, f"ended by {step.error_type}", severity="warning")
        text = step.error_text if step.failed else step.answer if step.kind is not Kind.TOOL else step.result
        if not text or text[:_MARGIN].lstrip()[:1] not in _FIRST or not _SAYS.match(text):
            return None
        return finding(self, step, run, "ended by a limit of its framework", severity="warning")
