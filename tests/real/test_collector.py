"""The repository's Collector file in a real Collector."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc

from tests.real import stack

FORWARDED = {"spanward.forwarded": True}


def test_the_collector_accepts_the_file() -> None:
    """The Collector's own check finds nothing wrong, with no variable set."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL", "OTLP"))}
    command = [stack.binary("otelcol-agents"), "validate", f"--config={stack.ROOT / 'otel-collector.yaml'}"]
    done = subprocess.run(command, capture_output=True, text=True, env=clean, timeout=60)

    assert done.returncode == 0, done.stderr


def test_a_step_span_reaches_the_detector_at_once(collector: stack.Collector, sink: stack.Sink) -> None:
    """No batch stands between the fast path and the detector: the median span needs a few milliseconds."""
    taken = []
    for _ in range(40):
        made = stack.make()
        sent = stack.send(collector.otlp_steps, made)
        taken.append(sink.wait_for(made.span_id).at - sent)

    assert statistics.median(taken) < 0.040  # a batch processor's default alone would add 200 ms


@pytest.mark.parametrize("receiver", ["otlp_grpc", "otlp_steps"])
def test_the_detector_never_gets_its_own_spans(
    collector: stack.Collector, sink: stack.Sink, jaeger: stack.Jaeger, receiver: str
) -> None:
    """Findings and directives go to Jaeger only, or the detector would watch itself."""
    step = stack.make()
    finding = stack.make("detect loop", scope="spanward.detector", trace_id=step.trace_id, parent_id=step.span_id)
    after = stack.make()
    stack.send(getattr(collector, receiver), step, finding, after)
    stored = jaeger.spans(step.trace_id, at_least=2)
    sink.wait_for(after.span_id)

    assert {span["operationName"] for span in stored} == {"execute_tool search", "detect loop"}
    assert step.span_id in sink.spans
    assert finding.span_id not in sink.spans


def test_a_forwarded_copy_is_not_stored_twice(
    collector: stack.Collector, sink: stack.Sink, jaeger: stack.Jaeger
) -> None:
    """The detector gets the copy at once; Jaeger stores only the original of the user's own exporter."""
    scope = "opentelemetry.instrumentation.openai_v2"
    original = stack.make("chat gpt", scope=scope)
    copy = stack.make("chat gpt", scope=scope, resource=FORWARDED)
    copy.request.resource_spans[0].scope_spans[0].spans[0].CopyFrom(
        original.request.resource_spans[0].scope_spans[0].spans[0]
    )
    step = stack.make(trace_id=original.trace_id, parent_id=original.span_id)
    stack.send(collector.otlp_steps, copy)
    sink.wait_for(original.span_id)
    stack.send(collector.otlp_grpc, original)
    stack.send(collector.otlp_steps, step)
    stored = jaeger.spans(original.trace_id, at_least=2)

    assert sorted(span["spanID"] for span in stored) == sorted([original.span_id, step.span_id])


def test_http_children_of_the_own_provider_are_stored(
    collector: stack.Collector, sink: stack.Sink, jaeger: stack.Jaeger
) -> None:
    """Spans of other scopes that only our provider makes come on the fast path alone, and are kept."""
    step = stack.make()
    child = stack.make(
        "GET", scope="opentelemetry.instrumentation.httpx", trace_id=step.trace_id, parent_id=step.span_id
    )
    stack.send(collector.otlp_steps, step, child)

    assert len(jaeger.spans(step.trace_id, at_least=2)) == 2
    sink.wait_for(child.span_id)


def test_start_markers_are_for_the_detector_only(
    collector: stack.Collector, sink: stack.Sink, jaeger: stack.Jaeger
) -> None:
    """Pending spans tell the detector that a call has begun; in Jaeger they would be doubles."""
    step = stack.make()
    marker = stack.make(
        scope="logfire",
        attributes={"logfire.span_type": "pending_span"},
        trace_id=step.trace_id,
        parent_id=step.span_id,
    )
    last = stack.make(trace_id=step.trace_id)
    stack.send(collector.otlp_grpc, step, marker, last)
    stored = jaeger.spans(step.trace_id, at_least=2)
    sink.wait_for(marker.span_id)

    assert {span["spanID"] for span in stored} == {step.span_id, last.span_id}


def test_what_is_stored_is_masked(collector: stack.Collector, sink: stack.Sink, jaeger: stack.Jaeger) -> None:
    """Secrets do not reach Jaeger, neither under a telling name nor in a value that looks like one."""
    made = stack.make(attributes={"x_api_key": "hunter2", "note": "use sk-abcdefghijklmnop1234", "city": "Berlin"})
    stack.send(collector.otlp_steps, made)
    [span] = jaeger.spans(made.trace_id)

    assert span["tags"]["x_api_key"] == "****"
    assert "sk-abc" not in span["tags"]["note"]
    assert span["tags"]["city"] == "Berlin"


def test_logs_reach_the_detector(collector: stack.Collector, sink: stack.Sink) -> None:
    """Older instrumentations put content into log records: the detector needs them too."""
    request = logs_service_pb2.ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add().body.string_value = "gen_ai.user.message"
    with grpc.insecure_channel(collector.otlp_grpc) as channel:
        logs_service_pb2_grpc.LogsServiceStub(channel).Export(request, timeout=10, wait_for_ready=True)

    stack.wait_until(lambda: "gen_ai.user.message" in sink.logs, "the log record at the detector", 10)


def test_a_big_message_passes(collector: stack.Collector, sink: stack.Sink) -> None:
    """Legal batches are up to 16 MiB, four times gRPC's default."""
    big = stack.make(attributes={f"k{n}": "v" * 100_000 for n in range(120)})
    stack.send(collector.otlp_steps, big)

    assert big.request.ByteSize() > 11_000_000
    assert len(sink.wait_for(big.span_id).attributes) == 120


def test_a_dead_jaeger_costs_the_detector_nothing(tmp_path: Path, sink: stack.Sink) -> None:
    """Nobody listens where Jaeger should be, and the detector still gets its spans at once."""
    with stack.collector(sink.address, workdir=tmp_path) as alone:
        taken = []
        for _ in range(20):
            made = stack.make()
            sent = stack.send(alone.otlp_steps, made)
            taken.append(sink.wait_for(made.span_id).at - sent)

    assert statistics.median(taken) < 0.040


def test_a_dead_detector_costs_jaeger_nothing(tmp_path: Path, jaeger: stack.Jaeger) -> None:
    """Nobody listens where the detector should be, and traces are still stored."""
    with stack.collector(jaeger_otlp=jaeger.otlp_grpc, workdir=tmp_path) as alone:
        made = stack.make()
        stack.send(alone.otlp_steps, made)

        assert len(jaeger.spans(made.trace_id, timeout_s=10)) == 1


def test_spans_for_jaeger_survive_a_killed_collector(tmp_path: Path, sink: stack.Sink, jaeger: stack.Jaeger) -> None:
    """What waits for Jaeger is on disk: a Collector killed with SIGKILL sends it when it runs again."""
    queue = tmp_path / "queue"
    made = [stack.make() for _ in range(20)]
    with stack.collector(sink.address, workdir=tmp_path, queue=queue) as first:
        stack.send(first.otlp_steps, *made)
        stack.wait_until(
            lambda: _metric(first, "otelcol_exporter_queue_size", "otlp_grpc/jaeger"), "spans in the queue", 10
        )
        stack.wait_until(lambda: _metric(first, "otelcol_processor_batch_batch_send_size_sum") >= 20, "the batch", 10)
        os.killpg(first.child.pid, signal.SIGKILL)
        first.child.wait(10)
    with stack.collector(sink.address, jaeger.otlp_grpc, workdir=tmp_path, queue=queue):
        for one in made:
            assert len(jaeger.spans(one.trace_id)) == 1


def _metric(running: stack.Collector, name: str, exporter: str = "") -> float:
    """Sum of a metric of the Collector itself; 0 while it does not show it."""
    lines = (stack.get(f"http://{running.metrics}/metrics") or b"").decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name) and exporter in line)
