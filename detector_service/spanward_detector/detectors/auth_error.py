"""A server wants to know who is asking, or does not let them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class AuthError:
    """A call ended with 401, 403 or 407, or with an exception that means the same.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "auth_error"
    failure_types: ClassVar[tuple[str, ...]] = ("auth_error",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type != self.name:
            return None
        return finding(self, step, run, f"{step.action} was refused: not authenticated or not allowed")
