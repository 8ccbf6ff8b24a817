"""Steps that must have been and were not seen. Says that we are blind, never that the agent did nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.memory import Request
from spanward_detector.model import Finding, Kind, SpanRef, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

_LOST: Final = {
    "attributes": "the agent's OpenTelemetry SDK dropped attributes (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT)",
    "values": "the agent's OpenTelemetry SDK cut values off (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)",
}


@dataclass(frozen=True, slots=True)
class TelemetryGap:
    """Not all calls of a reply were seen, numbers are missing among the steps, a run has none, or a step came too late.

    Likewise where the limits of the agent's OpenTelemetry SDK dropped attributes of steps or cut their values off: what
    is not whole is judged as if it had not been recorded.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "telemetry_gap"
    failure_types: ClassVar[tuple[str, ...]] = ("telemetry_gap",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM, Kind.TOOL, Kind.TICK})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.lost and run.memory.lost[step.lost] == step.ref:
            return finding(
                self,
                step,
                run,
                _LOST[step.lost],
                severity="warning" if step.lost == "attributes" else "info",
                facts={"why": step.lost},
            )
        if step.kind is Kind.LLM:
            return self._partly_seen(step, run, run.lane.answered)
        if step.kind is Kind.TOOL:
            return None
        if run.late and run.late_ref is not None:
            return finding(
                self,
                step,
                run,
                f"{run.late} steps came too late to be judged",
                severity="warning",
                facts={"count": run.late, "why": "late"},
                ref=run.late_ref,
            )
        tick = step.tick
        return None if tick is None or tick.run_open else self._at_the_end(step, run)

    def _at_the_end(self, step: Step, run: Run) -> Finding | None:
        memory = run.memory
        if memory.missing:
            return finding(
                self,
                step,
                run,
                f"{memory.missing} numbers are missing among the steps",
                severity="warning",
                facts={"count": memory.missing, "why": "numbers"},
                ref=run.last_ref(),
            )
        if not memory.steps and run.agents:
            return finding(
                self,
                step,
                run,
                "no step of the run was seen",
                severity="warning",
                facts={"why": "empty"},
                ref=run.last_ref(),
            )
        open_requests = (self._partly_seen(step, run, lane.request) for lane in memory.lanes.values())
        return next((found for found in open_requests if found is not None), None)

    def _partly_seen(self, step: Step, run: Run, request: Request | None) -> Finding | None:
        if request is None or not 0 < request.seen < request.asked:
            return None
        missing = request.asked - request.seen
        return finding(
            self,
            step,
            run,
            f"{missing} of {request.asked} calls that the model asked for were not seen",
            severity="info",
            facts={"count": missing, "why": "calls"},
            ref=SpanRef(request.trace_id, request.span_id),
        )
