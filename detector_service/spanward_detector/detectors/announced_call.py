"""A reply that announces a call and does not make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector import codeact
from spanward_detector.codeact import FINAL_ANSWER
from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class AnnouncedCall:
    """An agent that acts by code says which tool or agent it asks now, and its code asks none: it talks to itself.

    The result of such a step is what the agent wrote, so nothing new comes of it. Only runs whose tools are known and
    that end by a ``final_answer`` call are looked at: in other runs a code block may be meant for the user.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "announced_call"
    failure_types: ClassVar[tuple[str, ...]] = ("no_progress",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        text = step.answer
        if not text or step.n_calls or FINAL_ANSWER not in run.declared or "```" not in text:
            return None
        reply = codeact.read(text)
        if not reply.has_code or reply.calls & run.declared.keys():
            return None
        announced = codeact.named(reply.prose, run.declared)
        if not announced:
            return None
        return finding(
            self,
            step,
            run,
            f"the reply announces {', '.join(sorted(announced)[:3])}, and its code does not call it",
            severity="warning",
            facts={"why": "announced", "count": len(announced)},
        )
