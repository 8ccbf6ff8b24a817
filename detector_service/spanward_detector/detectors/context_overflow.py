"""The model was sent more than it can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spanward_detector.detectors.base import Classified
from spanward_detector.model import Step


@dataclass(frozen=True, slots=True)
class ContextOverflow(Classified):
    """A model call failed because its input is longer than the context window.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "context_overflow"
    failure_types: ClassVar[tuple[str, ...]] = ("context_overflow",)

    def says(self, step: Step) -> str:
        return f"the input is too long for {step.action}"
