"""Builders of OTLP messages and steps, the stock way of reading them, and the captures."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from spanward_detector.ingest import RawSpan, decode_traces, encode_value
from spanward_detector.model import Step
from spanward_detector.normalize import Normalizer

CAPTURES = Path(__file__).parents[1] / "fixtures" / "spans"
TRACES = sorted(
    (path.parent.name, path.name.removesuffix(".otlp.pb.gz"))
    for path in CAPTURES.glob("*/*.otlp.pb.gz")
    if ".logs." not in path.name
)
LOGS = sorted(
    (path.parent.name, path.name.removesuffix(".logs.otlp.pb.gz")) for path in CAPTURES.glob("*/*.logs.otlp.pb.gz")
)
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def capture(name: str, scenario: str) -> bytes:
    """Trace request of a capture, as protobuf."""
    return gzip.decompress((CAPTURES / name / f"{scenario}.otlp.pb.gz").read_bytes())


def captured_logs(name: str, scenario: str) -> bytes:
    """Log request of a capture, as protobuf; empty when it has none."""
    path = CAPTURES / name / f"{scenario}.logs.otlp.pb.gz"
    return gzip.decompress(path.read_bytes()) if path.exists() else b""


def stock_value(value: AnyValue) -> object:
    """An attribute value as everybody reads it with opentelemetry-proto."""
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "array_value":
        return [stock_value(item) for item in value.array_value.values]
    if which == "kvlist_value":
        return stock_attributes(value.kvlist_value.values)
    return getattr(value, which)


def stock_attributes(pairs: Sequence[KeyValue]) -> dict[str, object]:
    """Attributes as everybody reads them: the last of equal keys wins."""
    return {pair.key: stock_value(pair.value) for pair in pairs}


def request(
    spans: Sequence[Mapping[str, object]], *, scope: str = "", resource: Mapping[str, object] | None = None
) -> ExportTraceServiceRequest:
    """A trace request.

    Args:
        spans: each with any of id, parent, trace, name, kind, start, end, status, message, attrs, events; ids in hex.
        scope: name of the instrumentation scope.
        resource: attributes of the resource.
    """
    message = ExportTraceServiceRequest()
    owner = message.resource_spans.add()
    for key, value in (resource or {"service.name": "svc"}).items():
        owner.resource.attributes.append(_pair(key, value))
    scoped = owner.scope_spans.add()
    scoped.scope.name = scope
    for number, given in enumerate(spans, 1):
        span = scoped.spans.add()
        span.trace_id = bytes.fromhex(str(given.get("trace", TRACE_ID)))
        span.span_id = bytes.fromhex(str(given.get("id", f"{number:016x}")))
        span.parent_span_id = bytes.fromhex(str(given.get("parent", "")))
        span.name = str(given.get("name", "span"))
        span.kind = given.get("kind", 1)  # type: ignore[assignment]
        span.start_time_unix_nano = given.get("start", 1_760_000_000_000_000_000 + number * 1000)  # type: ignore[assignment]
        span.end_time_unix_nano = given.get("end", span.start_time_unix_nano + 500)  # type: ignore[assignment]
        span.status.code = given.get("status", 0)  # type: ignore[assignment]
        span.status.message = str(given.get("message", ""))
        for key, value in dict(given.get("attrs", {})).items():  # type: ignore[call-overload]
            span.attributes.append(_pair(key, value))
        for event_name, attributes in given.get("events", ()):  # type: ignore[attr-defined]
            event = span.events.add()
            event.name = event_name
            for key, value in attributes.items():
                event.attributes.append(_pair(key, value))
    return message


def spans(given: Sequence[Mapping[str, object]], *, scope: str = "") -> list[RawSpan]:
    """Decoded spans of :func:`request`."""
    return decode_traces(request(given, scope=scope).SerializeToString())


def log_request(records: Sequence[Mapping[str, object]]) -> bytes:
    """A log request; each record with span, event, ts, body, attrs."""
    message = ExportLogsServiceRequest()
    scoped = message.resource_logs.add().scope_logs.add()
    for number, given in enumerate(records, 1):
        record = scoped.log_records.add()
        record.trace_id = bytes.fromhex(TRACE_ID)
        record.span_id = bytes.fromhex(str(given["span"]))
        record.event_name = str(given["event"])
        record.observed_time_unix_nano = given.get("ts", number)  # type: ignore[assignment]
        record.body.MergeFromString(encode_value(given.get("body")))
        for key, value in dict(given.get("attrs", {})).items():  # type: ignore[call-overload]
            record.attributes.append(_pair(key, value))
    return message.SerializeToString()


def _pair(key: str, value: object) -> KeyValue:
    return KeyValue(key=key, value=AnyValue.FromString(encode_value(value)))


def normalize(
    given: Sequence[Mapping[str, object]], scope: str = "", normalizer: Normalizer | None = None
) -> list[Step]:
    """Steps of spans in the order of arrival, completed after all have come, without superseded ones."""
    normalizer = normalizer or Normalizer()
    found = [step for span in spans(given, scope=scope) for step in normalizer.steps(span)]
    for step in found:
        normalizer.complete(step, settled=True)
    return [step for step in found if not normalizer.superseded(step)]


def one(attrs: Mapping[str, object], scope: str = "", **span: object) -> Step:
    """The only step of a span with these attributes."""
    (step,) = normalize([{"attrs": attrs, **span}], scope)
    return step


def parts(role: str, *items: Mapping[str, object], **more: object) -> dict[str, object]:
    """A message in the form of the GenAI conventions."""
    return {"role": role, "parts": list(items), **more}


def text(content: str) -> dict[str, object]:
    """A text part."""
    return {"type": "text", "content": content}
