"""A model that declines, or a provider's policy that stops it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.outcome import is_policy_refusal

if TYPE_CHECKING:
    from spanward_detector.run import Run

_DECLINES: Final = re.compile(
    r"\s{0,8}(?:i['’]?m sorry|i am sorry|sorry|i apologi[sz]e)\b[^.\n]{0,60}\b(?:can['’]?t|cannot|unable to|won['’]?t)"
    r"\s[^.\n]{0,40}\b(?:assist|help|comply|provide|fulfill|do that)\b",
    re.IGNORECASE,
)
_SHORT: Final = 400
_TAIL: Final = 2048


@dataclass(frozen=True, slots=True)
class Refusal:
    """A filter ended the answer, a content policy refused the request, or a short answer only says sorry.

    The provider's refusal is known by the error that it sends: the error of a model call, of a tool that called a
    model, or the same error object at the end of what such a tool returned. Saying sorry is information, for it may be
    right.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "refusal"
    failure_types: ClassVar[tuple[str, ...]] = ("refusal",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM, Kind.TOOL, Kind.DECISION})
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.finish_reason == "content_filter":
            return finding(self, step, run, f"a filter ended the answer of {step.action}", severity="warning")
        if step.failed:
            if not is_policy_refusal(step.error_text or ""):
                return None
            return finding(self, step, run, f"a content policy refused a request of {step.action}", severity="warning")
        if step.kind is not Kind.LLM:
            text = step.result if step.kind is Kind.TOOL else step.answer
            if text is None or text.find("filter", -_TAIL) < 0 or not is_policy_refusal(text[-_TAIL:]):
                return None
            return finding(self, step, run, f"a content policy refused a request of {step.action}", severity="warning")
        if step.answer is None or step.n_calls or len(step.answer) > _SHORT or not _DECLINES.match(step.answer):
            return None
        return finding(self, step, run, f"{step.action} declined", severity="info")
