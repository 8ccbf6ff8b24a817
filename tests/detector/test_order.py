"""A settled run has the same findings whatever the order in which its spans came, twice or late."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spanward_detector.ingest import RawLog, RawSpan, read_batches
from spanward_detector.model import HttpAttempt, Kind, SpanRef, Step, ToolCall
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import default

from tests.detectors.script import RUN, TRACE, Script

CAPTURES = Path(__file__).parent.parent / "fixtures" / "spans"
NAMES = (
    "langgraph__genai", "langgraph__openinference", "openai-agents__genai", "openai-agents__openinference",
    "openai__openai-genai-content", "openai__openai-genai-manualagent", "openai__openinference",
    "smolagents__openinference",
)  # fmt: skip
FILES = [path for name in NAMES for path in sorted((CAPTURES / name).glob("*.pb.gz")) if ".logs." not in path.name]
SLOW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

Told = set[tuple[str, str, SpanRef, str, int, str]]


def settled(pipeline: Pipeline) -> Told:
    """What stands at the end: rule, failure type, span, severity, step number and run of every finding."""
    for run in pipeline.runs:
        pipeline.settle(run.id)
    return {(*f.key, f.severity, f.step, run.id) for run in pipeline.runs for f in run.findings()}


def judged(batches: Sequence[Sequence[RawSpan]]) -> Told:
    """What stands after these requests, one after the other."""
    pipeline = Pipeline(default())
    for batch in batches:
        pipeline.spans(batch)
    return settled(pipeline)


def spans_of(path: Path) -> list[RawSpan]:
    """The spans of a capture, in the order in which they were exported."""
    with path.open("rb") as file:
        return [span for batch in read_batches(file) for span in batch.spans]


def shuffled(items: list[RawSpan], seed: int) -> list[list[RawSpan]]:
    """Some of the spans twice, all of them in any order, in requests of any size."""
    chance = random.Random(seed)
    many = items + chance.sample(items, chance.randrange(len(items) + 1))
    chance.shuffle(many)
    batches: list[list[RawSpan]] = []
    while many:
        size = chance.choice((1, 1, 2, 5, len(many)))
        batches.append(many[:size])
        many = many[size:]
    return batches


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.name.split('.')[0]}")
@SLOW
@given(seed=st.integers(0, 2**32))
def test_captures_give_the_same_findings_in_any_order(path: Path, seed: int) -> None:
    """Shuffled, doubled and cut into requests at random, a real capture is judged as in its own order."""
    spans = spans_of(path)

    assert judged(shuffled(spans, seed)) == judged([spans])


@pytest.mark.parametrize(
    "name", ["openai__openai-genai-event", "openai__openai-v2-events", "openai__openai-v2-latest-event"]
)
@pytest.mark.parametrize("scenario", ["loop", "malformed", "success"])
@SLOW
@given(seed=st.integers(0, 2**32))
def test_log_records_may_come_before_or_after_their_spans(name: str, scenario: str, seed: int) -> None:
    """Content that travels as log records gives the same findings, whichever request comes first."""
    spans = spans_of(CAPTURES / name / f"{scenario}.otlp.pb.gz")
    with (CAPTURES / name / f"{scenario}.logs.otlp.pb.gz").open("rb") as file:
        logs = [record for batch in read_batches(file) for record in batch.logs]
    in_order = Pipeline(default())
    in_order.spans(spans)
    in_order.logs(logs)
    of_call = [[record for record in logs if record.span_id == span.span_id] for span in spans]
    requests: list[tuple[list[RawSpan], list[RawLog]]] = [([span], []) for span in spans]
    requests += [([], records) for records in of_call]
    random.Random(seed).shuffle(requests)
    mixed = Pipeline(default())
    for some_spans, some_logs in requests:
        mixed.spans(some_spans)
        mixed.logs(some_logs)

    assert settled(mixed) == settled(in_order)


def story() -> list[Step]:
    """A run of ours with something of everything: loops, parallel calls, requests, sub-agents, failures, limits."""
    s = Script()
    s.llm(calls=[ToolCall("1", "find", "{'a': 1}", "malformed"), ToolCall("2", "read", "{}", "ok")])
    for n in range(3):
        s.tool("find", result="['x']", index=0)
        s.llm(f"thought {n}")
    for name in ("a", "b", "c"):
        s.tool(name, at_s=20, error="HTTPStatusError" if name == "b" else "")
    http = s.steps[-2]
    s.steps.append(
        Step(
            Kind.HTTP, SpanRef(TRACE, "d" * 16), http.ref.span_id, RUN, http.start_ns + 1, http.end_ns, "http", "", "",
            http=(HttpAttempt(503, None, "d" * 16, http.start_ns + 1, "503"),),
        )
    )  # fmt: skip
    for worker in ("1" * 16, "2" * 16, "3" * 16):
        s.tool("fetch", parent=worker, agent="worker")
    for worker in ("1" * 16, "2" * 16, "3" * 16):
        s.agent(worker, parent="f" * 16, name="worker")
    s.tool("send_email", error="ToolError", text="503 backend error")
    s.tool("send_email")
    for n in range(5):
        s.tool("edit", arguments=f'{{"n": {n}}}', error="ToolError", text="no match")
    s.llm("All is done.", finish_reason="length", declared_tools={"find": {"type": "object"}, "read": None})
    s.agent(stated_max_steps=20, stated_max_tokens=500)
    return s.steps


def told(steps: Sequence[Step]) -> Told:
    """What stands after these steps, told one by one."""
    pipeline = Pipeline(default())
    for step in steps:
        pipeline.step(copy.copy(step))
    return settled(pipeline)


EXPECTED = told(story())


@SLOW
@given(order=st.permutations(range(len(story()))), again=st.lists(st.integers(0, len(story()) - 1), max_size=10))
def test_steps_give_the_same_findings_in_any_order(order: list[int], again: list[int]) -> None:
    """Every permutation of a rich run, with some steps doubled, settles to the same findings."""
    steps = story()

    assert told([steps[n] for n in (*order, *again)]) == EXPECTED


def test_the_rich_run_is_rich() -> None:
    """The run of the permutation test has findings of many kinds, so that it proves something."""
    assert {f[1] for f in EXPECTED} >= {
        "invalid_arguments", "loop", "http_error", "duplicate_side_effect", "no_progress", "consecutive_errors",
        "step_limit", "token_budget", "truncated_output",
    }  # fmt: skip


@SLOW
@given(seed=st.integers(0, 2**32))
def test_a_span_without_a_run_joins_the_run_of_its_trace(seed: int) -> None:
    """Spans that name a run and spans that only share its trace become one run, whoever comes first."""
    steps = story()
    for step in steps[::3]:
        step.run_id = TRACE
    random.Random(seed).shuffle(steps)
    pipeline = Pipeline(default())
    for step in steps:
        pipeline.step(step)

    assert settled(pipeline) == EXPECTED
    assert [run.id for run in pipeline.runs] == [RUN]


def test_two_runs_in_one_trace_share_it_the_same_way_in_any_order() -> None:
    """Spans that name no run belong to the run whose first span comes first in the trace."""
    for seed in range(20):
        s = Script()
        for n in range(9):
            s.tool(f"t{n}", run_id=("early", "late", TRACE)[n % 3])
        random.Random(seed).shuffle(s.steps)
        pipeline = Pipeline(default())
        for step in s.steps:
            pipeline.step(step)
        runs = {run.id: {step.action for step in run.recent} for run in pipeline.runs}

        assert runs == {"early": {"t0", "t2", "t3", "t5", "t6", "t8"}, "late": {"t1", "t4", "t7"}}
