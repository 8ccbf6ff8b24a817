"""OTLP in, step files, and all the way to what is stored and shown."""

from __future__ import annotations

import gzip
import io
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from spanward import feedback
from spanward.control_client import codec as gate_codec
from spanward_control.v1 import control_pb2 as pb
from spanward_detector import emit, ingest, wire
from spanward_detector.control import codec as detector_codec
from spanward_detector.evaluate.steps import StepsError, read_steps
from spanward_detector.ingest import IngestError
from spanward_detector.ingest.records import MAX_TIME_NS
from spanward_detector.model import Directive
from spanward_detector.normalize import messages as messages_of_models
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy.load import default
from spanward_detector.run_lifecycle import Life
from spanward_detector.store.records import finding_row
from spanward_detector.store.statements import step_row

from fuzz import seeds
from fuzz.mutate import message_mutator, mutate_json, mutate_lines
from fuzz.target import Target, promise


def _traces(data: bytes) -> None:
    for span in ingest.iter_traces(data):
        span.attrs.to_dict()
        span.resource.to_dict()
        for event in span.events:
            event.attrs.to_dict()
        promise(0 <= span.start_ns <= span.end_ns <= MAX_TIME_NS, "times are in order")


def _logs(data: bytes) -> None:
    for record in ingest.iter_logs(data):
        record.attrs.to_dict()
        messages_of_models.dump(record.body)


def _attributes(data: bytes) -> None:
    value = ingest.decode_value(data)
    attrs = ingest.Attrs({"a": data})
    for read in (attrs.text, attrs.int, attrs.float, attrs.bool, attrs.strings, attrs.value):
        read("a")
    try:
        meant = AnyValue.FromString(data)
    except Exception:
        return
    if meant.HasField("int_value") and meant.ByteSize() == len(data):
        promise(value == meant.int_value, "numbers are those of the stock decoder")


def _files(data: bytes) -> None:
    for limit in (ingest.MAX_MESSAGE_BYTES, 1000):
        with suppress(IngestError):
            ingest.decode_any(data, limit=limit)
        with suppress(IngestError):
            list(ingest.read_batches(io.BytesIO(data), limit=limit))


def _split(data: bytes) -> None:
    parts = [part for part in wire.split(data, 3) if part]
    whole = ExportTraceServiceRequest.FromString(data)  # what is split is what the stock decoder takes
    spans = sum(len(scope.spans) for resource in whole.resource_spans for scope in resource.scope_spans)
    found = (ExportTraceServiceRequest.FromString(part) for part in parts)
    promise(
        spans == sum(len(s.spans) for one in found for r in one.resource_spans for s in r.scope_spans),
        "nothing is lost",
    )


def _judge(traces: bytes, logs: bytes) -> None:
    """Normalize and judge, and make of the verdicts what is stored and what is shown in the trace."""
    pipeline = Pipeline(default())
    spans = ingest.decode_traces(traces)
    verdicts = pipeline.spans(spans)
    verdicts += pipeline.logs(ingest.decode_logs(logs) if logs else ())
    for run_id in {verdict.run.id for verdict in verdicts}:
        settled = pipeline.settle(run_id)
        verdicts += [settled] if settled is not None else []
    shown = []
    for verdict in verdicts:
        life = Life(verdict.run.id, verdict.run.agent, verdict.run.service, verdict.run.conversation_id)
        step_row(verdict.step)
        for finding in verdict.findings:
            finding_row(verdict.run.id, finding, 1, "")
            shown.append(emit.finding_span(life, finding, 1))
        if verdict.directive is not None:
            _order(verdict.directive)
    emit.encode(shown).SerializeToString()
    raised = dict(pipeline.detectors.counters)
    promise(not raised, f"rules do not raise: {raised}")


@cache
def _log_of() -> dict[bytes, bytes]:
    """Trace request -> the log request that belongs to it."""
    folder = seeds.ROOT / "tests/fixtures/spans"
    pairs = [(path, Path(str(path).replace(".logs.", "."))) for path in sorted(folder.glob("*/*.logs.otlp.pb.gz"))]
    return {gzip.decompress(b.read_bytes()): gzip.decompress(a.read_bytes()) for a, b in pairs if b.exists()}


def _logs_of_calls(data: bytes) -> None:
    spans = next(iter(_log_of()), b"")
    _judge(spans, data)


def _order(directive: Directive) -> None:
    """From the detector's side of the wire to the gate's."""
    sent = detector_codec.directive(directive, 1, 1000).SerializeToString()
    got = gate_codec.directive(pb.Directive.FromString(sent), 1.0)
    if got is not None and got.kind == "feedback":
        slots: Any = got.payload["slots"]
        feedback.render(str(got.payload["template"]), slots, {})


def _steps(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        pipeline = Pipeline(default())
        for step in read_steps(Path(file.name)):
            pipeline.step(step)
    raised = dict(pipeline.detectors.counters)
    promise(not raised, f"rules do not raise: {raised}")


@cache
def _any_values() -> tuple[bytes, ...]:
    values = ("x", "é" * 70, "x" * 20_000, True, 0, -1, 2**62, 0.5, b"\xff", [1, "a", None], {"a": {"b": [1.5]}}, "-12")
    return tuple(ingest.encode_value(value) for value in values)


_SPANS: Final = message_mutator(ExportTraceServiceRequest, seeds.names)
_LOGS: Final = message_mutator(ExportLogsServiceRequest, seeds.names)


TARGETS: Final = (
    Target("traces", _traces, seeds.traces, _SPANS, (IngestError,)),
    Target("logs", _logs, seeds.logs, _LOGS, (IngestError,)),
    Target("traces_json", lambda d: list(ingest.iter_traces_json(d)), seeds.traces_json, mutate_json, (IngestError,)),
    Target("files", _files, seeds.stored),
    Target("attributes", _attributes, _any_values, message_mutator(AnyValue)),
    Target("wire", _split, seeds.traces, _SPANS, (wire.WireError, DecodeError)),
    Target("pipeline", lambda d: _judge(d, b""), seeds.traces, _SPANS, (IngestError,)),
    Target("pipeline_logs", _logs_of_calls, seeds.logs, _LOGS, (IngestError,)),
    Target("steps", _steps, lambda: seeds.STEPS, mutate_lines, (StepsError,)),
)
