"""Runs: bounded, ordered, joined; late steps rewind, too late ones are a gap."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector import kinship, window
from spanward_detector.model import HttpAttempt, Kind, SpanRef, Step
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import Policy
from spanward_detector.run import Run
from spanward_detector.runs import Runs

from tests.detectors.script import ROOT, RUN, START_NS, TRACE, Script


def many(count: int, first: int = 0) -> list[Step]:
    """That many different tool calls, one a second."""
    s = Script(gap_s=0.5)
    for n in range(first, first + count):
        step = s.tool(arguments=f'{{"n": {n}}}', result=f"r{n}")
        step.ref = SpanRef(TRACE, f"{n + 1:016x}")
        step.start_ns = START_NS + n * 1_000_000_000
        step.end_ns = step.start_ns + 500_000_000
    return s.steps


def request(parent: str, status: int, span_id: str = "d" * 16, at: int = 1) -> Step:
    """An HTTP request below a span."""
    start = START_NS + at
    attempt = HttpAttempt(status, None, span_id, start, None)
    return Step(Kind.HTTP, SpanRef(TRACE, span_id), parent, TRACE, start, start, "http", "", "GET", http=(attempt,))


def tell(run: Run) -> list[Step]:
    """Let the run tell what is due."""
    return list(run.due())


def test_a_step_in_order_is_told_alone() -> None:
    """Each step in order makes exactly itself due, numbered by its order."""
    run = Run(RUN)
    told = []
    for step in many(100):
        run.add(step, keyed=True)
        told.append([s.index for s in tell(run)])

    assert told == [[n] for n in range(1, 101)]


def test_a_late_step_is_told_with_all_after_it() -> None:
    """A late step takes its place, and it and those after it are numbered and told anew."""
    run = Run(RUN)
    steps = many(80)
    for step in steps[:40] + steps[41:]:
        run.add(step, keyed=True)
        tell(run)
    run.add(steps[40], keyed=True)

    assert [s.index for s in tell(run)] == list(range(41, 81))
    assert run.memory.steps == 80


def test_the_same_span_again_changes_nothing() -> None:
    """A span is known by its id, also after it has left the window."""
    runs = Runs()
    steps = many(3 * window.SIZE)
    for step in steps:
        tell(runs.update(step))
    run = runs.get(RUN)
    assert run is not None
    for step in (steps[0], steps[-1]):
        tell(runs.update(step))

    assert runs.counters["duplicate"] == 2
    assert run.memory.steps == len(steps)


def test_what_is_later_than_the_window_is_a_gap() -> None:
    """A step from before the window is not judged; the run says once that it is blind there."""
    steps = many(3 * window.SIZE)
    pipeline = Pipeline(Policy())
    for step in steps[1:]:
        pipeline.step(step)
    late = pipeline.step(steps[0])
    settled = pipeline.settle(RUN)

    assert late.findings == ()
    assert pipeline.runs.counters["late"] == 1
    assert settled is not None
    assert [(f.failure_type, f.ref, f.facts["why"]) for f in settled.findings if f.severity != "info"] == [
        ("telemetry_gap", steps[0].ref, "late")
    ]


def test_memory_is_flat_in_the_length_of_a_run() -> None:
    """A run of ten thousand steps holds no more than the window, and its memory is as large as that of a short one."""
    run = Run(RUN)
    for step in many(10_000):
        run.add(step, keyed=True)
        tell(run)

    assert run.spans <= 2 * window.SIZE
    assert len(run.recent) <= 2 * window.SIZE
    assert len(run.memory.lane("").tools.acts) <= 64
    assert run.memory.steps == 10_000


def test_a_step_costs_the_same_after_ten_thousand() -> None:
    """The fastest hundred steps late in a long run take no more than twice the time of those early in it."""
    pipeline = Pipeline(Policy())
    steps = many(10_400)
    took: list[float] = []
    for at in range(0, len(steps), 100):
        start = time.thread_time()
        for step in steps[at : at + 100]:
            pipeline.step(step)
        took.append(time.thread_time() - start)

    assert min(took[-10:]) <= 2 * min(took[1:11])


def test_the_registry_is_bounded() -> None:
    """The run unheard of for longest goes first, is counted, and is handed to whoever wants to know."""
    gone: list[str] = []
    runs = Runs(max_runs=3, forgotten=lambda run: gone.append(run.id))
    for n in range(5):
        step = many(1)[0]
        step.run_id, step.ref = f"run-{n}", SpanRef(f"{n:032x}", "1" * 16)
        runs.update(step)
        runs.open("run-0") if n == 1 else None

    assert gone == ["run-1", "run-0"]
    assert runs.counters["evicted"] == 2
    assert [run.id for run in runs] == ["run-2", "run-3", "run-4"]


def test_all_runs_together_hold_a_bounded_number_of_spans() -> None:
    """Many spans of one run push the others out."""
    runs = Runs(max_spans=300)
    for n in range(4):
        for step in many(100):
            step.run_id, step.ref = f"run-{n}", SpanRef(f"{n:032x}", step.ref.span_id)
            runs.update(step)

    assert [run.id for run in runs] == ["run-1", "run-2", "run-3"]


def test_all_runs_together_hold_a_bounded_amount_of_content() -> None:
    """A few steps with large results push the others out as many small ones do."""
    runs = Runs(max_content=10_000)
    for n in range(4):
        for step in many(3):
            step.run_id, step.ref, step.result = f"run-{n}", SpanRef(f"{n:032x}", step.ref.span_id), "x" * 1_500
            runs.update(step)

    assert [run.id for run in runs] == ["run-2", "run-3"]


def test_a_run_lets_large_results_go_before_small_ones() -> None:
    """Its memory is bounded by what its steps hold, and the steps that stay are the last ones, told once each."""
    run, told = Run(RUN), 0
    for step in many(400):
        step.result = "x" * (window.CONTENT // 64)
        run.add(step, keyed=True)
        told += len(tell(run))

    assert told == run.steps == 400
    assert run.content == sum(step.content() for step in run.recent) <= window.CONTENT
    assert 16 <= len(run.recent) <= 64
    assert run.recent[-1].index == 400


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4_000), st.booleans()), max_size=40))
def test_what_a_run_holds_is_what_its_steps_hold(comings: list[tuple[int, int, bool]]) -> None:
    """Whatever comes, in any order, twice, fuller than before, or leaves."""
    run, steps = Run(RUN), many(31)
    for at, size, fuller in comings:
        step = replace(steps[at], result="x" * size)
        if not (fuller and run.revise(step)):
            run.add(step, keyed=at % 3 > 0)
        tell(run)
    assert run.content == sum(step.content() for step in run.recent)

    run.take_away(TRACE)
    assert run.content == sum(step.content() for step in run.recent)


def test_a_flood_of_requests_does_not_grow_a_run() -> None:
    """Requests that belong to no step are held in bounded number."""
    run = Run(RUN)
    for n in range(3 * kinship.MAX_NODES):
        run.add(request("9" * 16, 500, f"{n:016x}"), keyed=False)

    assert run.spans <= kinship.MAX_NODES


@pytest.mark.parametrize("first", ["request", "tool"])
def test_requests_join_the_tool_that_made_them(first: str) -> None:
    """In either order of arrival the requests below a tool are its attempts, the last one last."""
    s = Script()
    tool = s.tool()
    below = [request(tool.ref.span_id, 503, "d" * 16, 5), request(tool.ref.span_id, 200, "e" * 16, 9)]
    run = Run(RUN)
    for step in [*below[::-1], tool] if first == "request" else [tool, *below]:
        run.add(step, keyed=True)
        tell(run)

    assert [a.status for a in tool.http] == [503, 200]


def test_a_request_joins_through_a_span_that_is_no_step() -> None:
    """A span in between that nobody made a step of is climbed over, also when it is known only later."""
    s = Script()
    tool = s.tool()
    parents: dict[str, str] = {}

    class Outside:
        def complete(self, step: Step) -> bool:
            return False

        def parent_of(self, ref: SpanRef) -> str | None:
            return parents.get(ref.span_id)

    run = Run(RUN, outside=Outside())
    run.add(request("b" * 16, 503), keyed=False)
    parents["b" * 16] = tool.ref.span_id
    run.add(tool, keyed=True)
    tell(run)

    assert [a.status for a in tool.http] == [503]


def test_agents_below_agents_have_lanes_of_their_own() -> None:
    """Steps of sub-agents are told apart from those of the run's own agent, also when the agents come last."""
    s = Script()
    s.tool("own")
    s.tool("theirs", parent="1" * 16)
    s.agent("1" * 16, parent=ROOT, name="worker")
    s.agent()
    run = Run(RUN)
    for step in s.steps:
        run.add(step, keyed=True)
        tell(run)
    tell(run)

    assert {name: [a.action for a in lane.tools.acts] for name, lane in run.memory.lanes.items()} == {
        "": ["own"],
        "1" * 16: ["theirs"],
    }
    assert run.agent == "agent"


def test_our_own_span_is_the_one_that_counts() -> None:
    """Where our gate saw the calls, another instrumentation's spans for the same are not told, whoever is first."""
    for ours_first in (True, False):
        s = Script()
        theirs = s.tool("a", dialect="openinference")
        ours = s.tool("a", parent=theirs.ref.span_id)
        run = Run(RUN)
        for step in (ours, theirs) if ours_first else (theirs, ours):
            run.add(step, keyed=True)
            tell(run)
        tell(run)

        assert [step.ref for step in run.recent] == [ours.ref]
        assert run.memory.steps == 1


def test_a_call_inside_the_same_call_is_one() -> None:
    """Two foreign instrumentations of one model call make one step."""
    s = Script()
    outer = s.llm("x", dialect="openinference")
    inner = s.llm("x", dialect="genai", parent=outer.ref.span_id)
    run = Run(RUN)
    for step in (inner, outer):
        run.add(step, keyed=True)
        tell(run)

    assert [step.ref for step in run.recent] == [outer.ref]
    assert run.memory.input_tokens == 100


def test_a_detector_of_others_keeps_notes_that_are_rewound() -> None:
    """What a detector of another package notes is part of memory: a late step finds it as it was."""

    class Notes(dict[str, int]):
        def copy(self) -> Notes:
            return Notes(self)

    run = Run(RUN)
    steps = many(70)
    seen = {}
    for step in [*steps[:50], *steps[51:], steps[50]]:
        run.add(step, keyed=True)
        for told in run.due():
            notes = run.memory.notes.setdefault("mine", Notes())
            notes["steps"] = notes.get("steps", 0) + 1  # type: ignore[index]
            seen[told.ref] = notes["steps"]  # type: ignore[index]

    assert [seen[step.ref] for step in steps] == list(range(1, 71))


def test_limits_that_come_with_the_root_are_applied_to_what_was_before() -> None:
    """The run's own span comes last; the limit that it states holds for the steps before it."""
    s = Script()
    for n in range(4):
        s.tool(arguments=f'{{"n": {n}}}')
    root = s.agent(stated_max_steps=3)
    pipeline = Pipeline(Policy())
    before = [pipeline.step(step).findings for step in s.steps[:-1]]
    after = pipeline.step(root)

    assert not any(before)
    assert [(f.failure_type, f.step) for f in after.findings] == [("step_limit", 4)]
