"""Spans on the control stream: nothing is lost between it and the calls, and nothing is sent both ways in peace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward import semconv
from spanward.control_client import ControlClient
from spanward.control_client.carried import MAX_BYTES, Carried
from spanward.control_client.outbox import RunChange
from spanward.control_client.stream import OVERDUE_S, STALLED_S, Stream
from spanward.span_codec import Batch
from spanward.spans import SpanPipeline, step_spans

from tests.spanward.fake_detector import FakeDetector, until
from tests.spanward.fakes import FakeGate, FakeRun, settings


class FakeSource:
    """A sender with batches made by hand."""

    def __init__(self) -> None:
        self.queued: list[Batch] = []
        self.back: list[Batch] = []
        self.sent = 0

    def take(self) -> list[Batch]:
        queued, self.queued = self.queued, []
        return queued

    def give_back(self, batches: list[Batch]) -> None:
        self.back += batches

    def count_sent(self, spans: int) -> None:
        self.sent += spans


# ------------------------------------------------------------------------------------------------- the bookkeeping


@given(st.lists(st.one_of(
    st.tuples(st.just("take"), st.integers(0, 3)), st.tuples(st.just("taken"), st.integers(0, 12)),
    st.tuples(st.just("recall"), st.integers(0, 12)), st.tuples(st.just("end"), st.just(0)),
), max_size=20))  # fmt: skip
def test_every_span_arrives_or_goes_back(acts: list[tuple[str, int]]) -> None:
    """Whatever happens on a stream, each span is counted as arrived, or given back, or still away: once, in order."""
    source = FakeSource()
    carried = Carried(source)
    away: list[tuple[int, int]] = []  # (number, spans)
    sent = given_back = number = 0
    over = False
    for act, value in acts:
        if act == "take":
            number += 1
            source.queued = [Batch(b"x", value)] if value else []
            payload = carried.take(number, float(number))
            if value and over:
                given_back += value
                assert payload is None
            elif value:
                away.append((number, value))
                assert payload == b"x"
            else:
                assert payload is None
        elif act == "taken":
            carried.taken(value)
            sent += sum(spans for at, spans in away if at <= value)
            away = [(at, spans) for at, spans in away if at > value]
        else:
            limit = value if act == "recall" else 10**9
            over = over or act == "end"
            carried.recall(limit) if act == "recall" else carried.end()
            given_back += sum(spans for at, spans in away if at < limit)
            away = [(at, spans) for at, spans in away if at >= limit]
        assert source.sent == sent
        assert sum(batch.spans for batch in source.back) == given_back


def test_what_is_too_large_for_the_stream_goes_by_a_call() -> None:
    """One message holds at most 64 KiB, and one request: more would keep the verdicts of others waiting."""
    source = FakeSource()
    carried = Carried(source)
    source.queued = [Batch(b"x" * MAX_BYTES, 1)]
    assert carried.take(1, 0.0) is not None
    for batches in ([Batch(b"x" * (MAX_BYTES + 1), 1)], [Batch(b"a", 1), Batch(b"b", 2)]):
        source.queued, source.back = list(batches), []
        assert carried.take(2, 0.0) is None
        assert source.back == batches


# ------------------------------------------------------------------------------------------------- the real stream


@pytest.fixture
def detector() -> Iterator[FakeDetector]:
    with FakeDetector() as running:
        running.welcome.takes_spans = True
        running.welcome.heartbeat_ms = 50
        yield running


Connect = Callable[..., tuple[SpanPipeline, ControlClient]]


@pytest.fixture
def connect(detector: FakeDetector) -> Iterator[Connect]:
    """Makes spans and client that know each other, with one open run."""
    made: list[tuple[SpanPipeline, ControlClient]] = []

    def make(**changes: Any) -> tuple[SpanPipeline, ControlClient]:
        chosen = settings(detector.address, **changes)
        gate = FakeGate()
        spans, client = step_spans(chosen), ControlClient(chosen, gate)
        made.append((spans, client))
        spans.carried_by(client)
        run = FakeRun()
        gate.runs.append(run)
        client.register_run(run)
        assert client.wait_connected(10)
        return spans, client

    yield make
    for spans, client in made:
        client.shutdown(1)
        spans.shutdown(1)


def held_step(spans: SpanPipeline, client: ControlClient, *, timeout_s: float = 5.0) -> str:
    """A step that is waited for; what kind of verdict came."""
    span = spans.start("held", "internal", {semconv.RUN_ID: "run-1", semconv.HOLD: True})
    ids = span.get_span_context()
    hold = client.hold(f"{ids.trace_id:032x}", f"{ids.span_id:016x}")
    spans.end(span, urgent=True)
    return hold.wait(timeout_s).kind


def test_a_held_step_goes_by_the_stream(detector: FakeDetector, connect: Connect) -> None:
    """Its verdict comes, no call carries the span, and what the detector has taken is not sent again."""
    spans, client = connect()
    assert [held_step(spans, client) for _ in range(3)] == ["none"] * 3
    assert len(detector.carried) == 3
    assert spans.flush(5)
    assert len(detector.named("held")) == 3
    assert not any(request.resource_spans for request in detector.requests)


def test_a_run_is_told_with_its_first_spans(detector: FakeDetector, connect: Connect) -> None:
    """What waits to be said of open runs travels in the message of the spans, so that they come to a known run."""
    _, client = connect()
    stream = Stream(client)
    until(lambda: not len(client.outbox))
    stream._carried = Carried(source := FakeSource())
    source.queued = [Batch(b"x", 1)]
    with client.outbox.changed:  # the client's own stream must not take it first
        client.outbox.put_run(RunChange(FakeRun("late"), started=True))
        message = stream._fetch()
    assert message is not None
    assert [(update.run.run_id, update.started) for update in message.spans.runs] == [("late", True)]
    assert stream._fetch() is None


def test_spans_silence_nothing_else(detector: FakeDetector, connect: Connect) -> None:
    """However many spans wait, states of directives and heartbeats have their turns in between."""
    _, client = connect()
    until(lambda: not len(client.outbox))
    stream = Stream(client)
    stream._carried = Carried(source := FakeSource())
    stream._carries = True
    said = []
    with client.outbox.changed:
        client.status("d1", "received")
        client.status("d1", "applied")
        for _ in range(6):
            source.queued = [Batch(b"x", 1)]
            assert stream.fetch_soon()
            message = stream._next()
            assert message is not None
            said.append(message.WhichOneof("message"))
    assert said == ["spans", "directive_status", "spans", "directive_status", "spans", "heartbeat"]


def test_what_nobody_waits_for_goes_by_calls(detector: FakeDetector, connect: Connect) -> None:
    """The stream is for verdicts; the rest leaves in batches as before."""
    spans, _ = connect()
    spans.end(spans.start("free", "internal", {semconv.RUN_ID: "run-1"}), urgent=False)
    spans.end(spans.start("last", "internal", {semconv.RUN_ID: "run-1"}), urgent=True)
    until(lambda: detector.named("free") and detector.named("last"))
    assert detector.carried == []


def test_a_detector_that_does_not_take_them_gets_calls(detector: FakeDetector, connect: Connect) -> None:
    """An older detector knows no spans on its streams."""
    detector.welcome.takes_spans = False
    spans, client = connect()
    assert held_step(spans, client) == "none"
    assert detector.carried == []


def test_spans_for_a_collector_never_go_by_the_stream(detector: FakeDetector, connect: Connect) -> None:
    """Where spans have a target of their own, they all go there: others read them too."""
    with FakeDetector() as collector:
        spans, client = connect(spans_endpoint=collector.address)
        assert held_step(spans, client, timeout_s=0.01) == "timeout"
        until(lambda: collector.named("held"))
        assert detector.carried == []


def test_what_was_not_taken_is_sent_again_when_the_stream_ends(detector: FakeDetector, connect: Connect) -> None:
    """A stream may end with spans on the way: a call brings them once more."""
    detector.answers = False
    spans, client = connect()
    session = detector.session
    session.takes = False
    assert held_step(spans, client, timeout_s=0.01) == "timeout"
    until(lambda: detector.carried)
    session.end()
    until(lambda: len(detector.named("held")) == 2)
    assert [len(request.resource_spans) for request in detector.requests if request.resource_spans] == [1]


def test_a_flush_sends_what_was_not_taken(detector: FakeDetector, connect: Connect) -> None:
    """After a flush everything is at the detector for certain."""
    detector.answers = False
    spans, client = connect()
    detector.session.takes = False
    assert held_step(spans, client, timeout_s=0.01) == "timeout"
    until(lambda: detector.carried)
    assert spans.flush(5)
    assert len(detector.named("held")) == 2


def test_what_is_not_taken_for_long_is_sent_again(detector: FakeDetector, connect: Connect) -> None:
    """A detector that takes messages and deals with none is not trusted with the only copy."""
    detector.answers = False
    spans, client = connect()
    detector.session.takes = False
    assert held_step(spans, client, timeout_s=0.01) == "timeout"
    until(lambda: len(detector.named("held")) == 2, timeout_s=OVERDUE_S + 8)


def test_a_stream_that_does_not_move_is_passed_by(detector: FakeDetector, connect: Connect) -> None:
    """When it has not come for the last spans in time, calls take them: a stalled stream stalls no span."""
    _, client = connect()
    stream = Stream(client)
    assert not stream.fetch_soon()  # not welcomed yet
    stream._carries = True
    assert stream.fetch_soon()
    assert stream.fetch_soon()
    stream._asked_at -= STALLED_S * 2
    assert not stream.fetch_soon()
    assert detector.carried == []
