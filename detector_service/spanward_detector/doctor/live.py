"""A running detector's stored steps into sources. What is not stored cannot be told, and is said to be so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from spanward.facts import AnswerFacts, ArgumentsFacts, ResultFacts

from spanward_detector.doctor.census import grouped
from spanward_detector.doctor.diagnose import Report, diagnose
from spanward_detector.doctor.signals import Signal
from spanward_detector.kinship import OURS
from spanward_detector.model import HttpAttempt, Kind, SpanRef, Step, ToolCall
from spanward_detector.policy import Policy

NOT_STORED: Final = frozenset(
    {
        Signal.ARGUMENT_TEXT, Signal.RESULT_TEXT, Signal.ANSWER_TEXT, Signal.MESSAGES, Signal.DEFINITIONS,
        Signal.SCHEMAS, Signal.CALL_IDS, Signal.LIMIT,
    }
)  # fmt: skip
"""Signals of which a stored step says nothing, whether they were there or not."""
UNKNOWABLE: Final = (
    "whether content is recorded: texts are not stored, only facts and digests",
    "tool definitions, call ids, limits that runs stated: not stored",
    "clocks and missing parents: only steps are stored, not the spans around them",
    "which instrumentation made a step: its dialect is stored, its scope is not",
)
"""What stored steps cannot tell; a file of the same telemetry can."""


def report(runs: Iterable[Mapping[str, Any]], policy: Policy) -> Report:
    """What can be said of stored runs.

    Args:
        runs: as ``GET /api/runs/{id}`` gives them.
        policy: for limits that it states.
    """
    steps = []
    for run in runs:
        service = str(run.get("service") or "")
        own = [step for record in run.get("steps") or () if (step := step_of(record, service)) is not None]
        # The control stream is proof of our gate even where only foreign steps were stored.
        if run.get("instance_id") and own and all(step.dialect != OURS for step in own):
            own[0].dialect = OURS
        steps += own
    sources = list({id(source): source for source in grouped(steps).values()}.values())
    sources.sort(key=lambda source: (-len(source.steps), source.service, source.dialects))
    return Report(0, 0, tuple(diagnose(s, policy, NOT_STORED) for s in sources), unknowable=UNKNOWABLE)


def step_of(record: Mapping[str, Any], service: str = "") -> Step | None:
    """A stored step as a step, as far as it is stored; None for a kind that this release does not know."""
    try:
        kind = Kind(record["kind"])
    except (KeyError, ValueError):
        return None
    facts = record.get("facts") or {}
    step = Step(
        kind=kind,
        ref=SpanRef(str(record.get("trace_id") or ""), str(record.get("span_id") or "")),
        parent_id=record.get("parent_id") or None,
        run_id=str(record.get("run_id") or ""),
        start_ns=int(record.get("start_ns") or 0),
        end_ns=int(record.get("end_ns") or 0),
        dialect=str(record.get("dialect") or ""),
        scope="",
        name=str(record.get("name") or ""),
        service=service,
        agent=str(record.get("agent") or ""),
        action=str(record.get("action") or ""),
        failed=bool(record.get("failed")),
        error_type=str(record.get("error_type") or ""),
        arguments_digest=str(record.get("arguments_digest") or ""),
        result_digest=str(record.get("result_digest") or ""),
        finish_reason=str(record.get("finish_reason") or ""),
        input_tokens=int(record.get("input_tokens") or 0),
        output_tokens=int(record.get("output_tokens") or 0),
        model=str(record.get("model") or ""),
        outcome_unknown=bool(facts.get("outcome_unknown")),
        timed_out=bool(facts.get("timed_out")),
        result_facts=_of(ResultFacts, facts.get("result")),
        arguments_facts=_of(ArgumentsFacts, facts.get("arguments")),
        answer_facts=_of(AnswerFacts, facts.get("answer")),
        http=tuple(HttpAttempt(int(status), None, "", 0, None) for status, *_ in facts.get("http") or ()),
        calls=tuple(ToolCall(str(i), str(name), None, form) for i, name, form in facts.get("calls") or ()),
    )
    if step.calls or step.answer_facts is not None:
        step.n_calls = len(step.calls)
    if kind is Kind.TOOL and step.dialect != OURS and step.start_ns == step.end_ns:
        step.extra = {"sighting": "message"}  # it has no span of its own, and so no duration
    return step


def _of(facts: Any, stored: object) -> Any:
    """Facts of the fields that are known in this release; None when there are none."""
    if not stored:
        return None
    if not isinstance(stored, Mapping):
        return facts()
    return facts(**{name: value for name, value in stored.items() if name in facts._fields})
