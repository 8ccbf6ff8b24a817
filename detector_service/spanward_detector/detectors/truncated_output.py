"""A model's output that its token limit cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


def cut_off(step: Step) -> bool:
    """True for a model call whose output ended at the limit, whatever its finish reason says."""
    return step.finish_reason == "length" or 0 < step.max_tokens <= step.output_tokens


@dataclass(frozen=True, slots=True)
class TruncatedOutput:
    """The finish reason says so, or exactly as many tokens came as were allowed.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "truncated_output"
    failure_types: ClassVar[tuple[str, ...]] = ("truncated_output",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if not cut_off(step) or run.outcome.type:
            return None
        facts: dict[str, str | int | float] = {"output_tokens": step.output_tokens}
        if step.max_tokens:
            facts["max_tokens"] = step.max_tokens
        if step.calls:
            facts["call"] = step.calls[-1].name
        return finding(self, step, run, f"the output of {step.action} was cut off by the token limit", facts=facts)
