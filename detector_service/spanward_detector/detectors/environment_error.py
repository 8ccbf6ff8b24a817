"""What the tool stands on is not there: a module, a file, a permission, a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spanward_detector.detectors.base import Classified
from spanward_detector.model import Step


@dataclass(frozen=True, slots=True)
class EnvironmentFailure(Classified):
    """A call failed for a reason outside of it, so that the same call cannot work until that changes.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "environment_error"
    failure_types: ClassVar[tuple[str, ...]] = ("environment_error",)

    def says(self, step: Step) -> str:
        return f"{step.action} failed for its environment" + (f": {step.error_type}" if step.error_type else "")
