"""The flow as a whole: verdicts, withdrawals, directives once, and what happens when a detector breaks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from spanward import semconv
from spanward_detector import detectors as registry
from spanward_detector import outcome
from spanward_detector.detectors import DETECTORS, Detectors
from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.ingest import decode_traces, read_batches
from spanward_detector.model import Finding, HttpAttempt, Kind, SpanRef, Step, Tick
from spanward_detector.pipeline import Pipeline, Verdict
from spanward_detector.policy import Clock, Policy, default
from spanward_detector.run import Run

from tests.detectors.script import RUN, TRACE, Script, in_flight

CAPTURES = Path(__file__).parent.parent / "fixtures" / "spans"


def test_a_failing_tool_becomes_feedback() -> None:
    """A tool that raises is one finding, and the default policy answers it with feedback."""
    s = Script()
    step = s.tool(error="ValueError", held=True)
    verdict = Pipeline(default()).step(step)

    assert [f.failure_type for f in verdict.findings] == ["tool_error"]
    assert verdict.directive is not None
    assert (verdict.directive.kind, verdict.directive.ref, verdict.directive.answers_hold) == (
        "feedback",
        step.ref,
        True,
    )


def test_what_worked_says_nothing() -> None:
    """A step that worked has an empty verdict."""
    verdict = Pipeline(default()).step(Script().tool())

    assert verdict[2:] == ((), (), None, (), ())


def test_a_request_that_comes_after_its_tool_changes_the_finding_and_orders_nothing_new() -> None:
    """The finding becomes more specific, the old one is withdrawn, and no second directive is sent for the step."""
    s = Script()
    tool = s.tool(error="HTTPStatusError", side_effect="read")
    attempt = HttpAttempt(503, None, "d" * 16, tool.start_ns + 1, None)
    late = Step(
        Kind.HTTP, SpanRef(TRACE, "d" * 16), tool.ref.span_id, RUN, tool.start_ns + 1, tool.end_ns, "http", "", "GET",
        http=(attempt,),
    )  # fmt: skip
    pipeline = Pipeline(default())
    first = pipeline.step(tool)
    second = pipeline.step(late)

    assert [f.failure_type for f in first.findings] == ["tool_error"]
    assert first.directive is not None
    assert [f.failure_type for f in second.findings] == ["http_error"]
    assert [f.failure_type for f in second.withdrawn] == ["tool_error"]
    assert second.directive is None


def test_in_one_request_the_order_of_spans_does_not_matter() -> None:
    """Requests and agents are looked at before the steps that they bear on: the first verdict is the right one."""
    with (CAPTURES / "langgraph__openinference" / "loop.otlp.pb.gz").open("rb") as file:
        spans = [span for batch in read_batches(file) for span in batch.spans]
    pipeline = Pipeline(default())
    verdicts = pipeline.spans(spans)

    assert not any(verdict.withdrawn for verdict in verdicts)
    assert {f.failure_type for v in verdicts for f in v.findings} >= {"consecutive_errors", "loop"}


def test_a_repair_is_followed_to_its_end() -> None:
    """The next comparable step says whether the directive helped."""
    s = Script()
    pipeline = Pipeline(default())
    pipeline.step(s.tool(error="ValueError"))
    verdict = pipeline.step(s.tool(arguments='{"q": 2}'))

    assert [(o.state, o.recovered_by, o.kind) for o in verdict.outcomes] == [("verified", "change", "feedback")]


def test_time_is_a_step() -> None:
    """A heartbeat with a call past its deadline is judged by the same flow, and told once."""
    s = Script()
    pipeline = Pipeline(default())
    pipeline.step(s.tool())
    tick = Tick(s.now_ns, (in_flight(age_s=30, timeout_s=2, interruptible=True),))
    verdicts = [pipeline.tick(RUN, tick) for _ in range(3)]

    assert verdicts[0] is not None
    assert verdicts[0].directive is not None
    assert (verdicts[0].findings[0].failure_type, verdicts[0].directive.kind) == ("hung", "interrupt_call")
    assert verdicts[0].findings[0].stack == ("app.py:7 look",)
    assert [len(v.findings) for v in verdicts if v is not None] == [1, 0, 0]
    assert pipeline.tick("nobody", tick) is None


def test_settling_twice_says_nothing_new() -> None:
    """What is found at the end is told once, and taken back when late steps fill the gap."""
    s = Script()
    steps = [s.tool(arguments=f'{{"n": {n}}}', index=n) for n in (1, 2, 3)]
    pipeline = Pipeline(default())
    for step in (steps[0], steps[2]):
        pipeline.step(step)
    first, again = pipeline.settle(RUN), pipeline.settle(RUN)
    pipeline.step(steps[1])
    filled = pipeline.settle(RUN)

    assert [f.failure_type for f in first.findings] == ["telemetry_gap"] if first else False
    assert again is not None
    assert again.findings == ()
    assert filled is not None
    assert [f.failure_type for f in filled.withdrawn] == ["telemetry_gap"]
    assert pipeline.settle("nobody") is None


def test_a_new_policy_is_in_force_at_once() -> None:
    """Thresholds and deadlines follow the policy without a restart."""
    pipeline = Pipeline(default())
    s = Script()
    quiet = [pipeline.step(s.tool()).findings for _ in range(2)]
    pipeline.policy = Policy(rules={"loop": {"repeats": 2}})
    loud = pipeline.step(s.tool()).findings

    assert quiet == [(), ()]
    assert [f.failure_type for f in loud] == ["loop"]


def test_whoever_listens_hears_every_verdict() -> None:
    """The sink gets what the caller gets."""
    heard: list[Verdict] = []
    s = Script()
    pipeline = Pipeline(default(), sink=heard.append, clock=Clock(new_id=lambda: "id-1"))
    returned = [pipeline.step(s.tool(error="ValueError")), pipeline.step(s.tool())]

    assert heard == returned
    assert heard[0].directive is not None
    assert heard[0].directive.id == "id-1"


@dataclass(frozen=True, slots=True)
class Fragile:
    """A detector of another package, with a mistake.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "fragile"
    failure_types: ClassVar[tuple[str, ...]] = ("custom",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """Works for one tool alone."""
        return finding(self, step, run, "seen") if step.action == "good" else {}[step.action]  # type: ignore[no-any-return]


def test_a_detector_that_raises_is_counted_and_disabled() -> None:
    """The others go on, and the step is judged all the same."""
    pipeline = Pipeline(default())
    pipeline.detectors = Detectors(classes=(*DETECTORS, Fragile))
    s = Script()
    types = [
        [f.failure_type for f in pipeline.step(step).findings]
        for step in (s.tool("good"), s.tool("bad", error="ValueError"), s.tool("good"))
    ]

    assert types == [["custom"], ["tool_error"], []]
    assert pipeline.detectors.counters == {"fragile": 1}


def test_other_packages_add_detectors_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes named by the entry point group are used; those that cannot be loaded or made are left out and counted."""

    class Point:
        def __init__(self, name: str, target: object) -> None:
            self.name, self.value, self.target = name, name, target

        def load(self) -> object:
            if isinstance(self.target, Exception):
                raise self.target
            return self.target

    class Unmakeable:
        name = "unmakeable"

        def __init__(self) -> None:
            raise RuntimeError

    points = [Point("fragile", Fragile), Point("gone", ImportError()), Point("unmakeable", Unmakeable)]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])
    made = Detectors()

    assert [d.name for d in made][-1] == "fragile"
    assert len(list(made)) == len(DETECTORS) + 1
    assert made.counters == {"unmakeable": 1}


def test_a_rule_with_an_unknown_threshold_is_refused() -> None:
    """A mistake in the policy is an error at the start, not a rule that is silently off."""
    with pytest.raises(TypeError):
        Detectors({"loop": {"repeat": 3}})


@pytest.mark.parametrize("kind", ["tool", "llm"])
@pytest.mark.parametrize(
    ("error", "text", "status"),
    [
        ("ValueError", None, 0),
        ("Whatever", "x" * 10_000, 0),
        ("TimeoutError", None, 0),
        ("HTTPStatusError", None, 418),
        ("HTTPStatusError", None, 429),
        ("HTTPStatusError", None, 403),
        ("500", None, 0),
        ("ConnectError", None, 0),
        ("ToolNotFoundError", None, 0),
        ("OutputParserException", "Error parsing", 0),
        ("E", "maximum context length exceeded", 0),
        ("E", "2 validation errors for Order", 0),
        ("", None, 0),
    ],
)
def test_every_failure_is_somebodys(kind: str, error: str, text: str | None, status: int) -> None:
    """A failed step always has one main finding, of the type that the outcome names."""
    s = Script()
    step = (
        s.tool(error=error or "E", text=text, status=status)
        if kind == "tool"
        else s.llm(error=error or "E", text=text, status=status)
    )
    if not error:
        step.error_type = ""
    verdict = Pipeline(default()).step(step)

    assert [f.failure_type for f in verdict.findings] == [outcome.classify(step).type]


def _span(
    span_id: bytes, parent: bytes, name: str, start_s: float, end_s: float, kind: int, **attributes: object
) -> Any:
    span = Span(trace_id=b"\xab" * 16, span_id=span_id, parent_span_id=parent, name=name, kind=kind)
    span.start_time_unix_nano, span.end_time_unix_nano = int((1.79e9 + start_s) * 1e9), int((1.79e9 + end_s) * 1e9)
    for key, value in {semconv.RUN_ID: RUN, **attributes}.items():
        pair = span.attributes.add(key=key)
        if isinstance(value, bool):
            pair.value.bool_value = value
        elif isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.string_value = str(value)
    return span


def test_a_request_in_the_same_batch_speaks_before_its_tool_is_judged() -> None:
    """A tool's span and the HTTP request below it come together: the status counts at once, and a read is retried."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    scope.scope.name = semconv.SCOPE
    http = {semconv.HTTP_METHOD: "GET", semconv.HTTP_STATUS: 503, semconv.ERROR_TYPE: "503"}
    tool = {
        semconv.OPERATION_NAME: "execute_tool", semconv.STEP_KIND: "tool", semconv.ACTION: "rate", semconv.HOLD: True,
        semconv.TOOL_NAME: "rate", semconv.SIDE_EFFECT: "read", semconv.ERROR_TYPE: "HTTPStatusError",
        semconv.STEP_INDEX: 1,
    }  # fmt: skip
    scope.spans.append(_span(b"\x02" * 8, b"\x01" * 8, "GET", 1.1, 1.2, 3, **http))
    scope.spans.append(_span(b"\x01" * 8, b"\x09" * 8, "execute_tool rate", 1, 1.3, 1, **tool))
    verdicts = Pipeline(default()).spans(decode_traces(request.SerializeToString()))
    judged = next(v for v in verdicts if v.step.kind is Kind.TOOL)

    assert {v.run.id for v in verdicts} == {RUN}
    assert [f.failure_type for f in judged.findings] == ["http_error"]
    assert judged.directive is not None
    assert judged.directive.kind == "retry"
