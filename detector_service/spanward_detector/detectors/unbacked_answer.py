"""An answer that tells of work which no step shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector import codeact
from spanward_detector.codeact import FINAL_ANSWER
from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

_CLAIMS: Final = re.compile(
    r"\b(?:i|we)(?: have|['’]ve) (?:\w+ )?"
    r"(?:verified|confirmed|searched|consulted|checked|looked up|retrieved|reviewed)"
    r"|\b(?:based on|according to|after) (?:(?:the|our|my|a|an|this|all|extensive|careful|thorough|available) ){1,3}"
    r"(?:\w+ )?(?:verification|search(?:es)?|investigation|research|retrieval|literature|sources?)\b"
    r"|\bi recall(?:ed)? that\b|\b(?:known|know) from the literature\b|\bsourced from\b"
    r"|\bsimulat(?:e|es|ed|ing) (?:\w+ ){0,3}(?:using|use|search|retriev|extract|response|result)",
    re.IGNORECASE,
)
_LOOK_UP: Final = re.compile(
    r"^\s{0,8}\d{1,2}[.)] [^\n]{0,80}?"
    r"\b(?:search|look up|retriev|consult|locate|download|fetch|brows|gather|obtain|find)",
    re.IGNORECASE | re.MULTILINE,
)
_READ: Final = 4096
_EARLIER: Final = 16
"""Replies before the answer that are read for what they planned."""


@dataclass(frozen=True, slots=True)
class UnbackedAnswer:
    """The run answers, no tool was ever called, and yet its answer or its plan speaks of looking things up.

    An earlier reply named one of the run's own tools and nothing called it; or the answer itself says that something
    was searched, verified or recalled; or the plan has steps that look something up. Runs that used any tool, and
    answers that need none, stay quiet; an answer that only says that work could begin is for ``premature_done``.

    Attributes:
        mode: observe or act.
        look_ups: steps of a plan that look something up, from which on an answer without any tool is no answer.
    """

    name: ClassVar[str] = "unbacked_answer"
    failure_types: ClassVar[tuple[str, ...]] = ("premature_done",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"
    look_ups: int = 2

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        text = step.answer
        if not text or step.n_calls or run.outcome.type or run.memory.acted:
            return None
        if not run.declared:
            return None
        reply = codeact.read(text)
        if FINAL_ANSWER not in reply.calls if FINAL_ANSWER in run.declared else reply.has_code:
            return None
        tools = run.declared.keys() - {FINAL_ANSWER}
        if reply.calls & tools:
            return None  # the answer is what its own code brings
        earlier = _earlier(step, run)
        planned = frozenset().union(*(codeact.named(text, tools) for text in earlier))
        if planned:
            names = ", ".join(sorted(planned)[:3])
            return self._finding(step, run, "planned", f"the run answers, and {names} was planned and never called")
        if _CLAIMS.search(text[:_READ]) is not None:
            return self._finding(step, run, "claimed", "the answer speaks of work that no step shows")
        if max((len(_LOOK_UP.findall(text[:_READ])) for text in earlier), default=0) >= self.look_ups:
            return self._finding(step, run, "looked_up", "the plan looks things up, and the answer came without")
        return None

    def _finding(self, step: Step, run: Run, why: str, message: str) -> Finding:
        return finding(self, step, run, message, severity="warning", facts={"why": why})


def _earlier(step: Step, run: Run) -> list[str]:
    order = (step.start_ns, step.ref.span_id)
    before = (s for s in reversed(run.recent) if (s.start_ns, s.ref.span_id) < order)
    return list(islice((s.answer for s in before if s.kind is Kind.LLM and s.answer), _EARLIER))
