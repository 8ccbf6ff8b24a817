"""A call that ran out of time, or took longer than it should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class Timeout:
    """A call failed because time ran out; or a tool worked, later than it or the policy allows (a warning, no order).

    A tool for which nobody states a time and that takes long is information only.

    Attributes:
        mode: observe or act.
        default_s: seconds that are noted for tools of which nobody states a time; 0 = never.
    """

    name: ClassVar[str] = "timeout"
    failure_types: ClassVar[tuple[str, ...]] = ("timeout",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    default_s: float = 10.0

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        outcome = run.outcome.type
        if outcome:
            if outcome != self.name:
                return None
            took = round(step.duration_ms)
            return finding(self, step, run, f"{step.action} ran out of time", facts={"duration_ms": took})
        if step.kind is not Kind.TOOL:
            return None
        allowed = step.timeout_s or (run.deadlines.get(step.action, 0.0) if run.deadlines else 0.0)
        limit = allowed or self.default_s
        if not limit or step.end_ns - step.start_ns <= limit * 1e9:
            return None
        took_s = (step.end_ns - step.start_ns) / 1e9
        late = finding(
            self,
            step,
            run,
            f"{step.action} took {took_s:.1f} s" + (f" of {allowed:g} s that it has" if allowed else ""),
            severity="warning" if allowed else "info",
            facts={"duration_ms": round(took_s * 1000), "allowed_ms": round(limit * 1000)},
        )
        return late._replace(mode="observe")  # it has worked: nothing is to be repaired
