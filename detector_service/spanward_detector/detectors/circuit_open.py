"""A tool that is out for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class CircuitOpen:
    """A tool failed so often in a row, over all runs, that its breaker opens; or the gate kept a call back for it.

    Only failures of the environment count: no answer, too late, a server error, too many requests. The section
    ``breaker`` of the policy says how many, and for how long. What takes the place of the call is decided at the gate.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "circuit_open"
    failure_types: ClassVar[tuple[str, ...]] = ("circuit_open",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "odd"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        extra = step.extra
        if extra and extra.get("refused") == "breaker":
            return finding(
                self,
                step,
                run,
                f"{step.action} was not called: its breaker is open",
                severity="warning",
                facts={"why": "refused"},
            )
        if run.outcome.type and (count := run.fleet.tripped(step.ref)):
            return finding(
                self,
                step,
                run,
                f"{step.action} failed {count} times in a row over all runs: its breaker opens",
                severity="warning",
                facts={"why": "tripped", "count": count},
            )
        return None
