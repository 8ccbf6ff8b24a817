"""What the rules still find without content: every case and capture is replayed with less and less of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from spanward_detector.detectors import DETECTORS
from spanward_detector.docgen.scenarios import Scenarios
from spanward_detector.docgen.text import NOTICE, table
from spanward_detector.failures import Severity
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import Policy, load

_FOREIGN: Final = "genai"
_RANK: Final[Mapping[Severity, int]] = {"info": 0, "warning": 1, "error": 2}


def with_facts(step: Step) -> Step | None:
    """The step as our gate tells it with content off: facts, digests, names, ids, forms, counts and times."""
    return replace(
        step,
        arguments=None,
        result=None,
        answer=None,
        user_input=None,
        error_text=None,
        tool_messages=(),
        declared_tools=None,
        calls=tuple(call._replace(arguments=None) for call in step.calls),
    )


def bare(step: Step) -> Step | None:
    """The step as another instrumentation tells it with content off: names, ids, statuses, counts and times.

    None for what only the gate or the content shows: the passing of time, and calls that are read from messages.
    """
    if step.kind is Kind.TICK or "sighting" in step.extra:
        return None
    told = with_facts(step)
    assert told is not None
    return replace(
        told,
        dialect=_FOREIGN,
        arguments_digest="",
        arguments_facts=None,
        result_digest="",
        result_facts=None,
        answer_facts=None,
        calls=(),
        n_calls=None,
        unknown_tools=(),
        reason="",
        held=False,
        side_effect="",
        idempotent=None,
        timeout_s=0.0,
        outcome_unknown=False,
        stated_max_steps=0,
        stated_max_tokens=0,
        extra={},
    )


def whole(step: Step) -> Step | None:
    """The step with everything."""
    return replace(step)


WAYS: Final[tuple[Callable[[Step], Step | None], ...]] = (whole, with_facts, bare)
"""With everything, with the gate's facts, and with what is left without either."""


class Left(NamedTuple):
    """What a rule finds in one way.

    Attributes:
        cases: of its own, in which it fires as with everything.
        weaker: of its own, in which it still says something: later, or as less.
        captures: in which it finds something.
    """

    cases: int
    weaker: int
    captures: int


def findings(steps: Iterable[Step], way: Callable[[Step], Step | None], policy: Policy) -> list[Finding]:
    """What is found in steps once they have all come, when they are told in one way."""
    pipeline = Pipeline(policy)
    for step in steps:
        if (told := way(step)) is not None:
            told.index = step.index if told.dialect != _FOREIGN else 0
            pipeline.step(told)
    runs = list(pipeline.runs)
    for run in runs:
        pipeline.settle(run.id)
    return [finding for run in runs for finding in run.findings()]


def measure(scenarios: Scenarios) -> dict[str, tuple[Left, ...]]:
    """For each rule what is left of it, way by way."""
    captures: list[Counter[str]] = [Counter() for _ in WAYS]
    for _, steps in scenarios.captures():
        for at, way in enumerate(WAYS):
            captures[at].update({finding.rule for finding in findings(steps, way, Policy())})
    found: dict[str, tuple[Left, ...]] = {}
    for cls in DETECTORS:
        name = cls.name
        same: Counter[int] = Counter()
        weaker: Counter[int] = Counter()
        for case in scenarios.firing(name):
            policy = load(case.policy) if case.policy else Policy()
            if case.thresholds:
                policy = replace(policy, rules={name: case.thresholds})
            told = [[f for f in findings(case.steps, way, policy) if f.rule == name] for way in WAYS]
            for at, left in enumerate(told):
                if _worth(left) >= _worth(told[0]):
                    same[at] += 1
                elif left:
                    weaker[at] += 1
        found[name] = tuple(Left(same[at], weaker[at], captures[at][name]) for at in range(len(WAYS)))
    return found


def _worth(found: Sequence[Finding]) -> tuple[int, int]:
    """How loud, and at how many spans, something was found."""
    if not found:
        return (-1, 0)
    return max(_RANK[f.severity] for f in found), len({f.ref for f in found if f.severity != "info"})


def content_off_page(scenarios: Scenarios) -> str:
    """The page."""
    measured = measure(scenarios)
    rows = (
        (
            f"[{name}](rules/{name}.md)",
            *(_word(ways[0], left) for left in ways[1:]),
            " · ".join(str(left.captures) for left in ways),
        )
        for name, ways in measured.items()
    )
    return (
        f"{NOTICE}# With content off\n\n"
        "Content (arguments, results, messages) is off by default. What the rules still find then is measured here: "
        "each rule's own firing cases, and every capture of a framework in the tests, are replayed three times: with "
        "everything; with content off and the facts of our gate (sizes, forms, schema violations, classes of errors, "
        "digests); and with neither, as another instrumentation with content off tells it: names, ids, statuses, "
        "counts and times.\n\n"
        "*weaker* = it still speaks, but later, at fewer steps or as less than with everything. Captures: in how many "
        "of them the rule finds something, in the three ways.\n\n"
        + table(("rule", "with the gate's facts", "names, ids, statuses, counts, times", "captures"), rows)
    )


def _word(everything: Left, left: Left) -> str:
    total = everything.cases
    if not total:
        return "-"
    if left.cases == total:
        return "yes"
    some = [f"{left.cases} of {total} cases"] if left.cases else []
    weak = [f"weaker in {left.weaker}"] if left.weaker else []
    return ", ".join((*some, *weak)) or "no"
