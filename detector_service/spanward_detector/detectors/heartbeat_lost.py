"""An agent that is not heard any more while its run is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class HeartbeatLost:
    """The control stream has been silent for too long: the process is dead, frozen or cut off.

    Attributes:
        mode: observe or act.
        after_s: seconds without a heartbeat.
    """

    name: ClassVar[str] = "heartbeat_lost"
    failure_types: ClassVar[tuple[str, ...]] = ("heartbeat_lost",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TICK})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    after_s: float = 30.0

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        tick = step.tick
        if tick is None or not tick.run_open or tick.heartbeat_age_ms is None:
            return None
        if tick.heartbeat_age_ms < self.after_s * 1000:
            return None
        in_flight = tick.in_flight[0].action if tick.in_flight else ""
        return finding(
            self,
            step,
            run,
            f"the agent has not been heard for {tick.heartbeat_age_ms / 1000:.0f} s",
            facts={"age_ms": tick.heartbeat_age_ms, "steps": run.steps},
            ref=run.last_ref(),
            action=in_flight,
        )
