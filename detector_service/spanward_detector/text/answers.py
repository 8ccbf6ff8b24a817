"""Final answers, and which of them can be held against what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spanward_detector.text.words import language, subject

if TYPE_CHECKING:
    from spanward_detector.model import Step
    from spanward_detector.run import Run


class Matter(NamedTuple):
    """What a request and its answer are about.

    Attributes:
        asked: stems of the words of the request that carry a subject.
        told: those of the answer.
        language: of both.
    """

    asked: frozenset[str]
    told: frozenset[str]
    language: str


def final_answer(step: Step, run: Run) -> str:
    """The text of a model call that worked and calls nothing; "" where it is another step or is not known."""
    return step.answer or "" if step.n_calls == 0 and not run.outcome.type else ""


def request_of(step: Step) -> str:
    """What the user said last before a model call; "" when it is not known."""
    return next((text for role, text in reversed(step.said) if role == "user"), "")


def matter(request: str, answer: str, request_words: int, answer_words: int) -> Matter | None:
    """What both are about; None where they cannot be compared.

    Short ones are not compared, a number or a yes needs no word of the question; nor is an answer that asks back, or
    one in another language.
    """
    if "?" in answer or "？" in answer:
        return None
    asked = subject(request)
    if len(asked) < request_words:
        return None
    told = subject(answer)
    if len(told) < answer_words:
        return None
    spoken = language(answer)
    if not spoken or spoken != language(request):
        return None
    return Matter(asked, told, spoken)
