"""An answer about something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.text.words import language, subject

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class OffTopic:
    """A long final answer shares no word, name or number with the request and with what tools returned for it.

    Words count by their stems. Only a request and an answer in the same language are compared, and short ones are not:
    a number or a yes needs no word of the question. An answer that asks back is none.

    Attributes:
        mode: observe or act.
        request_words: words that carry a subject which the request has at least.
        answer_words: the same for the answer.
    """

    name: ClassVar[str] = "off_topic"
    failure_types: ClassVar[tuple[str, ...]] = ("off_topic",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"
    request_words: int = 6
    answer_words: int = 25

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        answer = step.answer
        if not answer or "?" in answer or "？" in answer or step.n_calls != 0 or run.outcome.type or not step.said:
            return None
        request = next((text for role, text in reversed(step.said) if role == "user"), "")
        asked = subject(request)
        if len(asked) < self.request_words:
            return None
        told = subject(answer)
        if len(told) < self.answer_words or told & asked:
            return None
        spoken = language(answer)
        if not spoken or spoken != language(request):
            return None
        # A system text may call for such an answer, and what tools returned may be what it is about.
        given = [text for role, text in step.said if role == "system"] + run.memory.heard.texts()[:4]
        if any(len(told & subject(text)) * 4 >= len(told) for text in given):
            return None
        return finding(
            self,
            step,
            run,
            "the answer shares no word with the request",
            severity="warning",
            facts={"request_words": len(asked), "answer_words": len(told)},
        )
