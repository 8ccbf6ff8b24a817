"""A model that answered nothing at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class EmptyOutput:
    """No text and no call, from a model call that ended well and was not cut off or filtered.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "empty_output"
    failure_types: ClassVar[tuple[str, ...]] = ("empty_output",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.n_calls or step.calls or run.outcome.type or step.finish_reason in ("length", "content_filter"):
            return None
        answer = step.answer_facts
        if answer is not None:
            nothing = answer.empty
        else:  # content is recorded, and there is none
            nothing = step.n_calls == 0 and not step.finish_reason and not step.output_tokens
        if not nothing:
            return None
        return finding(self, step, run, f"{step.action} answered nothing", facts={"output_tokens": step.output_tokens})
