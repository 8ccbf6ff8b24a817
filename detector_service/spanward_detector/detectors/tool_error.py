"""A tool raised, or returned what its protocol flags as an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spanward_detector.detectors.base import Classified
from spanward_detector.model import Kind, Step


@dataclass(frozen=True, slots=True)
class ToolError(Classified):
    """The tool failed and nothing more specific is known.

    The first failure in a row whose text says that it is for now ("service unavailable", "overloaded") is information
    where no gate waits to call again and the call cannot have had an effect.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "tool_error"
    failure_types: ClassVar[tuple[str, ...]] = ("tool_error",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})

    def says(self, step: Step) -> str:
        return f"{step.action} failed" + (f" with {step.error_type}" if step.error_type else "")
