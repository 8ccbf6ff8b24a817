"""A call that has started and does not end, or that had to be cut short for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.memory import NOTHING_KNOWN
from spanward_detector.model import Finding, InFlight, Kind, SpanRef, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class Hung:
    """A call in flight is older than its own time, or the policy's; else than twice its longest normal time.

    While it can still be interrupted it is a warning; a call that was interrupted comes back as an error at its own
    step, so that something else takes its place. Where nobody states a time, only a call that can be interrupted is
    acted on; others are information until they are far beyond what is normal.

    Attributes:
        mode: observe or act.
        factor: times the longest normal duration of the same tool in this run.
        default_s: seconds for a tool of which nothing is known, and the least that is ever learned.
        far: times the learned deadline from which on it is a warning in any case.
        grace_s: seconds that the gate's own timeout has before this one speaks.
    """

    name: ClassVar[str] = "hung"
    failure_types: ClassVar[tuple[str, ...]] = ("hung",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TICK, Kind.TOOL})
    on: ClassVar[On] = "odd"

    mode: Mode = "act"
    factor: float = 2.0
    default_s: float = 10.0
    far: float = 10.0
    grace_s: float = 0.5

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.kind is Kind.TOOL:
            return self._cut_short(step, run)
        tick = step.tick
        if tick is None or not tick.in_flight:
            return None
        oldest = max(tick.in_flight, key=lambda call: call.age_ms - self._deadline_ms(call, run))
        deadline_ms = self._deadline_ms(oldest, run)
        if oldest.age_ms <= deadline_ms:
            return None
        stated = bool(oldest.timeout_s or run.deadlines.get(oldest.action))
        sure = stated or oldest.interruptible or oldest.age_ms > self.far * deadline_ms
        return finding(
            self,
            step,
            run,
            f"{oldest.action} has not ended for {oldest.age_ms / 1000:.1f} s",
            severity="error" if stated and not oldest.interruptible else "warning" if sure else "info",
            facts={
                "tool": oldest.action,
                "age_ms": oldest.age_ms,
                "deadline_ms": round(deadline_ms),
                "interruptible": int(oldest.interruptible),
            },
            ref=SpanRef(run.last_ref().trace_id, oldest.span_id),
            action=oldest.action,
            stack=oldest.stack,
        )

    def _cut_short(self, step: Step, run: Run) -> Finding | None:
        if run.outcome.type != self.name:
            return None
        return finding(
            self,
            step,
            run,
            f"{step.action} was interrupted after {step.duration_ms / 1000:.1f} s",
            facts={"age_ms": round(step.duration_ms)},
        )

    def _deadline_ms(self, call: InFlight, run: Run) -> float:
        if stated := call.timeout_s or run.deadlines.get(call.action, 0.0):
            return (stated + self.grace_s) * 1000
        if call.kind != Kind.TOOL:
            return float("inf")  # a model thinks as long as it thinks, unless somebody states a time
        normal = run.memory.tools.get(call.action, NOTHING_KNOWN)
        return max(self.default_s * 1000, self.factor * normal.longest_ns / 1e6)
