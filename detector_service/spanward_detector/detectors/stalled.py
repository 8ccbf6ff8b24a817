"""A run that is open, heard of, and does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class Stalled:
    """Heartbeats come, nothing is in flight, and nothing has started or ended for long. It carries the agent's stack.

    A heartbeat alone proves only that the process lives: its thread beats on while the agent's own code is stuck.

    Attributes:
        mode: observe or act.
        idle_s: seconds without a start or an end.
        beat_s: a heartbeat older than this does not count.
    """

    name: ClassVar[str] = "stalled"
    failure_types: ClassVar[tuple[str, ...]] = ("stalled",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TICK})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    idle_s: float = 60.0
    beat_s: float = 10.0

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        tick = step.tick
        if tick is None or not tick.run_open or tick.in_flight or tick.idle_ms is None or tick.heartbeat_age_ms is None:
            return None
        if tick.idle_ms < self.idle_s * 1000 or tick.heartbeat_age_ms > self.beat_s * 1000:
            return None
        recent = run.recent
        return finding(
            self,
            step,
            run,
            f"nothing has happened for {tick.idle_ms / 1000:.0f} s",
            severity="warning",
            facts={"idle_ms": tick.idle_ms, "steps": run.steps},
            ref=run.last_ref(),
            action=recent[-1].action if recent else "",
            evidence=tuple(s.ref.span_id for s in recent[-3:]),
            stack=tick.stack,
        )
