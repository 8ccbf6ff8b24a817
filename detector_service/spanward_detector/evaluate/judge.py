"""Recorded runs through the pipeline, and what is found there in the words of a labelled set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from spanward_detector.evaluate.mapping import Label, Rules, labels_of, reason_of
from spanward_detector.evaluate.steps import Recorded, ref_of, steps_of
from spanward_detector.first_cause import FirstCause, first_cause
from spanward_detector.model import Finding, SpanRef, Step
from spanward_detector.pipeline import Pipeline, Verdict
from spanward_detector.policy import Policy
from spanward_detector.semantic import Meaning, Question


class Pair(NamedTuple):
    """A place and a category.

    Attributes:
        step: as the file numbers it; None for a label that names no step.
        category: of the set.
    """

    step: int | None
    category: str


class Judged(NamedTuple):
    """One recorded run, what its annotators said and what we say.

    Attributes:
        id: of the trace.
        subset: as the report names it.
        good: outcome of the run; None when nobody said.
        steps: numbers of its steps.
        agents: who did each step.
        gold: labels.
        flags: findings in the words of the set.
        acted: there was a finding in mode ``act``.
        decisive: step and agent that broke the run, as labelled; None where that is not labelled.
        cause: step and agent that broke the run, as found.
    """

    id: str
    subset: str
    good: bool | None
    steps: tuple[int, ...]
    agents: tuple[str, ...]
    gold: frozenset[Pair]
    flags: frozenset[Pair]
    acted: bool
    decisive: tuple[int, str] | None = None
    cause: tuple[int, str] | None = None


def judge_all(
    runs: Iterable[Recorded], rules: Rules, policy: Policy, done: Callable[[], None] = lambda: None
) -> list[Judged]:
    """Judge runs, each by itself; ``done`` is called after each.

    Raises:
        SemanticError: the policy's model for meaning cannot be used.
    """
    judged, meaning = [], Meaning()
    for run in runs:
        judged.append(judge(run, rules, policy, meaning))
        done()
    return judged


def judge(run: Recorded, rules: Rules, policy: Policy, meaning: Meaning) -> Judged:
    """One run through a pipeline of its own."""
    steps = steps_of(run)
    findings, questions, ended = found_in(steps, policy)
    cause = _cause(ended, findings, steps) if rules.causes else None
    findings += [found for asked in questions for found in meaning.findings(asked, policy.semantic)]
    number = {ref_of(row): int(row["step"]) for row in run.rows}
    agent = {ref_of(row): str(row.get("agent") or "") for row in run.rows}
    subset = str(run.trace.get("subset") or run.trace.get("dataset") or "all")
    outcome = run.trace.get("outcome")
    return Judged(
        id=run.id,
        subset=rules.subsets.get(subset, subset),
        good=None if outcome not in ("pass", "fail") else outcome == "pass",
        steps=tuple(number.values()),
        agents=tuple(agent.values()),
        gold=_gold(run, number),
        flags=frozenset(_flags(findings, run, rules, number)),
        acted=any(finding.mode == "act" for finding in findings),
        decisive=_decisive(run) if rules.causes else None,
        cause=(number[cause.ref], agent[cause.ref]) if cause is not None and cause.ref in number else None,
    )


class _Ended(NamedTuple):
    ended: str


def found_in(steps: Iterable[Step], policy: Policy) -> tuple[list[Finding], list[Question], str]:
    """What the pipeline finds in the steps of one run, what it asks, and how the run itself says that it ended."""
    pipeline = Pipeline(policy)
    found: dict[tuple[str, str, SpanRef], Finding] = {}
    questions: dict[SpanRef, Question] = {}

    def take(verdict: Verdict | None) -> None:
        if verdict is None:
            return
        for finding in verdict.withdrawn:
            found.pop(finding.key, None)
        for finding in verdict.findings:
            found[finding.key] = finding
        questions.update((question.ref, question) for question in verdict.questions)

    run_id = ""
    for step in sorted(steps, key=lambda step: (step.start_ns, step.ref.span_id)):
        verdict = pipeline.step(step)
        run_id = verdict.run.id
        take(verdict)
    take(pipeline.settle(run_id))
    run = pipeline.find(run_id)
    return list(found.values()), list(questions.values()), run.ended if run is not None else ""


def _cause(ended: str, findings: list[Finding], steps: list[Step]) -> FirstCause | None:
    return first_cause(_Ended(ended), findings, steps)


def _decisive(run: Recorded) -> tuple[int, str] | None:
    label = next((label for label in run.trace.get("labels") or () if isinstance(label.get("step"), int)), None)
    return (label["step"], str(label.get("value") or "")) if label is not None else None


def _gold(run: Recorded, number: dict[SpanRef, int]) -> frozenset[Pair]:
    pairs = {Pair(number[ref_of(row)], str(label["category"])) for row in run.rows for label in row.get("labels") or ()}
    if not any("value" in label for label in run.trace.get("labels") or ()):
        pairs |= {Pair(None, str(label["category"])) for label in run.trace.get("labels") or () if "category" in label}
    return frozenset(pairs)


def _flags(findings: Iterable[Finding], run: Recorded, rules: Rules, number: dict[SpanRef, int]) -> Iterable[Pair]:
    place = {ref: at for at, ref in enumerate(number)}
    here = [finding for finding in findings if finding.ref in place]
    known = {(place[finding.ref], finding.failure_type, reason_of(finding)) for finding in here}
    for finding in here:
        before = _call_before(place[finding.ref], run) if rules.onsets else None
        if (before, finding.failure_type, reason_of(finding)) not in known:
            for label in labels_of(finding, rules.table):
                yield Pair(_step_of(label, place[finding.ref], run), label.category)


def _call_before(at: int, run: Recorded) -> int | None:
    """Place of the call before of the same tool."""
    rows = run.rows
    same = (rows[at]["kind"], rows[at].get("name"))
    return next((i for i in range(at - 1, -1, -1) if (rows[i]["kind"], rows[i].get("name")) == same), None)


def _step_of(label: Label, at: int, run: Recorded) -> int:
    """Number of the step that annotators of the set would name."""
    rows = run.rows
    if label.where == "asked":
        at = next((i for i in range(at, -1, -1) if rows[i]["kind"] == "llm"), at)
    elif label.where == "read":
        at = next((i for i in range(at + 1, len(rows)) if rows[i]["kind"] == "llm"), at)
    return int(rows[at]["step"])
