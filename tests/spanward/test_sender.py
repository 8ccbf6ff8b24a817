"""The span sender against a real server that is there, absent, slow, frozen, killed and back."""

from __future__ import annotations

import logging
import socket
import statistics
import time
from collections.abc import Iterator

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext
from spanward import sender as sender_module
from spanward.backlog import Backlog
from spanward.sender import BATCH_SPANS, QUEUE_SPANS, SpanSender
from spanward.span_codec import Queued

from tests.spanward.fake_detector import FakeDetector, until
from tests.spanward.threads import left_running
from tests.spanward.wiretap import WireTap

RESOURCE = Resource({"service.name": "test"})


def span(name: str, text: str = "") -> Queued:
    """A finished span on its way out."""
    return Queued(
        ReadableSpan(
            name,
            SpanContext(1, 2, False),
            resource=RESOURCE,
            attributes={"text": text},
            start_time=1,
            end_time=2,
            instrumentation_scope=InstrumentationScope("spanward"),
        )
    )


@pytest.fixture
def detector() -> Iterator[FakeDetector]:
    with FakeDetector() as running:
        yield running


def sender_to(address: str, call_s: float = 2.0) -> SpanSender:
    return SpanSender(address, lambda: RESOURCE, call_s=call_s)


@pytest.fixture
def dead_address() -> Iterator[str]:
    """An address where nobody listens, nor can begin to: it is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def names(detector: FakeDetector) -> list[str]:
    return [found.name for found in list(detector.spans)]


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level and record.name == "spanward"]


def test_urgent_spans_take_the_queue_with_them(detector: FakeDetector) -> None:
    """A kick sends all that is queued, oldest first, without waiting for a timer."""
    sender = sender_to(detector.address)
    for name in "abc":
        sender.put(span(name), arm=False)
    sender.kick()
    until(lambda: names(detector) == ["a", "b", "c"])
    assert len([request for request in detector.requests if request.resource_spans]) == 1
    sender.shutdown(1)


def test_other_spans_leave_by_themselves(detector: FakeDetector) -> None:
    """Spans that nobody waits for are gathered for some milliseconds and go together."""
    sender = sender_to(detector.address)
    for number in range(10):
        sender.put(span(str(number)))
    until(lambda: len(detector.spans) == 10)
    assert len([request for request in detector.requests if request.resource_spans]) <= 3
    sender.shutdown(1)


def test_nothing_starts_before_the_first_span(detector: FakeDetector) -> None:
    """A sender that has nothing to send has no thread and no connection; the first span starts its thread."""
    with left_running() as threads:
        sender = sender_to(detector.address)
    assert threads == []
    assert detector.requests == []
    with left_running() as threads:
        sender.put(span("first"))
    assert threads == ["spanward-spans"]
    assert sender.flush(5)
    sender.shutdown(1)


def test_flush_waits_for_all(detector: FakeDetector) -> None:
    """After a flush everything is at the detector, in requests of bounded size."""
    sender = sender_to(detector.address)
    for number in range(BATCH_SPANS + 1):
        sender.put(span(str(number)), arm=False)
    assert sender.flush(10)
    assert len(detector.spans) == BATCH_SPANS + 1
    full = [request.resource_spans[0].scope_spans[0].spans for request in detector.requests if request.resource_spans]
    assert max(map(len, full)) <= BATCH_SPANS
    assert (sender.sent, sender.dropped) == (BATCH_SPANS + 1, 0)
    sender.shutdown(1)


def test_absent_detector_costs_the_host_nothing(caplog: pytest.LogCaptureFixture, dead_address: str) -> None:
    """Nobody listens: putting and kicking stay quick, memory is bounded, and one line is logged."""
    caplog.set_level(logging.INFO, "spanward")
    sender = sender_to(dead_address)
    puts, kicks = [], []
    for number in range(2 * QUEUE_SPANS):
        began = time.perf_counter()
        sender.put(span(str(number)), arm=False)
        puts.append(time.perf_counter() - began)
        if number % 100 == 0:
            began = time.perf_counter()
            sender.kick()
            kicks.append(time.perf_counter() - began)
    until(lambda: lines(caplog, logging.WARNING))
    # Medians: a busy machine may take the processor away in the middle of any one of them.
    assert statistics.median(puts) < 0.1
    assert statistics.median(kicks) < 0.1
    assert len(sender._queue) <= QUEUE_SPANS
    began = time.monotonic()
    assert not sender.flush(30)
    assert time.monotonic() - began < 10  # one more try, and no waiting for a better time
    assert len(lines(caplog, logging.WARNING)) == 1
    assert lines(caplog, logging.INFO) == []
    sender.shutdown(0.1)


def test_overflow_drops_the_oldest_and_counts(monkeypatch: pytest.MonkeyPatch, detector: FakeDetector) -> None:
    """A full queue lets the oldest go; each is counted."""
    monkeypatch.setattr(sender_module, "QUEUE_SPANS", 5)
    sender = sender_to(detector.address)
    for number in range(8):
        sender.put(span(str(number)), arm=False)
    sender.kick()
    until(lambda: names(detector) == ["3", "4", "5", "6", "7"])
    assert sender.dropped == 3
    sender.shutdown(1)


def test_restart_brings_what_was_kept(caplog: pytest.LogCaptureFixture, detector: FakeDetector) -> None:
    """Killed and started again: spans of the outage arrive, with one line for the loss and one for the return."""
    caplog.set_level(logging.INFO, "spanward")
    sender = sender_to(detector.address)
    sender.put(span("before"))
    until(lambda: names(detector) == ["before"])
    detector.kill()
    for number in range(5):
        sender.put(span(f"during {number}"))
        sender.kick()
    until(lambda: lines(caplog, logging.WARNING))
    detector.start()
    until(lambda: {f"during {number}" for number in range(5)} <= set(names(detector)))
    sender.put(span("after"))
    until(lambda: "after" in names(detector))
    assert sender.flush(5)
    assert (len(lines(caplog, logging.WARNING)), len(lines(caplog, logging.INFO))) == (1, 1)
    assert sender.dropped == 0
    sender.shutdown(1)


def test_frozen_detector_ends_at_the_deadline(caplog: pytest.LogCaptureFixture, detector: FakeDetector) -> None:
    """Calls to a detector that answers nothing end by their own deadline, as many at once as there are workers."""
    caplog.set_level(logging.INFO, "spanward")
    sender = sender_to(detector.address, call_s=0.2)
    sender.put(span("before"))
    until(lambda: names(detector) == ["before"])
    detector.freeze()
    took = []
    for number in range(50):
        began = time.perf_counter()
        sender.put(span(str(number)), arm=False)
        sender.kick()
        took.append(time.perf_counter() - began)
    assert statistics.median(took) < 0.1
    until(lambda: lines(caplog, logging.WARNING))
    assert sum(thread.name.startswith("spanward-spans") and thread.is_alive() for thread in sender._threads) <= 5
    detector.thaw()
    until(lambda: {str(number) for number in range(50)} <= set(names(detector)))
    assert len(lines(caplog, logging.WARNING)) == 1
    sender.shutdown(1)


def test_slow_detector_gets_everything(detector: FakeDetector) -> None:
    """Slower than the spans come, but within the deadline: batches grow, nothing is lost."""
    detector.answer_delay_s = 0.03
    detector.script = lambda _span: None
    sender = sender_to(detector.address)
    for number in range(40):
        sender.put(span(str(number)), arm=False)
        sender.kick()
    until(lambda: len(detector.spans) == 40)
    assert len(detector.requests) < 40
    sender.shutdown(1)


def test_spans_that_cannot_be_encoded_are_counted(detector: FakeDetector) -> None:
    """Whoever takes them, a sender's own thread or the control stream: nothing is lost without a trace."""

    def broken() -> Resource:
        raise RuntimeError("no resource")

    sender = SpanSender(detector.address, broken)
    sender.put(span("taken"), arm=False)
    assert sender.take() == []
    assert sender.dropped == 1
    sender.put(span("sent"))
    until(lambda: sender.dropped == 2)
    sender.shutdown(1)


def test_backlog_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch, dead_address: str) -> None:
    """What waits for the peer is bounded in bytes; the oldest requests go first and are counted."""
    monkeypatch.setattr(sender_module, "Backlog", lambda: Backlog(50_000))
    sender = sender_to(dead_address)
    for _ in range(30):
        sender.put(span("big", "x" * 10_000), arm=False)
        sender.kick()
        until(lambda: not sender._queue)
    until(lambda: not sender._busy)
    assert sender._backlog._bytes <= 50_000
    assert sender.dropped >= 20
    sender.shutdown(0.1)


def test_refused_for_good_is_not_tried_again(detector: FakeDetector) -> None:
    """A status that would come again drops the spans and counts them."""
    detector.export_status = grpc.StatusCode.INVALID_ARGUMENT
    sender = sender_to(detector.address)
    sender.put(span("bad"))
    until(lambda: sender.dropped == 1)
    detector.export_status = None
    sender.put(span("good"))
    until(lambda: names(detector) == ["good"])
    sender.shutdown(1)


def test_partial_success_is_counted(detector: FakeDetector) -> None:
    """Spans that the receiver says it rejected are lost, and counted so."""
    detector.export_answer = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=2))
    sender = sender_to(detector.address)
    sender.put(span("a"))
    until(lambda: sender.dropped >= 2)
    sender.shutdown(1)


def test_a_big_batch_is_taken(detector: FakeDetector) -> None:
    """Requests above gRPC's own limit of 4 MiB pass, up to 16."""
    sender = sender_to(detector.address, call_s=20)
    for number in range(6):
        sender.put(span(str(number), "x" * 2_000_000), arm=False)
    assert sender.flush(20)
    assert len(detector.spans) == 6
    sender.shutdown(1)


def test_a_network_that_is_gone_stalls_nobody(detector: FakeDetector) -> None:
    """Packets that vanish are a deadline to our threads and nothing to the host."""
    with WireTap(detector.address) as tap:
        sender = sender_to(tap.address, call_s=0.3)
        sender.put(span("before"))
        until(lambda: names(detector) == ["before"])
        tap.stall()
        sender.put(span("during"))
        began = time.perf_counter()
        sender.kick()
        assert time.perf_counter() - began < 10  # the network stays away for longer than that
        until(lambda: sender._retry_s > 0)
        tap.resume()
        until(lambda: "during" in names(detector))
        sender.shutdown(1)


def test_shutdown_is_quick_and_final(detector: FakeDetector) -> None:
    """Shutdown sends what is there, ends in time though the peer is frozen, and makes later calls harmless."""
    sender = sender_to(detector.address)
    sender.put(span("last"))
    sender.shutdown(2)
    assert names(detector) == ["last"]
    other = sender_to(detector.address)
    other.put(span("first"))
    until(lambda: "first" in names(detector))
    detector.freeze()
    other.put(span("stuck"))
    other.kick()
    began = time.monotonic()
    other.shutdown(0.2)
    assert time.monotonic() - began < 5
    other.put(span("late"))
    other.kick()
    other.arm()
    assert not other.flush(0.1)
    other.shutdown(0.1)


def test_a_disabled_sender_does_nothing(detector: FakeDetector) -> None:
    """As in a forked child: no queue, no thread, no call."""
    sender = sender_to(detector.address)
    sender.disable()
    with left_running() as threads:
        sender.put(span("x"))
        sender.kick()
    assert threads == []
    assert not sender.flush(0.1)
    assert detector.requests == []
