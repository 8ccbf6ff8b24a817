"""SDK spans to the wire bytes of an OTLP ``ExportTraceServiceRequest``, written directly.

The stock encoder builds one protobuf message per value; this one writes the same fields with cached keys, resources and
scopes, which is several times faster and needs no protobuf import in the host. A test holds both to the same message.
Source: opentelemetry-proto 1.x, ``trace.proto``, ``common.proto``, ``trace_service.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanward import semconv

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext

    from spanward.step_span import Event as StepEvent
    from spanward.step_span import StepSpan

STRUCTURE: Final = frozenset({
    semconv.HTTP_STATUS, semconv.HTTP_STATUS_OLD, semconv.HTTP_METHOD, semconv.HTTP_METHOD_OLD,
    semconv.HTTP_RETRY_AFTER, semconv.HTTP_RESEND_COUNT, semconv.ERROR_TYPE, "exception.type", "server.address",
    "server.port", "net.peer.name", "net.peer.port", "network.protocol.version", "url.scheme", "url.template",
    "http.scheme", "http.route", "http.flavor", "rpc.system", "rpc.service", "rpc.method", "rpc.grpc.status_code",
    "rpc.response.status_code", "db.system", "db.system.name", "db.operation", "db.operation.name",
    "db.collection.name", "messaging.system", "messaging.operation.type",
})  # fmt: skip
"""Attributes that never carry arguments, results or messages; nor do ours and ``gen_ai.*`` but for :data:`CONTENT`. A
URL does carry them: path and query are what a tool was asked."""

CONTENT: Final = frozenset({
    semconv.TOOL_ARGUMENTS, semconv.TOOL_RESULT, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES,
    semconv.SYSTEM_INSTRUCTIONS, semconv.TOOL_DEFINITIONS,
})  # fmt: skip
_KNOWN_PREFIXES: Final = ("spanward.", "gen_ai.")
_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_fixed64: Final = struct.Struct("<Q").pack
_double: Final = struct.Struct("<d").pack
# SpanFlags: bit 8 says that bit 9 is known; bit 9 says that the parent is remote.
_FLAGS_LOCAL: Final = b"\x85\x01" + struct.pack("<I", 0x100)
_FLAGS_REMOTE: Final = b"\x85\x01" + struct.pack("<I", 0x300)
# SDK kinds count from 0 = internal; OTLP keeps 0 for "unspecified" and has the same order.
_KINDS: Final = tuple(bytes((0x30, kind + 1)) for kind in range(5))
_CACHE_MAX: Final = 2048


class Queued(NamedTuple):
    """A span on its way out.

    Attributes:
        forwarded: a copy of one of the user's own, which keeps its own resource.
        structure_only: leave out whatever may be content; see :data:`STRUCTURE`.
    """

    span: ReadableSpan | StepSpan
    forwarded: bool = False
    structure_only: bool = False


class Batch(NamedTuple):
    """One serialized request and the number of spans in it."""

    payload: bytes
    spans: int


def _wide_varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


_VARINTS: Final = tuple(_wide_varint(number) for number in range(4096))


def _varint(number: int) -> bytes:
    return _VARINTS[number] if number < 4096 else _wide_varint(number)


def _field(tag: bytes, payload: bytes) -> bytes:
    return tag + _varint(len(payload)) + payload


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair is no text: a receiver refuses the whole batch for it.
        return text.encode(errors="replace")


def _any_value(value: Any) -> bytes:
    """An ``AnyValue``. Integers beyond 64 bits, which it has no place for, become decimal text."""
    kind = type(value)
    if kind is str:
        raw = _utf8(value)
        return b"\x0a" + _varint(len(raw)) + raw
    if kind is bool:
        return b"\x10\x01" if value else b"\x10\x00"
    if kind is int:
        if _INT64_MIN <= value <= _INT64_MAX:
            return b"\x18" + _varint(value & 0xFFFFFFFFFFFFFFFF)
        return _field(b"\x0a", str(value).encode())
    if kind is float:
        return b"\x21" + _double(value)
    if value is None:
        return b""
    if isinstance(value, bytes):
        return _field(b"\x3a", value)
    if isinstance(value, Mapping):
        pairs = b"".join(_field(b"\x0a", _key_value(str(key), item)) for key, item in value.items())
        return _field(b"\x32", pairs)
    bases: tuple[type, ...] = (str, int, float)
    for base in bases:  # an enum or another subclass
        if isinstance(value, base):
            return _any_value(base(value))
    if isinstance(value, Sequence):
        return _field(b"\x2a", b"".join(_field(b"\x0a", _any_value(item)) for item in value))
    return _any_value(str(value))


_keys: dict[str, bytes] = {}


def _key(key: str) -> bytes:
    """Field 1 of a ``KeyValue``. Keys are few and repeat, so they are kept."""
    encoded = _keys.get(key)
    if encoded is None:
        if len(_keys) >= _CACHE_MAX:
            _keys.clear()
        encoded = _keys[key] = _field(b"\x0a", _utf8(key))
    return encoded


def _key_value(key: str, value: Any) -> bytes:
    encoded = _any_value(value)
    return _key(key) + b"\x12" + _varint(len(encoded)) + encoded


def _attributes(tag: bytes, attributes: Mapping[str, Any] | None, structure_only: bool = False) -> bytes:
    """All of them as repeated fields with ``tag``."""
    if not attributes:
        return b""
    parts: list[bytes] = []
    for key, value in attributes.items():
        if structure_only and key not in STRUCTURE and (key in CONTENT or not key.startswith(_KNOWN_PREFIXES)):
            continue
        name = _keys.get(key) or _key(key)
        # Short text is nearly all there is: the nested lengths of that case are worked out here, without calls.
        if type(value) is str and len(value) < 1000:
            raw = _utf8(value)
            size = _VARINTS[len(raw)]
            inner = 1 + len(size) + len(raw)
            inner_size = _VARINTS[inner]
            parts += (
                tag, _varint(len(name) + 1 + len(inner_size) + inner), name, b"\x12", inner_size, b"\x0a", size, raw
            )  # fmt: skip
        else:
            pair = _key_value(key, value)
            parts += (tag, _varint(len(pair)), pair)
    return b"".join(parts)


def _plain(attributes: Any) -> Mapping[str, Any]:
    # A read-only view of the SDK's own mapping: copy() reaches the dict below, iterating would go key by key.
    if type(attributes) is dict:
        return attributes
    plain: Mapping[str, Any] = attributes.copy() if attributes else {}
    return plain


def _event(event: Event | StepEvent, structure_only: bool) -> bytes:
    return b"".join((
        b"\x09", _fixed64(event.timestamp),
        _field(b"\x12", _utf8(event.name)),
        _attributes(b"\x1a", event.attributes, structure_only),
        _count(b"\x20", event.dropped_attributes),
    ))  # fmt: skip


def _link(link: Link, structure_only: bool) -> bytes:
    context = link.context
    return b"".join((
        b"\x0a\x10", context.trace_id.to_bytes(16, "big"),
        b"\x12\x08", context.span_id.to_bytes(8, "big"),
        b"" if structure_only else _attributes(b"\x22", link.attributes),
        _count(b"\x28", link.dropped_attributes),
        b"\x35" + struct.pack("<I", 0x300 if context.is_remote else 0x100),
    ))  # fmt: skip


def _count(tag: bytes, count: int) -> bytes:
    return tag + _varint(count) if count else b""


def encode_span(span: ReadableSpan | StepSpan, structure_only: bool = False) -> bytes:
    """A ``Span`` message."""
    context: SpanContext = span.context
    parent = span.parent
    parts = [b"\x0a\x10", context.trace_id.to_bytes(16, "big"), b"\x12\x08", context.span_id.to_bytes(8, "big")]
    if context.trace_state:
        state = ",".join(f"{key}={value}" for key, value in context.trace_state.items())
        parts.append(_field(b"\x1a", _utf8(state)))
    if parent is not None:
        parts += (b"\x22\x08", parent.span_id.to_bytes(8, "big"))
    parts += (
        _field(b"\x2a", _utf8(span.name)),
        _KINDS[span.kind.value],
        b"\x39", _fixed64(span.start_time or 0),
        b"\x41", _fixed64(span.end_time or 0),
        _attributes(b"\x4a", _plain(span.attributes), structure_only),
        _count(b"\x50", span.dropped_attributes),
    )  # fmt: skip
    for event in span.events:
        if not structure_only or event.name == "exception":
            parts.append(_field(b"\x5a", _event(event, structure_only)))
    parts.append(_count(b"\x60", span.dropped_events))
    parts += (_field(b"\x6a", _link(link, structure_only)) for link in span.links)
    parts.append(_count(b"\x70", span.dropped_links))
    parts.append(_status(span, structure_only))
    parts.append(_FLAGS_REMOTE if parent is not None and parent.is_remote else _FLAGS_LOCAL)
    return b"".join(parts)


def _status(span: ReadableSpan | StepSpan, structure_only: bool) -> bytes:
    status = span.status
    text = b"" if structure_only or not status.description else _field(b"\x12", _utf8(status.description))
    code = status.status_code.value
    return _field(b"\x7a", text + (bytes((0x18, code)) if code else b""))


_heads: dict[tuple[int, bool], tuple[object, bytes, bytes]] = {}


def _resource(resource: Resource, forwarded: bool) -> tuple[bytes, bytes]:
    """Fields 1 and 3 of ``ResourceSpans``. Kept by identity, together with the object so that an id is not reused.

    Copies are marked, so that a Collector keeps them from back ends that get the originals.
    """
    found = _heads.get((id(resource), forwarded))
    if found is None:
        marked = {**resource.attributes, semconv.FORWARDED: True} if forwarded else resource.attributes
        head = _field(b"\x0a", _attributes(b"\x0a", marked))
        tail = _field(b"\x1a", _utf8(resource.schema_url)) if resource.schema_url else b""
        found = _keep(resource, head, tail, forwarded)
    return found[1], found[2]


def _scope(scope: InstrumentationScope | None) -> tuple[bytes, bytes]:
    """Fields 1 and 3 of ``ScopeSpans``."""
    found = _heads.get((id(scope), False))
    if found is None:
        if scope is None:
            return b"\x0a\x00", b""
        text = _field(b"\x0a", _utf8(scope.name))
        if scope.version:
            text += _field(b"\x12", _utf8(scope.version))
        head = _field(b"\x0a", text + _attributes(b"\x1a", scope.attributes))
        tail = _field(b"\x1a", _utf8(scope.schema_url)) if scope.schema_url else b""
        found = _keep(scope, head, tail)
    return found[1], found[2]


def _keep(owner: object, head: bytes, tail: bytes, forwarded: bool = False) -> tuple[object, bytes, bytes]:
    if len(_heads) >= 256:
        _heads.clear()
    kept = _heads[id(owner), forwarded] = (owner, head, tail)
    return kept


def encode_batches(queued: Iterable[Queued], own: Resource, max_bytes: int) -> tuple[list[Batch], int]:
    """Serialized requests of at most ``max_bytes`` each, and the number of spans that fit in none.

    Args:
        queued: spans, oldest first.
        own: resource of the spans that are not forwarded.
        max_bytes: limit of one request.
    """
    batches: list[Batch] = []
    groups: dict[tuple[bytes, bytes], dict[tuple[bytes, bytes], list[bytes]]] = {}
    size = spans = unfit = 0
    for item in queued:
        try:
            resource = _resource(item.span.resource if item.forwarded else own, item.forwarded)
            scope = _scope(item.span.instrumentation_scope)
            encoded = _field(b"\x12", encode_span(item.span, item.structure_only))
        except Exception:  # nothing that one span holds may cost the others
            unfit += 1
            continue
        # Heads are counted with every span: an upper bound, and one addition.
        weight = len(encoded) + len(resource[0]) + len(scope[0]) + 64
        if weight > max_bytes:
            unfit += 1
            continue
        if size + weight > max_bytes:
            batches.append(Batch(_assemble(groups), spans))
            groups, size, spans = {}, 0, 0
        groups.setdefault(resource, {}).setdefault(scope, []).append(encoded)
        size += weight
        spans += 1
    if spans:
        batches.append(Batch(_assemble(groups), spans))
    return batches, unfit


def _assemble(groups: Mapping[tuple[bytes, bytes], Mapping[tuple[bytes, bytes], Sequence[bytes]]]) -> bytes:
    parts: list[bytes] = []
    for (head, tail), scopes in groups.items():
        inner = [head]
        for (scope_head, scope_tail), spans in scopes.items():
            body = b"".join((scope_head, *spans, scope_tail))
            inner += (b"\x12", _varint(len(body)), body)
        inner.append(tail)
        body = b"".join(inner)
        parts += (b"\x0a", _varint(len(body)), body)
    return b"".join(parts)
