"""OTLP protobuf to plain records. A request that cannot be parsed is refused; odd fields are clamped or dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from google.protobuf.message import DecodeError
from spanward.semconv import HOLD, SCOPE

from spanward_detector.ingest.attributes import EMPTY, Attrs, OwnAttrs, encode_pair
from spanward_detector.ingest.records import (
    COUNTERS,
    MAX_MESSAGE_BYTES,
    MAX_TIME_NS,
    IngestError,
    RawEvent,
    RawLog,
    RawSpan,
)
from spanward_detector.ingest.schema import Event, Logs, OwnTraces, Status, Traces

_TRACE_ID_BYTES: Final = 16
_SPAN_ID_BYTES: Final = 8
_NO_TRACE: Final = bytes(_TRACE_ID_BYTES)
_NO_SPAN: Final = bytes(_SPAN_ID_BYTES)
_MAX_KIND: Final = 5
_STATUS_ERROR: Final = 2
_OFFSET = re.compile(r"at (?:byte|offset) (\d+)")

# Our scope's name as a field, looked for where requests begin. It only chooses the faster of two schemas for a request;
# both read every scope.
_OWN_SCOPE: Final = b"\n" + bytes((len(SCOPE),)) + SCOPE.encode()
_PEEK_BYTES: Final = 2048
_HELD: Final = encode_pair(HOLD, True)
_HOLD_KEY: Final = HOLD.encode()

HELD_FIRST_FROM: Final = 32
"""Requests with fewer spans are taken in order: that takes a few milliseconds."""


def _parse(message_class: Any, data: bytes) -> Any:
    try:
        return message_class.FromString(data)
    except DecodeError as error:
        found = _OFFSET.search(str(error))
        raise IngestError("protobuf", f"byte {found[1] if found else 0}", "not a message of this kind") from error


def _time(value: int) -> int:
    """Clamps a time that no clock of an agent can mean."""
    if value > MAX_TIME_NS:
        COUNTERS["clamp.timestamp"] += 1
        return MAX_TIME_NS
    return value


def _times(start: int, end: int) -> tuple[int, int]:
    """Start and end as they can be used: both known, both plausible, in this order."""
    start, end = _time(start), _time(end)
    if start == 0:
        COUNTERS["clamp.start_missing"] += 1
        return end, end
    if end == 0:
        COUNTERS["clamp.end_missing"] += 1
    else:
        COUNTERS["clamp.end_before_start"] += 1
    return start, start


def _status(raw: bytes) -> tuple[int, str]:
    try:
        status = Status.FromString(raw)
    except DecodeError:
        COUNTERS["clamp.status"] += 1
        return 0, ""
    code = status.code
    if not 0 <= code <= _STATUS_ERROR:
        COUNTERS["clamp.status"] += 1
        code = 0
    return code, status.message.decode("utf-8", "replace")


def _span(span: Any, attrs: Attrs, scope: str, scope_version: str, resource: Attrs, service: str) -> RawSpan | None:
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
    if len(trace_id) != _TRACE_ID_BYTES or trace_id == _NO_TRACE:
        COUNTERS["drop.trace_id"] += 1
        return None
    if len(span_id) != _SPAN_ID_BYTES or span_id == _NO_SPAN:
        COUNTERS["drop.span_id"] += 1
        return None
    if parent_id and (len(parent_id) != _SPAN_ID_BYTES or parent_id == _NO_SPAN):
        if parent_id.strip(b"\0"):
            COUNTERS["clamp.parent_id"] += 1
        parent_id = b""
    kind = span.kind
    if not 0 <= kind <= _MAX_KIND:
        COUNTERS["clamp.kind"] += 1
        kind = 0
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    if not 0 < start <= end <= MAX_TIME_NS:
        start, end = _times(start, end)
    raw_status = span.status
    status, message = _status(raw_status) if raw_status else (0, "")
    return RawSpan(
        trace_id.hex(), span_id.hex(), parent_id.hex() if parent_id else None, span.name, kind,
        start, end, status, message, attrs, span.events, scope, scope_version, resource, service,
        span.dropped_attributes_count,
    )  # fmt: skip


def _resource(owner: Any) -> tuple[Attrs, str]:
    resource = Attrs(owner.resource.attributes) if owner.HasField("resource") else EMPTY
    return resource, resource.text("service.name") or ""


class _Scope(NamedTuple):
    """A scope of a request with what its spans share."""

    spans: Any
    name: str
    version: str
    resource: Attrs
    service: str


def _scopes(message: Any) -> Iterator[_Scope]:
    for resource_spans in message.resource_spans:
        resource, service = _resource(resource_spans)
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            yield _Scope(scope_spans.spans, scope.name, scope.version, resource, service)


def _in_order(scopes: Iterable[_Scope], attributes: Callable[[Any], Attrs]) -> Iterator[RawSpan]:
    for spans, name, version, resource, service in scopes:
        for span in spans:
            raw = _span(span, attributes(span.attributes), name, version, resource, service)
            if raw is not None:
                yield raw


def _held_first(scopes: Iterable[_Scope]) -> Iterator[RawSpan]:
    """Spans whose attributes are pairs: those that hold, then the others."""
    waiting: list[tuple[Any, _Scope]] = []
    for scope in scopes:
        for span in scope.spans:
            if _HELD in span.attributes:
                yield from _in_order((scope._replace(spans=(span,)),), OwnAttrs)
            else:
                waiting.append((span, scope))
    for span, scope in waiting:
        yield from _in_order((scope._replace(spans=(span,)),), OwnAttrs)


def iter_traces(data: bytes, *, held_first: bool = True, limit: int = MAX_MESSAGE_BYTES) -> Iterator[RawSpan]:
    """Decodes an OTLP trace request span by span, so that the caller may let others run in between.

    The request is parsed when the first span is asked for; that is the only part that cannot be interrupted.

    Args:
        data: encoded ``ExportTraceServiceRequest`` (or ``TracesData``, which is the same on the wire).
        held_first: in large requests, yield spans on whose verdict an agent is waiting before all others.
        limit: largest request, in bytes.

    Raises:
        IngestError: ``protobuf`` or ``too_large``.
    """
    if len(data) > limit:
        raise IngestError("too_large", "", f"{len(data)} bytes, at most {limit} are taken")
    own = _OWN_SCOPE in data[:_PEEK_BYTES]
    scopes = list(_scopes(_parse(OwnTraces if own else Traces, data)))
    if own and held_first and _HOLD_KEY in data and sum(len(scope.spans) for scope in scopes) >= HELD_FIRST_FROM:
        yield from _held_first(scopes)
    else:
        yield from _in_order(scopes, OwnAttrs if own else Attrs)


def decode_traces(data: bytes, *, limit: int = MAX_MESSAGE_BYTES) -> list[RawSpan]:
    """Decodes an OTLP trace request at once, in the order of the request.

    Raises:
        IngestError: ``protobuf`` or ``too_large``.
    """
    return list(iter_traces(data, held_first=False, limit=limit))


def decode_events(raw_events: Iterable[bytes]) -> list[RawEvent]:
    """Decodes the events of a span. Those that cannot be read are counted and left out."""
    events = []
    for raw in raw_events:
        try:
            event = Event.FromString(raw)
        except DecodeError:
            COUNTERS["drop.event"] += 1
            continue
        events.append(RawEvent(event.name, _time(event.time_unix_nano), Attrs(event.attributes)))
    return events


def iter_logs(data: bytes, *, limit: int = MAX_MESSAGE_BYTES) -> Iterator[RawLog]:
    """Decodes an OTLP log request record by record.

    Raises:
        IngestError: ``protobuf`` or ``too_large``.
    """
    if len(data) > limit:
        raise IngestError("too_large", "", f"{len(data)} bytes, at most {limit} are taken")
    message = _parse(Logs, data)
    for resource_logs in message.resource_logs:
        _, service = _resource(resource_logs)
        for scope_logs in resource_logs.scope_logs:
            scope = scope_logs.scope.name
            for record in scope_logs.log_records:
                yield _log(record, scope, service)


def _id(value: bytes, size: int, reason: str) -> str:
    """Hex of an optional id; "" when it is absent, and counted when it has the wrong length."""
    if len(value) == size:
        return value.hex() if any(value) else ""
    if value:
        COUNTERS[reason] += 1
    return ""


def _log(record: Any, scope: str, service: str) -> RawLog:
    attrs = Attrs(record.attributes)
    return RawLog(
        trace_id=_id(record.trace_id, _TRACE_ID_BYTES, "clamp.log_trace_id"),
        span_id=_id(record.span_id, _SPAN_ID_BYTES, "clamp.log_span_id"),
        ts_ns=_time(record.time_unix_nano or record.observed_time_unix_nano),
        # Before the field existed, the name of an event was an attribute.
        event_name=record.event_name or attrs.text("event.name") or "",
        attrs=attrs,
        raw_body=record.body,
        severity=record.severity_number,
        scope=scope,
        service=service,
    )


def decode_logs(data: bytes, *, limit: int = MAX_MESSAGE_BYTES) -> list[RawLog]:
    """Decodes an OTLP log request at once.

    Raises:
        IngestError: ``protobuf`` or ``too_large``.
    """
    return list(iter_logs(data, limit=limit))
