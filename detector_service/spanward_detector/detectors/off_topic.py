"""An answer about something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.text.answers import final_answer, matter, request_of
from spanward_detector.text.words import subject

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class OffTopic:
    """A long final answer shares no word, name or number with the request and with what tools returned for it.

    Words count by their stems. Only a request and an answer in the same language are compared, and short ones are not:
    a number or a yes needs no word of the question. An answer that asks back is none. With the extra ``[semantic]`` the
    same is also asked by meaning: see ``docs/semantic.md``.

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
        answer = final_answer(step, run)
        if not answer or not step.said:
            return None
        about = matter(request_of(step), answer, self.request_words, self.answer_words)
        if about is None or about.told & about.asked:
            return None
        told = about.told
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
            facts={"request_words": len(about.asked), "answer_words": len(told)},
        )
