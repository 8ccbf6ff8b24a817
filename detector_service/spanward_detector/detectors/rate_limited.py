"""A server said: too many requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class RateLimited:
    """A call ended with status 429, whatever its body calls it; the server's Retry-After is among the facts.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "rate_limited"
    failure_types: ClassVar[tuple[str, ...]] = ("rate_limited",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type != self.name:
            return None
        return finding(self, step, run, f"{step.action} was refused for its rate (429)")
