"""An agent that goes on as if a failed step had worked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.codeact import FINAL_ANSWER
from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

_WRITES = frozenset({"write", "high_risk"})
_CLOSING: Final = 240
"""Characters at the end of a reply in which a question to the user stands."""
_ASKING: Final = ("?", "？", "؟", "please let me know", "let me know how")


@dataclass(frozen=True, slots=True)
class IgnoredFailure:
    """The final answer comes after a tool failed, nothing that worked came in between, and it does not speak of it.

    A reply that ends by asking the user back is no final answer, nor is one that acts by a code block.

    A stated write right after another tool failed is noted as information.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "ignored_failure"
    failure_types: ClassVar[tuple[str, ...]] = ("ignored_failure",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        lane = run.lane
        if step.kind is Kind.TOOL:
            if not lane.passed_over or step.side_effect not in _WRITES or run.outcome.type:
                return None
            failed = lane.passed_over[-1]
            return finding(
                self,
                step,
                run,
                f"{step.action} wrote right after {failed.action} had failed",
                severity="info",
                facts={"failed_tool": failed.action, "failed_type": failed.type},
                evidence=(failed.span_id, step.ref.span_id),
            )
        if not lane.open_failures or run.outcome.type or not _final(step, run):
            return None
        answer = step.answer_facts
        if answer is None or answer.empty or answer.admits_failure:
            return None
        failures = tuple(lane.open_failures.values())
        failed = failures[-1]
        return finding(
            self,
            step,
            run,
            f"the answer does not say that {failed.action} failed",
            severity="warning",
            facts={"failed_tool": failed.action, "failed_type": failed.type, "count": len(failures)},
            evidence=(*(f.span_id for f in failures[-8:]), step.ref.span_id),
            action=failed.action,
        )


def _final(step: Step, run: Run) -> bool:
    text = step.answer
    if FINAL_ANSWER in run.declared:
        return any(call.name == FINAL_ANSWER for call in step.calls) or f"{FINAL_ANSWER}(" in (text or "")
    if text and ("```" in text or any(mark in text[-_CLOSING:] for mark in _ASKING)):
        return False
    if step.n_calls is not None:
        return step.n_calls == 0
    return step.finish_reason == "stop" and not step.calls
