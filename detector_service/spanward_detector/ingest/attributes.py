"""Attributes that are decoded when they are read.

A value is the wire bytes of an OTLP ``AnyValue``. The shapes that nearly all values have (one scalar field) are read by
hand; everything else goes through the stock decoder, so that odd encodings mean here what they mean there. What the
stock decoder would refuse (invalid UTF-8, absurd nesting) is clamped and counted, when and only when it is read.
"""

from __future__ import annotations

import builtins
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from spanward_detector.ingest.records import COUNTERS, MAX_ATTRIBUTES, MAX_DEPTH, MAX_VALUE_BYTES

# First byte of an AnyValue: field number and wire type of the member that is set.
_STRING, _BOOL, _INT, _DOUBLE = 0x0A, 0x10, 0x18, 0x21
_STRING_TAG: Final = bytes((_STRING,))
_DOUBLE_LENGTH: Final = 9
# First bytes of the two fields of a KeyValue.
_PAIR_KEY, _PAIR_VALUE = 0x0A, 0x12
_unpack_double = struct.Struct("<d").unpack_from


def _payload(raw: bytes) -> bytes | None:
    """Content of a length-delimited value that fills ``raw`` exactly; None when the encoding is any other."""
    total = len(raw)
    if total < 2:
        return None
    size = raw[1]
    if size < 0x80:
        return raw[2:] if size == total - 2 else None
    # Two and three bytes of length hold all but giant values; longer and odd ones take the slow way.
    if total > 3 and raw[2] < 0x80:
        return raw[3:] if (size & 0x7F | raw[2] << 7) == total - 3 else None
    if total > 4 and raw[3] < 0x80:
        return raw[4:] if (size & 0x7F | (raw[2] & 0x7F) << 7 | raw[3] << 14) == total - 4 else None
    return None


def _varint(raw: bytes) -> int | None:
    """Value of a varint that fills ``raw`` after its first byte exactly; None when the encoding is any other."""
    value, shift = 0, 0
    for at, byte in enumerate(raw[1:11], 2):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF if at == len(raw) else None
        shift += 7
    return None


def _to_text(content: bytes) -> str:
    if len(content) > MAX_VALUE_BYTES:
        COUNTERS["clamp.value_length"] += 1
        content = content[:MAX_VALUE_BYTES]
        # The cut may fall inside a character; up to three bytes of it are dropped with the rest.
        return content.decode("utf-8", "ignore")
    try:
        return content.decode()
    except UnicodeDecodeError:
        COUNTERS["clamp.utf8"] += 1
        return content.decode("utf-8", "replace")


def _convert(value: AnyValue, depth: int) -> object:
    """Python value of a decoded ``AnyValue``; what lies deeper than allowed is None and counted."""
    which = value.WhichOneof("value")
    if which is None:
        return None
    if depth >= MAX_DEPTH:
        COUNTERS["clamp.attribute_depth"] += 1
        return None
    if which == "array_value":
        return [_convert(item, depth + 1) for item in value.array_value.values]
    if which == "kvlist_value":
        return {item.key: _convert(item.value, depth + 1) for item in value.kvlist_value.values}
    content: object = getattr(value, which)
    if isinstance(content, str) and len(content) > MAX_VALUE_BYTES // 4:  # a character takes four bytes at most
        return _to_text(content.encode())
    return content


def decode_value(raw: bytes) -> object:
    """Decodes an ``AnyValue``.

    Returns:
        str, bool, int, float, bytes, list, dict (string keys), or None when it is empty or cannot be read.
    """
    if not raw:
        return None
    tag = raw[0]
    if tag == _STRING:
        if (content := _payload(raw)) is not None:
            return _to_text(content)
    elif tag == _INT:
        if (number := _varint(raw)) is not None:
            return number - (1 << 64) if number >> 63 else number
    elif tag == _BOOL:
        if (number := _varint(raw)) is not None:
            return bool(number)
    elif tag == _DOUBLE and len(raw) == _DOUBLE_LENGTH:
        value: float = _unpack_double(raw, 1)[0]
        return value
    try:
        return _convert(AnyValue.FromString(raw), 0)
    except DecodeError:
        COUNTERS["clamp.attribute_value"] += 1
        return None


def as_text(value: object) -> str | None:
    """Renders an attribute value as text: strings as they are, everything else as compact JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return orjson.dumps(value, default=as_text).decode()


class Attrs:
    """Read-only view of the attributes of a span, an event, a log record or a resource.

    Args:
        raw: key -> encoded ``AnyValue``.

    Attributes:
        raw_get: the encoded ``AnyValue`` of a key, or None; for the hot path.
    """

    __slots__ = ("_raw", "raw_get")

    def __init__(self, raw: Mapping[str, bytes]) -> None:
        if len(raw) > MAX_ATTRIBUTES:
            COUNTERS["drop.attributes"] += len(raw) - MAX_ATTRIBUTES
            # Short keys first: those that conventions name are short, those that a runaway index makes are long.
            keys = sorted(raw, key=lambda key: (len(key), key))[:MAX_ATTRIBUTES]
            raw = {key: raw[key] for key in keys}
        self._raw = raw
        self.raw_get = raw.get

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Attrs:
        """Attributes from Python values; for tests and synthetic records."""
        return cls({key: encode_value(value) for key, value in values.items()})

    def text(self, key: str) -> str | None:
        """The value as text (see :func:`as_text`), or None when it is absent or empty."""
        raw = self.raw_get(key)
        if raw is None:
            return None
        # The common case, spelt out: a string shorter than 128 bytes that fills the value.
        if len(raw) > 1 and raw[0] == _STRING and raw[1] == len(raw) - 2 and raw[1] < 0x80:
            try:
                return raw[2:].decode()
            except UnicodeDecodeError:
                pass
        return as_text(decode_value(raw))

    def int(self, key: str) -> builtins.int | None:
        """The value as an integer; also from an integral float or from decimal text."""
        raw = self.raw_get(key)
        if raw is None:
            return None
        if len(raw) == 2 and raw[0] == _INT and raw[1] < 0x80:
            return raw[1]
        value = decode_value(raw)
        if isinstance(value, bool):
            return None
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal():
            try:
                return int(value)
            except ValueError:
                return None
        return None

    def float(self, key: str) -> builtins.float | None:
        """The value as a float, or None when it is not a number."""
        value = self.value(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def bool(self, key: str) -> builtins.bool | None:
        """The value as a boolean, or None when it is not one."""
        raw = self.raw_get(key)
        if raw is None:
            return None
        value = decode_value(raw)
        return value if isinstance(value, bool) else None

    def strings(self, key: str) -> tuple[str, ...]:
        """The value as a tuple of texts; a single text becomes a tuple of one."""
        raw = self.raw_get(key)
        if raw is None:
            return ()
        value = decode_value(raw)
        if isinstance(value, list):
            return tuple(text for item in value if (text := as_text(item)) is not None)
        text = as_text(value)
        return () if text is None else (text,)

    def value(self, key: str) -> object:
        """The value as a Python object, or None when it is absent."""
        raw = self.raw_get(key)
        return None if raw is None else decode_value(raw)

    def __iter__(self) -> Iterator[str]:
        """All keys, in no particular order."""
        return iter(self._raw)

    def keys(self) -> Iterator[str]:
        """All keys, in no particular order."""
        return iter(self._raw)

    def longest(self) -> str:
        """The value that takes the most bytes, where it is a text; else ""."""
        raw = max(self._raw.values(), key=len, default=b"")
        value = decode_value(raw) if raw[:1] == _STRING_TAG else ""
        return value if isinstance(value, str) else ""

    def to_dict(self) -> dict[str, object]:
        """All attributes, decoded."""
        return {key: decode_value(self._raw[key]) for key in self._raw}

    def __contains__(self, key: object) -> builtins.bool:
        return key in self._raw

    def __len__(self) -> builtins.int:
        return len(self._raw)


class OwnAttrs(Attrs):
    """Attributes of our own spans, as encoded key-value pairs; they become a mapping only when somebody asks for one.

    Args:
        pairs: encoded ``KeyValue`` messages.
    """

    __slots__ = ("pairs",)

    def __init__(self, pairs: Sequence[bytes]) -> None:
        self.pairs = pairs

    def __getattr__(self, name: str) -> Any:
        # Reached when a slot of the base class is still empty.
        if name not in ("_raw", "raw_get"):
            raise AttributeError(name)
        super().__init__(dict(split_pair(pair) for pair in self.pairs))
        return getattr(self, name)


def split_pair(pair: bytes) -> tuple[str, bytes]:
    """Key and encoded ``AnyValue`` of an encoded ``KeyValue``."""
    # The form that every encoder writes: key of less than 128 bytes, then the value, then nothing.
    if len(pair) > 3 and pair[0] == _PAIR_KEY and (at := 2 + pair[1]) + 1 < len(pair) and pair[1] < 0x80:
        value = _payload(pair[at:]) if pair[at] == _PAIR_VALUE else None
        if value is not None:
            try:
                return pair[2:at].decode(), value
            except UnicodeDecodeError:
                pass
    try:
        message = KeyValue.FromString(pair)
    except DecodeError:
        COUNTERS["drop.attribute"] += 1
        return "", b""
    return message.key, message.value.SerializeToString()


EMPTY: Final = Attrs({})
"""No attributes."""


def encode_value(value: object) -> bytes:
    """Encodes a Python value as an ``AnyValue``."""
    message = AnyValue()
    _fill(message, value)
    return message.SerializeToString()


def encode_pair(key: str, value: object) -> bytes:
    """Encodes an attribute as a ``KeyValue``."""
    message = KeyValue(key=key)
    _fill(message.value, value)
    return message.SerializeToString()


def _fill(message: AnyValue, value: object) -> None:
    if value is None:
        return
    if isinstance(value, str):
        message.string_value = value
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, int):
        message.int_value = value
    elif isinstance(value, float):
        message.double_value = value
    elif isinstance(value, bytes):
        message.bytes_value = value
    elif isinstance(value, Mapping):
        message.kvlist_value.SetInParent()
        for key, item in value.items():
            entry = message.kvlist_value.values.add()
            entry.key = str(key)
            _fill(entry.value, item)
    elif isinstance(value, list | tuple):
        message.array_value.SetInParent()
        for item in value:
            _fill(message.array_value.values.add(), item)
    else:
        raise TypeError(f"not an attribute value: {type(value).__name__}")
