"""A model that answered nothing at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.naming import words

if TYPE_CHECKING:
    from spanward_detector.run import Run


_SHOWS: Final = frozenset({
    "render", "show", "display", "present", "chart", "plot", "widget", "card", "form", "reply", "respond", "answer",
    "finish", "submit", "complete", "done", "end", "say", "speak", "send", "message",
})  # fmt: skip


@lru_cache(maxsize=1024)
def _shows(action: str) -> bool:
    """True for the name of a tool that gives the user the answer."""
    return not words(action).isdisjoint(_SHOWS)


_ASKED: Final = frozenset({
    "delegate", "delegated", "subagent", "agent", "agents", "handoff", "assistant", "worker", "expert", "consult",
    "coworker",
})  # fmt: skip


@lru_cache(maxsize=1024)
def _asks(action: str) -> bool:
    """True for the name of a tool that has somebody else do the work and say how it went."""
    return not words(action).isdisjoint(_ASKED)


@dataclass(frozen=True, slots=True)
class EmptyOutput:
    """No text and no call, from a model call that ended well and was not cut off or filtered.

    The same of an agent that was asked by a tool: it says nothing, and the tool says that all is well. After a tool
    that shows or sends the user something there is nothing left to say.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "empty_output"
    failure_types: ClassVar[tuple[str, ...]] = ("empty_output",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM, Kind.TOOL})
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.kind is Kind.TOOL:
            return self._of_tool(step, run)
        if step.n_calls or step.calls or run.outcome.type or step.finish_reason in ("length", "content_filter"):
            return None
        answer = step.answer_facts
        if answer is not None:
            nothing = answer.empty
        else:  # content is recorded, and there is none
            nothing = step.n_calls == 0 and not step.finish_reason and not step.output_tokens
        if not nothing or _shows(run.memory.last_tool):
            return None
        return finding(self, step, run, f"{step.action} answered nothing", facts={"output_tokens": step.output_tokens})

    def _of_tool(self, step: Step, run: Run) -> Finding | None:
        facts = step.result_facts
        if facts is None or not facts.empty or run.outcome.type or not _asks(step.action):
            return None
        return finding(self, step, run, f"{step.action} brought back nothing", severity="warning")
