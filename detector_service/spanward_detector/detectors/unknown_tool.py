"""A call of a tool that does not exist."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class UnknownTool:
    """The model calls a tool that was not declared, or the framework says that there is none of that name.

    Attributes:
        mode: observe or act.
        likeness: how alike a declared name has to be, 0 to 1, to be named as the one that may have been meant.
    """

    name: ClassVar[str] = "unknown_tool"
    failure_types: ClassVar[tuple[str, ...]] = ("unknown_tool",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "odd"

    mode: Mode = "act"
    likeness: float = 0.8

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.unknown_tools:
            called = step.unknown_tools[0]
        elif run.outcome.type == self.name:
            called = step.action if step.kind is Kind.TOOL else ""
        else:
            return None
        declared = step.declared_tools or run.declared
        facts: dict[str, str | int | float] = {"tool": called, "declared_tools": len(declared)}
        if alike := difflib.get_close_matches(called, list(declared)[:256], n=1, cutoff=self.likeness):
            facts["nearest"] = alike[0]
        named = f" named {called}" if called else ""
        return finding(self, step, run, f"there is no tool{named}", facts=facts, action=called or step.action)
