"""What is asked of the model about a final answer: its text and what the agent had been given by then. Plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanward_detector.model import Finding, Kind, SpanRef, Step
from spanward_detector.text.answers import final_answer, request_of

if TYPE_CHECKING:
    from spanward_detector.run import Run

_ANSWER: Final = 8_192
_REQUEST: Final = 4_096
_SYSTEM: Final = 8_192
"""Characters that are read of each; what was heard is bounded by the run's memory."""


@dataclass(frozen=True, slots=True)
class Question:
    """A final answer and what it may rest on, as of its step.

    Attributes:
        run_id: of the run.
        ref: span of the answer.
        step: its number.
        agent: that gave it.
        action: the model's name.
        answer: its text; "" = the step turned out to be no final answer, there is nothing to ask any more.
        request: what the user said last; "" when it is not known.
        system: system texts.
        heard: requests, system texts and results, the latest first.
        whole: tools were used and everything that was said and returned is among ``heard``.
        known: failure types that rules have found at the step.
    """

    run_id: str
    ref: SpanRef
    step: int
    agent: str
    action: str
    answer: str = ""
    request: str = ""
    system: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    whole: bool = False
    known: frozenset[str] = frozenset()


def question(step: Step, run: Run, found: Iterable[Finding]) -> Question | None:
    """What to ask about a step that is being told, with the run as of it; None for a step that is no final answer.

    A step that was one when it was told before, and is none any more, gives a question without an answer.

    Args:
        step: at hand.
        run: as of it.
        found: by rules, at the step.
    """
    if step.kind is not Kind.LLM:
        return None
    answer = final_answer(step, run)
    if not answer:
        if not run.asked:
            return None
        run.asked = False
        return Question(run.id, step.ref, step.index, step.agent or run.agent, step.action)
    run.asked = True
    heard = run.memory.heard
    return Question(
        run_id=run.id,
        ref=step.ref,
        step=step.index,
        agent=step.agent or run.agent,
        action=step.action,
        answer=answer[:_ANSWER],
        request=request_of(step)[:_REQUEST],
        system=tuple(text[:_SYSTEM] for role, text in step.said if role == "system")[:1],
        heard=tuple(heard.texts()),
        whole=heard.asked and bool(heard.returned) and not heard.partial,
        known=frozenset(f.failure_type for f in found if f.severity != "info"),
    )
