"""What a detector is, and how it words a finding."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Protocol

from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, SpanRef, Step
from spanward_detector.naming import lasting

if TYPE_CHECKING:
    from spanward_detector.run import Run

On = Literal["any", "odd", "failed"]
"""Which steps a detector needs to see. Most are tool calls with nothing odd about them: the fewer look, the better."""

ACTED: frozenset[Kind] = frozenset({Kind.TOOL, Kind.LLM})
"""Kinds of steps that do something and can fail."""

_PASSES: Final = re.compile(
    r"\b(?:502|503|504|529)\b|temporarily unavailable|service unavailable|overloaded|bad gateway|gateway time-?out"
    r"|try again (?:later|shortly|in a)",
    re.IGNORECASE,
)
_READ: Final = 2048


class Detector(Protocol):
    """A frozen dataclass whose fields are its thresholds and its mode. No state, no I/O: memory is the run's.

    Attributes:
        name: of the rule, as in findings and the policy; also the name of its file.
        failure_types: that it may find.
        kinds: of steps that it is shown.
        on: it is shown only steps that failed; or also those with something odd about their form; or any.
        mode: whether its findings may lead to a directive. What is only information never does.

    One that is made of a section of the policy may have a property ``wanted``, the kinds that it needs as it is
    configured, so that it costs nothing where it is not; and a class method ``each``, which makes several of it.
    """

    name: ClassVar[str]
    failure_types: ClassVar[tuple[str, ...]]
    kinds: ClassVar[frozenset[Kind]]
    on: ClassVar[On]

    @property
    def mode(self) -> Mode: ...

    def observe(self, step: Step, run: Run) -> Finding | None:
        """Look at one step; the run's memory includes it. Must not change either and cost O(1)."""


def finding(
    detector: Detector,
    step: Step,
    run: Run,
    message: str,
    *,
    severity: Severity = "error",
    failure_type: str = "",
    facts: Mapping[str, str | int | float] | None = None,
    evidence: tuple[str, ...] = (),
    ref: SpanRef | None = None,
    action: str | None = None,
    stack: tuple[str, ...] = (),
) -> Finding:
    """A finding at a step; its facts get tool, class of error, status and attempt, where there are any."""
    ref = ref or step.ref
    outcome = run.outcome
    slots: dict[str, str | int | float] = {}
    action = step.action if action is None else action
    if action:
        slots["tool" if step.kind is not Kind.LLM else "model"] = action
    if outcome.type:
        if step.error_type:
            slots["error_type"] = step.error_type
        if outcome.status:
            slots["status"] = outcome.status
        if outcome.retry_after_ms is not None:
            slots["retry_after_ms"] = outcome.retry_after_ms
    if step.attempt > 1:
        slots["attempt"] = step.attempt
    if facts:
        slots.update(facts)
    return Finding(
        rule=detector.name,
        failure_type=failure_type or detector.failure_types[0],
        severity=severity,
        mode=detector.mode if severity != "info" else "observe",
        message=message,
        ref=ref,
        step=step.index,
        agent=step.agent or run.agent,
        action=action,
        evidence=evidence or (ref.span_id,),
        facts=slots,
        stack=stack,
    )


def weight(step: Step, run: Run) -> Severity:
    """How grave a failed call is: a tool's failure that passes by itself as a rule, and is the first, is information.

    Not where the gate waits, which can make the call again, nor where the call may have had an effect all the same, nor
    where a client has tried several times already, as the SDKs of models do.
    """
    outcome = run.outcome
    first = run.lane.tool_errors.count <= 1 and len(step.http) <= 1
    if step.kind is not Kind.TOOL or step.held or not first or lasting(step):
        return "error"
    if outcome.type == "http_error":
        return "info" if outcome.transient else "error"
    passes = outcome.type == "tool_error" and _PASSES.search((step.error_text or "")[:_READ]) is not None
    return "info" if passes else "error"


@dataclass(frozen=True, slots=True)
class Classified(ABC):
    """A detector of one class of failed calls: what the class is has been told already, by the step's outcome.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str]
    failure_types: ClassVar[tuple[str, ...]]
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`Detector`."""
        if run.outcome.type != self.name:
            return None
        return finding(self, step, run, self.says(step), severity=weight(step, run))

    @abstractmethod
    def says(self, step: Step) -> str:
        """What happened, for a person."""
