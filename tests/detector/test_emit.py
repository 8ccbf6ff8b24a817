"""Findings, directives and transitions as spans: what they say, and that nothing waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import grpc
import grpc.aio
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from spanward import semconv
from spanward_detector import emit
from spanward_detector.config import ServerConfig
from spanward_detector.control.delivery import Tracked
from spanward_detector.emit import Emitter
from spanward_detector.run_lifecycle import Life, Move
from spanward_detector.service import Detector
from spanward_detector.states import State

from tests.detector.service_fakes import (
    RUN,
    Agent,
    FakeJudge,
    eventually,
    make_directive,
    make_finding,
    make_span,
    make_step,
    new_ref,
    span_request,
)

LIFE = Life(RUN, agent="bot", state=State.RUNNING)


class Collector:
    """Takes spans, or refuses them."""

    def __init__(self) -> None:
        self.spans: list = []
        self.scopes: set[str] = set()
        self.refuse: grpc.StatusCode | None = None
        self.address = ""

    async def export(self, data: bytes, context: grpc.aio.ServicerContext) -> bytes:
        if self.refuse is not None:
            await context.abort(self.refuse, "no")
        for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
            for scope in resource.scope_spans:
                self.scopes.add(scope.scope.name)
                self.spans += scope.spans
        return b""

    def named(self, name: str) -> list:
        return [span for span in self.spans if span.name == name]


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    """On a free port."""
    running = Collector()
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(running.export)
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
    running.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield running
    await server.stop(None)


def attributes(span) -> dict[str, object]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def one(span: emit.Emitted):
    return emit.encode([span]).resource_spans[0].scope_spans[0].spans[0]


def test_a_finding_is_a_child_of_the_offending_span() -> None:
    """With the standard's own event, so that other tools show it without a plug-in."""
    finding = make_finding(make_step(action="search"), "loop")
    span = one(emit.finding_span(LIFE, finding, 99))

    assert (span.trace_id.hex(), span.parent_span_id.hex()) == finding.ref
    assert span.name == "detect loop"
    assert attributes(span)[semconv.FAILURE_TYPE] == "loop"
    assert attributes(span)[semconv.FAILURE_CAUSE] == "reasoning"
    assert attributes(span)[semconv.RUN_ID] == RUN
    event = span.events[0]
    assert event.name == "gen_ai.evaluation.result"
    assert attributes(event)["gen_ai.evaluation.name"] == "loop"
    assert attributes(event)["gen_ai.evaluation.score.label"] == "fail"


def test_telling_a_thing_twice_makes_one_span() -> None:
    """Ids follow from what the span is about."""
    finding = make_finding(make_step())
    first, again = emit.finding_span(LIFE, finding, 1), emit.finding_span(LIFE, finding, 2)
    other = emit.finding_span(LIFE, make_finding(make_step()), 1)

    assert first.span_id == again.span_id != other.span_id


def test_a_directive_is_told_from_issue_to_outcome() -> None:
    """With digests of before and after, the state of the run, and when each thing happened."""
    directive = make_directive(make_step(), "feedback", held=True, created_ns=10, state="applied")
    tracked = Tracked(directive, sent_ns=20, received_ns=30, final_ns=40, before="sha256:1", after="sha256:2")
    span = one(emit.directive_span(LIFE, tracked))
    outcome = one(emit.outcome_span(LIFE, replace(tracked, recovered_by="change"), 50))

    assert (span.name, span.start_time_unix_nano, span.end_time_unix_nano) == ("directive feedback", 10, 40)
    assert [(e.name, e.time_unix_nano) for e in span.events] == [
        ("issued", 10), ("sent", 20), ("received", 30), ("applied", 40),
    ]  # fmt: skip
    found = attributes(span)
    assert (found[semconv.DIRECTIVE_BEFORE], found[semconv.DIRECTIVE_AFTER]) == ("sha256:1", "sha256:2")
    assert (found[semconv.RUN_STATE], found[semconv.DIRECTIVE_LEVEL]) == ("RUNNING", "L2")
    assert outcome.parent_span_id == span.span_id
    assert attributes(outcome)[semconv.DIRECTIVE_RECOVERED_BY] == "change"


def test_a_transition_names_both_states() -> None:
    """In its name and as attributes."""
    move = Move(RUN, State.RUNNING, State.FAILED, "ValueError", 7)
    span = one(emit.transition_span(LIFE, move, new_ref()))

    assert span.name == "run RUNNING -> FAILED"
    assert attributes(span)[semconv.RUN_STATE_FROM] == "RUNNING"
    assert attributes(span)[semconv.RUN_REASON] == "ValueError"
    assert span.status.code == 2


def test_odd_values_do_not_break_a_batch() -> None:
    """Lone surrogates and huge numbers are told as well as can be."""
    span = emit.finding_span(LIFE, make_finding(make_step(), message="\ud800", action="\udfff", step=2**70), 1)

    assert attributes(one(span))[semconv.STEP_INDEX] == 2**63 - 1


async def test_spans_arrive_under_our_own_scope(collector: Collector) -> None:
    """By it the Collector keeps them from coming back to us."""
    emitter = Emitter(collector.address, delay_s=0.01)
    emitter.start()
    for _ in range(700):
        emitter.emit(emit.finding_span(LIFE, make_finding(make_step()), 1))
    await eventually(lambda: len(collector.spans) == 700)
    await emitter.stop()

    assert collector.scopes == {semconv.DETECTOR_SCOPE}
    assert (emitter.sent, emitter.dropped) == (700, 0)


async def test_the_oldest_gives_way_when_nobody_listens() -> None:
    """Counted, and nothing grows."""
    emitter = Emitter("127.0.0.1:1", limit=10, delay_s=0.0, retry_s=0.01)
    emitter.start()
    for n in range(100):
        emitter.emit(replace(emit.finding_span(LIFE, make_finding(make_step()), 1), start_ns=n))
    assert len(emitter) == 10
    assert emitter.dropped == 90
    await emitter.stop(0.05)

    assert emitter.dropped == 100


async def test_a_collector_that_comes_back_gets_what_waits(collector: Collector) -> None:
    """An outage shorter than the queue loses nothing."""
    collector.refuse = grpc.StatusCode.UNAVAILABLE
    emitter = Emitter(collector.address, delay_s=0.0, retry_s=0.01)
    emitter.start()
    emitter.emit(emit.finding_span(LIFE, make_finding(make_step()), 1))
    await asyncio.sleep(0.05)
    collector.refuse = None
    await eventually(lambda: len(collector.spans) == 1)
    await emitter.stop()

    assert emitter.dropped == 0


async def test_what_is_refused_for_good_is_dropped(collector: Collector) -> None:
    """Sending it again would only be refused again."""
    collector.refuse = grpc.StatusCode.INVALID_ARGUMENT
    emitter = Emitter(collector.address, delay_s=0.0)
    emitter.start()
    emitter.emit(emit.finding_span(LIFE, make_finding(make_step()), 1))
    await eventually(lambda: emitter.dropped == 1)
    await emitter.stop()


async def test_without_an_endpoint_nothing_is_kept() -> None:
    """Off means off."""
    emitter = Emitter("")
    emitter.start()
    emitter.emit(emit.finding_span(LIFE, make_finding(make_step()), 1))
    await emitter.stop()

    assert (len(emitter), emitter.dropped) == (0, 0)


async def test_a_run_tells_its_story_in_its_trace(collector: Collector, config: ServerConfig, tmp_path: Path) -> None:
    """Finding, directive and moves are children of the spans that they are about."""
    detector = Detector(replace(config, emit_endpoint=collector.address), FakeJudge)
    await detector.start()
    ref = new_ref()
    async with Agent(f"127.0.0.1:{detector.grpc_port}") as agent:
        await agent.start_run()
        await agent.export(span_request([make_span(ref, held=True, fails="tool_error", order="feedback")]))
        directive = (await agent.next("hold_answer")).directive
        await agent.status(directive.id, "APPLIED", before_digest="sha256:1", after_digest="sha256:2")
        await agent.end_run(reason="ValueError")
        await eventually(lambda: collector.named("run RUNNING -> FAILED"))
    await detector.stop()

    names = {span.name for span in collector.spans}
    assert {"run IDLE -> RUNNING", "detect tool_error", "directive feedback", "run RUNNING -> FAILED"} <= names
    assert {span.trace_id.hex() for span in collector.spans} == {ref.trace_id}
    assert {span.parent_span_id.hex() for span in collector.spans} == {ref.span_id}
