"""An answer that says that the work is done, or waits for work, where no step shows any."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.text.words import subject

if TYPE_CHECKING:
    from spanward_detector.run import Run

_TASK: Final = 3
"""Words that carry a subject, from which on what the user said is a task."""
_TO_WAIT: Final = re.compile(
    r"\b(?:wait|hold on|not yet|until i|are you ready|when i say|standby|stand by|warte|noch nicht|bist du bereit"
    r"|espera|todavía no|attends|pas encore|wacht|nog niet|várj)\b|等|待っ|기다",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PrematureDone:
    """The last answer waits for work though no tool was ever called, or tells of an effect that no call can have had.

    Effects are what is sent, booked, paid, deleted, published and the like.

    Which calls those are is what the tools state, else what their names say: a tool that may write excuses every claim.
    An answer that speaks of a failure claims nothing.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "premature_done"
    failure_types: ClassVar[tuple[str, ...]] = ("premature_done",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        answer, memory = step.answer_facts, run.memory
        if answer is None or not answer.claim or run.outcome.type or not _final(step):
            return None
        idle = not memory.acted and not memory.asked
        if answer.claim == "standby":
            if not idle or not _has_task(step) or _goes_on(step):
                return None
            message = "the answer waits to be told what to do, and nothing was done"
        else:
            # Without tool spans nobody knows what the calls that were asked for did.
            looked = memory.acted and not memory.wrote
            declared = bool(step.declared_tools or run.declared)
            if answer.admits_failure or not (looked or (idle and declared)) or _goes_on(step):
                return None
            message = "the answer says that something was done, and no step could have done it"
        return finding(
            self, step, run, message, severity="warning", facts={"claim": answer.claim, "count": memory.steps}
        )


def _final(step: Step) -> bool:
    return step.n_calls == 0 or (step.n_calls is None and step.finish_reason == "stop" and not step.calls)


def _has_task(step: Step) -> bool:
    """The user asked for something, as far as is known, and not to wait."""
    users = [text for role, text in step.said if role == "user"]
    if not users:
        return True
    return len(subject(users[-1])) >= _TASK and _TO_WAIT.search(users[-1][:2000]) is None


def _goes_on(step: Step) -> bool:
    """The user has spoken more than once: it may be their turn, and what is said may have been done before."""
    return sum(role == "user" for role, _ in step.said) > 1
