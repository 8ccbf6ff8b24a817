"""Text where JSON was due: a model's answer, or a tool's result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.detectors.truncated_output import cut_off
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class InvalidJson:
    """An answer that was asked for as JSON, or a result that its schema or media type says is JSON, does not parse.

    A tool whose results were JSON so far and now are not is information only: many say "nothing found" in words.

    Attributes:
        mode: observe or act.
        history: JSON results in a row after which text from the same tool is noted.
    """

    name: ClassVar[str] = "invalid_json"
    failure_types: ClassVar[tuple[str, ...]] = ("invalid_json",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "odd"

    mode: Mode = "act"
    history: int = 3

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type:
            if run.outcome.type != self.name:
                return None
            return finding(self, step, run, f"the answer of {step.action} could not be parsed")
        if step.kind is Kind.LLM:
            answer = step.answer_facts
            if (
                answer is None
                or answer.is_json is not False
                or not answer.json_expected
                or step.n_calls
                or cut_off(step)
            ):
                return None
            return finding(self, step, run, f"the answer of {step.action} is not the JSON that was asked for")
        result = step.result_facts
        if result is None or result.is_json is not False or result.empty:
            return None
        if result.json_expected:
            return finding(self, step, run, f"the result of {step.action} is not JSON, which it should be")
        if run.memory.before.json >= self.history:
            return finding(
                self, step, run, f"the result of {step.action} is not JSON, which the ones before were", severity="info"
            )
        return None
