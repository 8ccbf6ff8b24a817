"""Which agent and which step broke a run that failed, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple, Protocol

from spanward_detector.model import NUMBERED, Finding, Kind, SpanRef, Step
from spanward_detector.outcome import classify
from spanward_detector.statements import Known

Basis = Literal["finding", "made_up", "handed_in", "new_numbers", "claim", "failed_call", "first_act"]

WHY: Final[dict[Basis, str]] = {
    "finding": "{message}",
    "made_up": "goes on with data that it made up",
    "handed_in": "what the request itself brought was run before anybody had thought about it",
    "new_numbers": "states numbers that stand in no request and no result",
    "claim": "states a result that nothing before it shows",
    "failed_call": "{message}",
    "first_act": "nothing tells where it went wrong; this is where the work began",
}
"""What is said for each basis; ``{message}`` is that of the finding."""

_ENDINGS: Final = frozenset(
    {
        "loop", "no_progress", "polling_runaway", "step_limit", "token_budget", "cost_budget", "context_overflow",
        "hung", "heartbeat_lost", "stalled", "timeout", "truncated_output", "empty_output", "refusal", "incomplete",
        "ignored_failure", "premature_done", "ungrounded", "ungrounded_argument", "goal_lost", "order_violation",
        "unsafe_action", "prompt_injection", "secret_leak", "duplicate_side_effect", "custom",
    }
)  # fmt: skip
"""Failure types that stay with a run whatever works afterwards; the others are over once the same call works."""


class Ended(Protocol):
    """What is asked of a run."""

    @property
    def ended(self) -> str: ...  # "completed", a class name, or ""


class Remembered(Ended, Protocol):
    """The same, with the steps and agents that are in memory."""

    @property
    def recent(self) -> Sequence[Step]: ...

    @property
    def agents(self) -> Sequence[Step]: ...


class FirstCause(NamedTuple):
    """Where a run broke.

    Attributes:
        ref: the step.
        step: its number; 0 when it has none.
        agent: who did it; "" when nobody is named.
        basis: what the judgement rests on.
        why: one sentence.
        finding: that says so, if one does.
    """

    ref: SpanRef
    step: int
    agent: str
    basis: Basis
    why: str
    finding: Finding | None = None


def first_cause(run: Ended, findings: Iterable[Finding], steps: Sequence[Step]) -> FirstCause | None:
    """The earliest thing that the outcome of a failed run depends on.

    A failure that was made good is no cause: the same agent's same call worked later. Of the rest, what ended the run
    (an exception, a limit, a loop, a harm done) leads back by its evidence to the earliest finding that belongs to it.
    A run that came to an answer is read for its statements instead: the step that made data up, else the first one that
    stated what no request and no result had said. Only then does a failed call count, first one that was never made
    good, and at last the step with which the work began. Pure; reads each step once.

    Args:
        run: that failed; whoever asks knows that it did.
        findings: of the run, in any order.
        steps: of the run, in order.

    Returns:
        None for a run without any step of its own.
    """
    acts = [step for step in steps if step.kind in NUMBERED]
    if not acts:
        return None
    told = _in_order(findings, acts)
    open_findings = _open(told, acts)
    if (ending := _ending(run, open_findings)) is not None:
        return _of_finding(ending, acts, "finding")
    if (stated := _stated(steps)) is not None:
        return stated
    if failed := (open_findings or told):
        return _of_finding(failed[0], acts, "failed_call")
    first = next((step for step in acts if step.kind is not Kind.TOOL), acts[0])
    return _of_step(first, "first_act")


def failed(run: Ended, findings: Iterable[Finding], steps: Sequence[Step]) -> bool:
    """Whether a run failed, as far as telemetry tells: it raised, or something was found that nothing made good."""
    acts = [step for step in steps if step.kind in NUMBERED]
    return run.ended not in ("", "completed") or bool(_open(_in_order(findings, acts), acts))


def cause_of(run: Remembered, findings: Iterable[Finding]) -> FirstCause | None:
    """First cause of a run in memory; None for one that did not fail."""
    findings = list(findings)
    steps = sorted((*run.agents, *run.recent), key=lambda step: (step.start_ns, step.kind in NUMBERED, step.ref))
    return first_cause(run, findings, steps) if failed(run, findings, steps) else None


def first_finding(run: Remembered, findings: Iterable[Finding]) -> Finding | None:
    """The finding of a failed run in memory that is, or comes next to, its first cause; None where nothing was found.

    A cause that is told by a statement has no finding of its own: then it is the first finding that stayed open.
    """
    findings = list(findings)
    cause = cause_of(run, findings)
    if cause is None or cause.finding is not None:
        return cause.finding if cause is not None else None
    acts = [step for step in run.recent if step.kind in NUMBERED]
    told = _in_order(findings, acts)
    return next(iter(_open(told, acts) or told), None)


def _in_order(findings: Iterable[Finding], acts: Sequence[Step]) -> list[Finding]:
    """Findings that are more than information, in the order of their steps; those at no step come last."""
    place = {step.ref: at for at, step in enumerate(acts)}
    told = [found for found in findings if found.severity != "info"]
    return sorted(told, key=lambda found: (place.get(found.ref, len(acts)), found.ref, found.rule))


def _open(findings: Sequence[Finding], acts: Sequence[Step]) -> list[Finding]:
    """Those that nothing made good."""
    place = {step.ref: at for at, step in enumerate(acts)}
    worked = {
        (step.agent, step.action): at
        for at, step in enumerate(acts)
        if step.kind is Kind.TOOL and not classify(step).type
    }
    kept = []
    for found in findings:
        at = place.get(found.ref)
        if found.failure_type not in _ENDINGS and at is not None:
            step = acts[at]
            if worked.get((step.agent, step.action), -1) > at:
                continue
        kept.append(found)
    return kept


def _ending(run: Ended, findings: Sequence[Finding]) -> Finding | None:
    """The earliest finding on the path to what ended the run; None for a run that came to an answer."""
    raised = run.ended not in ("", "completed")
    last = next((f for f in reversed(findings) if raised or f.failure_type in _ENDINGS), None)
    if last is None:
        return None
    path = {last.ref.span_id, *last.evidence}
    for found in reversed(findings):
        if found.ref.span_id in path:
            path.update(found.evidence)
    return next(found for found in findings if found.ref.span_id in path)


def _stated(steps: Sequence[Step]) -> FirstCause | None:
    """The step whose words an answer rests on: made-up data, what the request had run, or the first statement."""
    known = Known()
    first: FirstCause | None = None
    handed = _handed_in(steps)
    for step in steps:
        text = step.answer if step.kind is not Kind.TOOL else step.result
        if step.kind is Kind.LLM and text:
            kind = known.judge(text)
            if kind == "made_up":
                return _of_step(step, "made_up")
            if kind and first is None:
                first = _of_step(step, kind)
        for said in (step.user_input, text):
            if said:
                known.add(said)
    return handed or first


def _handed_in(steps: Sequence[Step]) -> FirstCause | None:
    """A program ran before any agent had spoken: it came with the request."""
    for before, step in pairwise(steps):
        if step.kind is Kind.LLM:
            return None
        if step.kind is Kind.TOOL:
            facts = step.result_facts
            ran = facts is not None and facts.exit_code is not None
            return _of_step(before, "handed_in") if ran and before.user_input else None
    return None


def _of_step(step: Step, basis: Basis) -> FirstCause:
    return FirstCause(step.ref, step.index, step.agent, basis, WHY[basis])


def _of_finding(found: Finding, acts: Sequence[Step], basis: Basis) -> FirstCause:
    """At the step of the finding; where agents talk and a tool runs what they wrote, at the one who wrote it."""
    at = next((i for i, step in enumerate(acts) if step.ref == found.ref), None)
    step = acts[at] if at is not None else None
    why = WHY[basis].format(message=found.message)
    written = step is not None and step.kind is Kind.TOOL and step.arguments_facts is None  # no call with arguments
    if at and written and acts[at - 1].kind is Kind.LLM:
        step = acts[at - 1]
        return FirstCause(step.ref, step.index, step.agent, basis, why, found)
    return FirstCause(found.ref, found.step, found.agent, basis, why, found)
