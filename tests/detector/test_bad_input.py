"""Input that nobody should send: refused with a reason and a place, dropped or clamped and counted; never a crash."""

from __future__ import annotations

import gzip
import io
import json
import resource
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from spanward import semconv as sc
from spanward_detector.ingest import (
    COUNTERS,
    MAX_MESSAGE_BYTES,
    IngestError,
    decode_any,
    decode_logs,
    decode_logs_json,
    decode_traces,
    decode_traces_json,
    decode_value,
    gunzip,
    read_batches,
)
from spanward_detector.ingest.records import MAX_ATTRIBUTES, MAX_TIME_NS, MAX_VALUE_BYTES
from spanward_detector.normalize import Normalizer

from tests.detector.otlp import TRACE_ID, TRACES, capture, request, spans

pytestmark = pytest.mark.slow


@pytest.fixture
def counted() -> Iterator[Callable[[], dict[str, int]]]:
    """What has been counted since the start of the test."""
    COUNTERS.clear()
    yield lambda: dict(COUNTERS)
    COUNTERS.clear()


def refusal(decode: Callable[[bytes], object], data: bytes) -> IngestError:
    """The error by which a decoder refuses data."""
    with pytest.raises(IngestError) as caught:
        decode(data)
    return caught.value


def document(span: str) -> bytes:
    """A JSON trace request around the text of a span."""
    return ('{"resourceSpans":[{"scopeSpans":[{"spans":[' + span + "]}]}]}").encode()


@pytest.mark.parametrize("data", [b"\xff" * 50, b"\x0a\x05abc", b"\x0a\x03\x12\x7fa", b"not protobuf at all"])
@pytest.mark.parametrize("decode", [decode_traces, decode_logs])
def test_garbage_protobuf_is_refused(decode: Callable[[bytes], object], data: bytes) -> None:
    """Bytes that are no protobuf are refused as such."""
    assert refusal(decode, data).reason == "protobuf"


@pytest.mark.parametrize("decode", [decode_traces, decode_logs, decode_traces_json, decode_logs_json])
def test_a_message_above_the_limit_is_refused(decode: Callable[[bytes], object]) -> None:
    """20 MiB are refused by their size alone."""
    assert refusal(decode, b" " * (20 * 2**20)).reason == "too_large"


def test_a_legal_message_near_the_limit_is_taken() -> None:
    """A batch of nearly 16 MiB is decoded whole."""
    data = request([{"attrs": {"text": "x" * 3000}} for _ in range(5000)]).SerializeToString()
    assert MAX_MESSAGE_BYTES > len(data) > 0.9 * MAX_MESSAGE_BYTES
    assert len(decode_traces(data)) == 5000


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        (b"{", "json", "line 1 column 2"),
        (b'{"resourceSpans":\n [}', "json", "line 2 column 3"),
        (b"[1]", "json", "line 1 column 1"),
        (b"\xff\xfe{}", "json", "line 1 column 1"),
        (b'{"a":NaN}', "json", "line 1 column 6"),
        (b'{"a":1,"a":2}', "duplicate_field", "field 'a'"),
        (document('{"name":"a","name":"b"}'), "duplicate_field", "field 'name'"),
        (b'{"resourceSpans":' + b"[" * 100_000, "depth", "line 1 column 1042"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "depth", "line 1 column 1030"),
        (b'{"a":' + b"9" * 5000 + b"}", "number", "line 1 column 6"),
        (b'{"resourceSpans":{}}', "value", "resourceSpans"),
        (b'{"resourceSpans":[1]}', "value", "resourceSpans[0]"),
        (document('{"startTimeUnixNano":"soon"}'), "value", "resourceSpans[0].scopeSpans[0].spans[0:1]"),
        (document('{"startTimeUnixNano":-1}'), "value", "resourceSpans[0].scopeSpans[0].spans[0:1]"),
        (document('{"attributes":7}'), "value", "resourceSpans[0].scopeSpans[0].spans[0:1]"),
        (document("7"), "value", "resourceSpans[0].scopeSpans[0].spans[0:1]"),
    ],
)
def test_wrong_json_is_refused_with_reason_and_place(text: bytes, reason: str, position: str) -> None:
    """Each kind of wrong JSON has its own reason, and says where it stands as far as that is known."""
    error = refusal(decode_traces_json, text)
    assert error.reason == reason
    assert error.position.startswith(position)
    assert reason in str(error)


def test_unknown_fields_and_enum_names_are_ignored() -> None:
    """What a newer sender may write does not cost its spans."""
    span = {"traceId": TRACE_ID, "spanId": "0b" * 8, "kind": "SPAN_KIND_NEW", "flags": 257, "future": {"a": [1]}}
    (found,) = decode_traces_json(document(json.dumps(span)))
    assert (found.span_id, found.kind) == ("0b" * 8, 0)


def test_a_number_beyond_every_integer_is_refused() -> None:
    """A thousand digits are a number to one parser and none to the other; they are refused."""
    text = b'{"resourceSpans":[],"n":' + b"9" * 300 + b"." + b"9" * 5000 + b"}"
    assert decode_traces_json(text) == []
    assert refusal(decode_traces_json, document('{"startTimeUnixNano":' + "9" * 300 + "}")).reason == "value"


def test_an_attribute_nested_deeper_than_protobuf_allows_is_refused() -> None:
    """A value of 200 levels within a legal document is refused for its depth, not with a crash."""
    value = '{"arrayValue":{"values":[' * 200 + '{"intValue":"1"}' + "]}}" * 200
    error = refusal(decode_traces_json, document('{"attributes":[{"key":"k","value":' + value + "}]}"))
    assert error.reason in ("depth", "value")


@pytest.mark.parametrize(
    ("given_span", "counter"),
    [
        ({"trace": ""}, "drop.trace_id"),
        ({"trace": "00" * 16}, "drop.trace_id"),
        ({"trace": "ab" * 8}, "drop.trace_id"),
        ({"id": ""}, "drop.span_id"),
        ({"id": "00" * 8}, "drop.span_id"),
        ({"id": "ab" * 16}, "drop.span_id"),
    ],
)
def test_spans_without_a_usable_id_are_dropped_and_counted(
    given_span: dict[str, object], counter: str, counted: Callable[[], dict[str, int]]
) -> None:
    """A span that cannot be told from others is left out; the rest of its request is taken."""
    assert [span.span_id for span in spans([given_span, {"id": "0b" * 8}])] == ["0b" * 8]
    assert counted() == {counter: 1}


@pytest.mark.parametrize(
    ("given_span", "expected", "counter"),
    [
        ({"parent": "abcd"}, {"parent_id": None}, "clamp.parent_id"),
        ({"parent": "00" * 8}, {"parent_id": None}, ""),
        ({"kind": 77}, {"kind": 0}, "clamp.kind"),
        ({"status": 9}, {"status": 0}, "clamp.status"),
        ({"start": 2**63 - 1, "end": 2**63 - 1}, {"start_ns": MAX_TIME_NS, "end_ns": MAX_TIME_NS}, "clamp.timestamp"),
        ({"start": 2**64 - 1, "end": 5}, {"start_ns": MAX_TIME_NS, "end_ns": MAX_TIME_NS}, "clamp.end_before_start"),
        ({"start": 100, "end": 50}, {"start_ns": 100, "end_ns": 100}, "clamp.end_before_start"),
        ({"start": 100, "end": 0}, {"start_ns": 100, "end_ns": 100}, "clamp.end_missing"),
        ({"start": 0, "end": 100}, {"start_ns": 100, "end_ns": 100}, "clamp.start_missing"),
    ],
)
def test_odd_fields_are_clamped_and_counted(
    given_span: dict[str, object], expected: dict[str, object], counter: str, counted: Callable[[], dict[str, int]]
) -> None:
    """A field without a usable value gets a harmless one, and the span is kept."""
    (span,) = spans([given_span])
    assert {key: getattr(span, key) for key in expected} == expected
    assert not counter or counter in counted()


def test_ten_thousand_attributes_are_cut_and_counted(counted: Callable[[], dict[str, int]]) -> None:
    """What is over the limit is dropped, longest keys first, so that named attributes survive a runaway index."""
    attrs = {f"some.long.prefix.{number}": number for number in range(10_000)} | {"gen_ai.operation.name": "chat"}
    (span,) = spans([{"attrs": attrs}])
    assert len(span.attrs) == MAX_ATTRIBUTES
    assert span.attrs.text("gen_ai.operation.name") == "chat"
    assert counted() == {"drop.attributes": 10_001 - MAX_ATTRIBUTES}


def test_a_giant_value_is_cut_and_counted(counted: Callable[[], dict[str, int]]) -> None:
    """An 11 MB text is read up to the limit, and never inside a character."""
    (span,) = spans([{"attrs": {"k": "€" * 3_700_000}}])
    text = span.attrs.text("k")
    assert text is not None
    assert MAX_VALUE_BYTES - 3 <= len(text.encode()) <= MAX_VALUE_BYTES
    assert set(text) == {"€"}
    assert counted() == {"clamp.value_length": 1}


def test_invalid_utf8_matters_only_when_it_is_read(counted: Callable[[], dict[str, int]]) -> None:
    """The stock decoder would refuse the whole request; here the value is repaired when somebody reads it."""
    data = request([{"attrs": {"k": "abc", "other": "fine"}}]).SerializeToString().replace(b"abc", b"a\xffc")
    (span,) = decode_traces(data)
    assert span.attrs.text("other") == "fine"
    assert counted() == {}
    assert span.attrs.text("k") == "a�c"
    assert counted() == {"clamp.utf8": 1}


@pytest.mark.parametrize("depth", [10, 61, 200, 5000])
def test_absurd_nesting_matters_only_when_it_is_read(depth: int, counted: Callable[[], dict[str, int]]) -> None:
    """A value nested past the limit is cut off or None, counted, and never a crash."""
    raw = AnyValue(int_value=1).SerializeToString()
    for _ in range(depth):
        raw = b"\x0a" + _varint(len(raw)) + raw  # values = 1
        raw = b"\x2a" + _varint(len(raw)) + raw  # array_value = 5
    value = decode_value(raw)
    levels = 0
    while isinstance(value, list):
        value, levels = value[0], levels + 1
    assert levels <= 60
    assert (value == 1) is (depth == 10)
    assert bool(counted()) is (depth != 10)


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return out + bytes((value,))


def test_a_bomb_is_refused_without_being_inflated() -> None:
    """Zeros that gzip makes a thousand times smaller are refused once the limit is passed; memory stays flat."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(compressor.compress(bytes(2**20)) for _ in range(200)) + compressor.flush()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refusal(gunzip, bomb).reason == "too_large"
    assert refusal(decode_any, bomb).reason == "too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: data[:12] + b"\0\0\0\0" + data[16:], lambda data: data + b"x"]
)
def test_damaged_gzip_is_refused(damage: Callable[[bytes], bytes]) -> None:
    """Gzip that ends early, is damaged inside or has something else behind it is refused."""
    data = damage(gzip.compress(b'{"resourceSpans":[]}' * 50))
    assert refusal(gunzip, data).reason == "gzip"
    assert refusal(lambda given: list(read_batches(io.BytesIO(given))), data).reason in ("gzip", "json")


def test_several_gzip_members_are_one_stream() -> None:
    """Appended gzip files, with padding between, are read as one."""
    data = gzip.compress(b"ab") + gzip.compress(b"cd") + b"\0\0"
    assert gunzip(data) == b"abcd"
    with pytest.raises(IngestError):
        gunzip(data, 3)


def test_a_bad_line_says_which(counted: Callable[[], dict[str, int]]) -> None:
    """In JSON lines the position counts lines of the file; what stands before the bad line has been read."""
    good = document(json.dumps({"traceId": TRACE_ID, "spanId": "0b" * 8, "name": "n", "startTimeUnixNano": "1"}))
    batches = read_batches(io.BytesIO(good + b"\n" + b'{"resourceSpans": [}\n'))
    assert len(next(batches).spans) == 1
    with pytest.raises(IngestError) as caught:
        next(batches)
    assert caught.value.position == "line 2 column 20"
    unknown = refusal(lambda data: list(read_batches(io.BytesIO(data))), b'{"something": "else"}\n')
    assert (unknown.reason, unknown.position) == ("unknown_format", "line 1 column 1")
    assert counted()["clamp.end_missing"] == 1


def test_a_line_without_an_end_is_refused() -> None:
    """A document larger than the limit of a file is refused while it is read."""
    endless = io.BytesIO(b'{"a": "' + b"x" * 3_000_000)
    with pytest.raises(IngestError, match="too_large"):
        list(read_batches(endless, limit=1_000_000))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TRACES), st.data())
def test_mutated_requests_never_crash(which: tuple[str, str], data: st.DataObject) -> None:
    """Captures with bytes changed, cut or doubled are refused or read, and what is read becomes steps without error."""
    raw = bytearray(capture(*which)[:20_000])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    normalizer = Normalizer()
    for candidate in (bytes(raw), bytes(raw[:cut])):
        for decode in (decode_traces, decode_logs, decode_any):
            try:
                found = decode(candidate)
            except IngestError:
                continue
            if decode is decode_traces:
                for span in found:  # type: ignore[attr-defined]
                    for step in normalizer.steps(span):
                        normalizer.complete(step, settled=True)


_KEYS = sorted(
    {
        key
        for name, scenario in TRACES
        for span in decode_traces(capture(name, scenario))[:20]
        for key in span.attrs
        if len(key) < 80
    }
    | {value for value in vars(sc).values() if isinstance(value, str) and "." in value and " " not in value}
)
_TEXTS = [
    "", "{}", "[]", "null", "tool", "llm", "chat", "execute_tool", "invoke_agent", "LLM", "TOOL", "AGENT", "CHAIN",
    "ai.toolCall", "x.doGenerate", "tools/call", "pending_span", '{"_raw":1}', '{"messages":[[]]}',
    '{"messages":[1,[],["a"],{"kwargs":7}]}', '[{"role":1,"parts":[1,{}]}]', '{"function":{"name":7,"parameters":"{"}}',
    '{"generations":[[{"message":null,"generation_info":3}]]}', '{"args":1,"kwargs":[],"sanitize_inputs_outputs":1}',
    '[{"toolUse":1},{"toolResult":{"content":1}}]', '{"inputs":{"inputs":{}},"metadata":[]}',
    '[{"name":"t","parameters":{"type":"nonsense","properties":3}}]',
]  # fmt: skip
_SCOPES = [
    "", sc.SCOPE, "openinference.instrumentation.x", "opentelemetry.instrumentation.genai.x", "ai", "gen_ai",
    "langsmith", "opentelemetry.instrumentation.langchain", "pydantic-ai", "strands.telemetry.tracer",
    "gcp.vertex.agent",
]  # fmt: skip
_hostile = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**62) | st.floats() | st.sampled_from(_TEXTS) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(_SCOPES),
    st.lists(st.dictionaries(st.sampled_from(_KEYS), _hostile, max_size=12), min_size=1, max_size=3),
)  # fmt: skip
def test_hostile_attributes_never_crash_a_dialect(scope: str, attributes: list[dict[str, object]]) -> None:
    """Any value under any known key, in any dialect, gives steps or nothing, and no exception."""
    normalizer = Normalizer()
    given_spans = [
        {"attrs": attrs, "status": number, "parent": "" if number == 0 else f"{number:016x}",
         "events": [("exception", attrs), ("gen_ai.choice", attrs)]}
        for number, attrs in enumerate(attributes)
    ]  # fmt: skip
    for span in spans(given_spans, scope=scope):
        for step in normalizer.steps(span):
            normalizer.complete(step, settled=True)
            normalizer.superseded(step)
