"""Decoding: equal to the stock decoder on everything that agents send, in every form of the protocol."""

from __future__ import annotations

import base64
import gzip
import io
import json
import subprocess
import sys

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from spanward import semconv as sc
from spanward_detector.ingest import (
    Attrs,
    RawLog,
    RawSpan,
    decode_any,
    decode_logs,
    decode_logs_json,
    decode_traces,
    decode_traces_json,
    decode_value,
    encode_value,
    iter_traces,
    read_batches,
)

from tests.detector.otlp import (
    LOGS,
    TRACES,
    capture,
    captured_logs,
    request,
    spans,
    stock_attributes,
    stock_value,
)

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def plain(span: RawSpan) -> dict[str, object]:
    """Everything that a decoded span says."""
    return {
        "ids": (span.trace_id, span.span_id, span.parent_id),
        "name": span.name,
        "kind": span.kind,
        "times": (span.start_ns, span.end_ns),
        "status": (span.status, span.status_message),
        "attrs": span.attrs.to_dict(),
        "events": [(event.name, event.time_ns, event.attrs.to_dict()) for event in span.events],
        "scope": (span.scope, span.scope_version),
        "resource": span.resource.to_dict(),
        "service": span.service,
    }


def plain_log(log: RawLog) -> dict[str, object]:
    """Everything that a decoded log record says."""
    return {
        "ids": (log.trace_id, log.span_id), "ts": log.ts_ns, "event": log.event_name, "severity": log.severity,
        "attrs": log.attrs.to_dict(), "body": log.body, "scope": log.scope, "service": log.service,
    }  # fmt: skip


def stock_spans(data: bytes) -> list[dict[str, object]]:
    """The same by opentelemetry-proto."""
    found: list[dict[str, object]] = []
    for owner in ExportTraceServiceRequest.FromString(data).resource_spans:
        resource = stock_attributes(owner.resource.attributes)
        for scoped in owner.scope_spans:
            found += [
                {
                    "ids": (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex() or None),
                    "name": span.name,
                    "kind": span.kind,
                    "times": (span.start_time_unix_nano, span.end_time_unix_nano),
                    "status": (span.status.code, span.status.message),
                    "attrs": stock_attributes(span.attributes),
                    "events": [(e.name, e.time_unix_nano, stock_attributes(e.attributes)) for e in span.events],
                    "scope": (scoped.scope.name, scoped.scope.version),
                    "resource": resource,
                    "service": resource.get("service.name", ""),
                }
                for span in scoped.spans
            ]
    return found


def stock_logs(data: bytes) -> list[dict[str, object]]:
    """The same by opentelemetry-proto."""
    return [
        {
            "ids": (record.trace_id.hex(), record.span_id.hex()),
            "ts": record.time_unix_nano or record.observed_time_unix_nano,
            "event": record.event_name,
            "severity": record.severity_number,
            "attrs": stock_attributes(record.attributes),
            "body": stock_value(record.body),
            "scope": scoped.scope.name,
            "service": stock_attributes(owner.resource.attributes).get("service.name", ""),
        }
        for owner in ExportLogsServiceRequest.FromString(data).resource_logs
        for scoped in owner.scope_logs
        for record in scoped.log_records
    ]


def otlp_json(message: ExportTraceServiceRequest | ExportLogsServiceRequest, *, hexadecimal: bool = True) -> bytes:
    """A request as OTLP/JSON: protobuf's mapping, with ids in hex as the protocol says or left in base64."""

    def fix(value: object) -> object:
        if isinstance(value, list):
            return [fix(item) for item in value]
        if isinstance(value, dict):
            return {
                key: base64.b64decode(item).hex()
                if hexadecimal and key in ("traceId", "spanId", "parentSpanId")
                else fix(item)
                for key, item in value.items()
            }
        return value

    return json.dumps(fix(MessageToDict(message, use_integers_for_enums=hexadecimal))).encode()


@pytest.mark.parametrize(("name", "scenario"), TRACES)
def test_traces_equal_the_stock_decoder(name: str, scenario: str) -> None:
    """Every field of every captured span is what opentelemetry-proto reads."""
    data = capture(name, scenario)
    assert [plain(span) for span in decode_traces(data)] == stock_spans(data)


@pytest.mark.parametrize(("name", "scenario"), LOGS)
def test_logs_equal_the_stock_decoder(name: str, scenario: str) -> None:
    """Every field of every captured log record is what opentelemetry-proto reads."""
    data = captured_logs(name, scenario)
    assert [plain_log(log) for log in decode_logs(data)] == stock_logs(data)


@pytest.mark.parametrize("hexadecimal", [True, False])
@pytest.mark.parametrize(("name", "scenario"), TRACES[::5])
def test_json_traces_equal_protobuf(name: str, scenario: str, hexadecimal: bool) -> None:
    """OTLP/JSON gives the same spans, with hex or base64 ids, enums as numbers or names, integers as strings."""
    data = capture(name, scenario)
    text = otlp_json(ExportTraceServiceRequest.FromString(data), hexadecimal=hexadecimal)
    assert [plain(span) for span in decode_traces_json(text)] == stock_spans(data)


@pytest.mark.parametrize(("name", "scenario"), LOGS[::3])
def test_json_logs_equal_protobuf(name: str, scenario: str) -> None:
    """OTLP/JSON gives the same log records."""
    data = captured_logs(name, scenario)
    text = otlp_json(ExportLogsServiceRequest.FromString(data))
    assert [plain_log(log) for log in decode_logs_json(text)] == stock_logs(data)


@given(values)
def test_a_value_survives_its_encoding(value: object) -> None:
    """Whatever can be an attribute is read back as it was, as the stock decoder reads it."""
    raw = encode_value(value)
    assert decode_value(raw) == value == stock_value(AnyValue.FromString(raw))


@given(st.binary(max_size=40))
def test_any_bytes_mean_what_the_stock_decoder_says(raw: bytes) -> None:
    """Bytes that the stock decoder takes give its value; no others raise."""
    try:
        expected = stock_value(AnyValue.FromString(raw))
    except Exception:
        decode_value(raw)
        return
    assert repr(decode_value(raw)) == repr(expected)  # repr: NaN equals itself there


@given(st.lists(st.tuples(st.sampled_from(["a", "b", sc.RUN_ID, sc.AGENT_NAME, "é" * 70]), values), max_size=6))
@pytest.mark.parametrize("scope", [sc.SCOPE, "other"])
def test_the_last_of_equal_keys_wins(scope: str, pairs: list[tuple[str, object]]) -> None:
    """Attributes of our own scope and of others equal a stock walk, duplicates of a key included."""
    message = request([{}], scope=scope)
    attributes = message.resource_spans[0].scope_spans[0].spans[0].attributes
    for key, value in pairs:
        attributes.append(KeyValue(key=key, value=AnyValue.FromString(encode_value(value))))
    (span,) = decode_traces(message.SerializeToString())
    assert span.attrs.to_dict() == stock_attributes(attributes)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 129, 16380, 16384, 70_000, 2_100_000])
def test_lengths_around_the_edges_of_the_encoding(size: int) -> None:
    """Texts whose length needs one more byte than the one before are read whole."""
    (span,) = spans([{"attrs": {"k": "x" * size}}], scope=sc.SCOPE)
    assert span.attrs.text("k") == "x" * size
    assert Attrs.of({"k": "x" * size}).text("k") == "x" * size


def test_typed_reads() -> None:
    """Each read converts what can be converted and gives None for the rest."""
    attrs = Attrs.of(
        {"s": "7", "i": -3, "big": 2**62, "f": 2.0, "t": True, "l": ["a", 5], "m": {"k": 1}, "n": None, "b": b"x"}
    )
    assert (attrs.text("s"), attrs.text("i"), attrs.text("t"), attrs.text("m"), attrs.text("n")) == (
        "7",
        "-3",
        "true",
        '{"k":1}',
        None,
    )
    assert [attrs.int(k) for k in ("s", "i", "big", "f", "t", "l", "zz")] == [7, -3, 2**62, 2, None, None, None]
    assert (attrs.float("i"), attrs.float("f"), attrs.float("s")) == (-3.0, 2.0, None)
    assert (attrs.bool("t"), attrs.bool("i"), attrs.bool("zz")) == (True, None, None)
    assert (attrs.strings("l"), attrs.strings("s"), attrs.strings("zz")) == (("a", "5"), ("7",), ())
    assert (attrs.value("b"), attrs.value("zz"), "s" in attrs, "zz" in attrs, len(attrs)) == (
        b"x",
        None,
        True,
        False,
        9,
    )
    assert set(attrs) == set(attrs.keys()) == {"s", "i", "big", "f", "t", "l", "m", "n", "b"}


def test_spans_that_hold_come_first_in_large_requests() -> None:
    """In a large request the spans on which an agent waits are yielded before all others, and none is lost."""
    given_spans = [{"attrs": {sc.HOLD: True} if number in (40, 290) else {}} for number in range(300)]
    data = request(given_spans, scope=sc.SCOPE).SerializeToString()
    ids = [span.span_id for span in iter_traces(data)]
    assert ids[:2] == [f"{41:016x}", f"{291:016x}"]
    assert sorted(ids) == sorted(span.span_id for span in decode_traces(data))


def test_scopes_mix_in_a_request() -> None:
    """Our spans and others' in one request are read the same, whichever comes first."""
    ours, others = request([{"attrs": {"k": "v"}}], scope=sc.SCOPE), request([{"attrs": {"k": [1]}}], scope="other")
    for first, second in ((ours, others), (others, ours)):
        data = first.SerializeToString() + second.SerializeToString()
        found = {span.scope: span.attrs.to_dict() for span in decode_traces(data)}
        assert found == {sc.SCOPE: {"k": "v"}, "other": {"k": [1]}}


def test_the_schema_loads_without_warnings() -> None:
    """The descriptors that are made at import are accepted silently, and do not clash with opentelemetry-proto's."""
    code = "import opentelemetry.proto.trace.v1.trace_pb2, spanward_detector.ingest.schema"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_stored_files_are_told_apart_by_content() -> None:
    """Protobuf and JSON, lines and documents, traces and logs, gzipped or not, are read without being told which."""
    trace, logs = capture("openai__openai-v2-events", "success"), captured_logs("openai__openai-v2-events", "success")
    message = ExportTraceServiceRequest.FromString(trace)
    document = json.dumps(json.loads(otlp_json(message)), indent=2).encode()
    line, log_line = otlp_json(message), otlp_json(ExportLogsServiceRequest.FromString(logs))
    n_spans, n_logs = len(decode_traces(trace)), len(decode_logs(logs))
    for data, expected in [
        (trace, [(n_spans, 0)]),
        (logs, [(0, n_logs)]),
        (document, [(n_spans, 0)]),
        (b"\xef\xbb\xbf" + document, [(n_spans, 0)]),
        (line + b"\n\n" + log_line + b"\n" + line, [(n_spans, 0), (0, n_logs), (n_spans, 0)]),
        (b"", [(0, 0)]),
    ]:
        for stored in (data, gzip.compress(data)):
            found = [(len(batch.spans), len(batch.logs)) for batch in read_batches(io.BytesIO(stored))]
            assert found == expected
    assert len(decode_any(gzip.compress(line)).spans) == n_spans
    positions = [batch.position for batch in read_batches(io.BytesIO(line + b"\n\n" + line))]
    assert positions == ["line 1", "line 3"]
