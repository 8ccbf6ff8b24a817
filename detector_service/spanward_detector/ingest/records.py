"""What ingest hands on: spans and log records as plain objects, and the error for what cannot be taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanward_detector.ingest.attributes import Attrs

COUNTERS: Final[Counter[str]] = Counter()
"""Everything that was dropped (``drop.*``) or clamped (``clamp.*``) instead of refused, by reason, since the start."""

MAX_MESSAGE_BYTES: Final = 16 * 2**20
"""Largest request that is taken, after decompression: the Collector's own default."""
MAX_ATTRIBUTES: Final = 8192
"""Attributes kept of one span or record. Index-flattened message histories need thousands; nothing needs more."""
MAX_VALUE_BYTES: Final = 4 * 2**20
"""Longest text that is read from one attribute; the rest is cut off."""
MAX_DEPTH: Final = 60
"""Deepest nesting of an attribute value that is read."""
MAX_TIME_NS: Final = 4_102_444_800_000_000_000
"""2100-01-01. Later times are nonsense and would outlive every comparison; they are clamped to this."""


class IngestError(ValueError):
    """Input that is refused as a whole.

    Attributes:
        reason: short code: ``protobuf``, ``json``, ``depth``, ``number``, ``duplicate_field``, ``too_large``, ``gzip``,
            ``encoding``, ``value`` or ``unknown_format``.
        position: where, as far as it is known: ``byte 12``, ``line 3 column 4``, a path into the document, or "".
        detail: for a person.
    """

    def __init__(self, reason: str, position: str = "", detail: str = "") -> None:
        parts = (reason, position and f"at {position}", detail and f"({detail})")
        super().__init__(" ".join(filter(None, parts)))
        self.reason = reason
        self.position = position
        self.detail = detail


@dataclass(slots=True)
class RawEvent:
    """An event of a span.

    Attributes:
        name: as recorded.
        time_ns: nanoseconds since the epoch.
        attrs: its attributes.
    """

    name: str
    time_ns: int
    attrs: Attrs


@dataclass(slots=True)
class RawSpan:
    """One span, its attributes still undecoded.

    It holds on to the memory of the whole request: take what you need and let it go.

    Attributes:
        trace_id: 32 hex digits, never all zero.
        span_id: 16 hex digits, never all zero.
        parent_id: 16 hex digits, or None.
        name: of the span.
        kind: OTLP span kind, 0 to 5.
        start_ns: nanoseconds since the epoch.
        end_ns: never before ``start_ns``.
        status: OTLP status code: 0 unset, 1 ok, 2 error.
        status_message: description of the status.
        attrs: attributes of the span.
        raw_events: encoded events; use :attr:`events`.
        scope: name of the instrumentation scope.
        scope_version: its version, or "".
        resource: attributes of the resource, shared by all spans of it.
        service: ``service.name``, or "".
        dropped: attributes that the agent's SDK left out of it.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: int
    start_ns: int
    end_ns: int
    status: int
    status_message: str
    attrs: Attrs
    raw_events: Sequence[bytes]
    scope: str
    scope_version: str
    resource: Attrs
    service: str
    dropped: int

    @property
    def events(self) -> list[RawEvent]:
        """The span's events, decoded on each call. Unreadable ones are counted and left out."""
        from spanward_detector.ingest.decode import decode_events

        return decode_events(self.raw_events)


@dataclass(slots=True)
class RawLog:
    """One log record.

    Attributes:
        trace_id: 32 hex digits, or "" when it belongs to no trace.
        span_id: 16 hex digits, or "".
        ts_ns: time of the event, else the time at which it was observed.
        event_name: of an event record, else "".
        attrs: its attributes.
        raw_body: encoded ``AnyValue``; use :attr:`body`.
        severity: OTLP severity number.
        scope: name of the instrumentation scope.
        service: ``service.name``, or "".
    """

    trace_id: str
    span_id: str
    ts_ns: int
    event_name: str
    attrs: Attrs
    raw_body: bytes
    severity: int
    scope: str
    service: str

    @property
    def body(self) -> object:
        """The body as a Python value, decoded on each call."""
        from spanward_detector.ingest.attributes import decode_value

        return decode_value(self.raw_body)
