"""One canonical JSON and the digests made of it, the same for a Python object and for its text.

Canonical form: UTF-8, no insignificant white space, object names sorted by code point, each name once, integers with
all their digits, other numbers in the shortest form that reads back as the same double. It is near RFC 8785 (JCS), but
keeps integers beyond 2^53 exact, because two ids that differ in their last digit are two ids. What has no such form
(NaN, infinities, lone surrogates, duplicate names, more than :data:`MAX_DEPTH` levels, objects of other types) gets a
``raw:`` digest of its bytes. Pure: no clock, no I/O, no state.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import hashlib
import hmac
import json
import math
import re
import uuid
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 254
"""Deepest nesting that has a canonical form; the limit of the fast encoder, kept by the exact one."""

_FAST: Final = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_JSON_STARTS: Final = frozenset('{["-0123456789tfn \t\r\n')
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


class NotCanonicalError(ValueError):
    """The value or text has no canonical JSON form."""


def canonical_json(value: object) -> bytes | None:
    """Encode a Python object canonically.

    Args:
        value: dict, list, tuple, str, int, float, bool or None, nested; enum members and UUIDs count as their value.

    Returns:
        UTF-8 bytes, or None when the value is not JSON.
    """
    try:
        out = orjson.dumps(value, option=_FAST)
    except TypeError:  # also: an integer beyond 64 bits, which the exact encoder can write
        return _exact(value)
    # NaN and infinities come out as null: look twice where there is a null.
    if b"null" in out and not _equal(orjson.loads(out), value):
        return _exact(value)
    return out


def canonical_of_text(text: str) -> bytes | None:
    """Parse JSON text strictly and encode it canonically.

    Returns:
        UTF-8 bytes, or None when the text is not JSON or its meaning depends on the parser (duplicate names, NaN).
    """
    if text[:1] not in _JSON_STARTS:
        return None
    try:
        return canonical_of_parsed(orjson.loads(text), text)
    except ValueError:
        return None


def canonical_of_parsed(value: object, text: str) -> bytes | None:
    """As :func:`canonical_of_text`, for text that orjson has already read as ``value``: reading is half of the cost."""
    try:
        out = orjson.dumps(value, option=_FAST)
    except TypeError:  # deeper than MAX_DEPTH
        return None
    # Quotes are lost only with a duplicate name; "e+" stands only in doubles of 1e16 and more, which may have been
    # integers.
    # A single character is found several times faster than two, and neither of these is frequent.
    wide = b"+" in out and b"e+" in out
    if wide or text.count('"') != out.count(b'"') or ("\\" in text and "\\u0022" in text):
        try:
            return _exact(_parse_exact(text))
        except ValueError:
            return None
    return out


def parse(text: str) -> Any:
    """Parse JSON text strictly: integers exact, NaN, lone surrogates and duplicate names refused.

    Raises:
        NotCanonicalError: the text is not JSON in this sense.
    """
    if canonical_of_text(text) is None:
        raise NotCanonicalError("not JSON")
    return _parse_exact(text)


def text_of(value: object) -> str:
    """The text that stands for a value in telemetry; facts and digests of the value are those of this text.

    JSON values give their canonical JSON. Models, dataclasses and the like are written as the JSON object that they
    describe; what cannot be written as JSON gives ``str(value)`` without memory addresses. Never raises.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "surrogateescape")
    canonical = canonical_json(value)
    if canonical is not None:
        return canonical.decode()
    try:
        return json.dumps(value, default=_plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except Exception:
        try:
            return _ADDRESS.sub("", str(value))
        except Exception:
            return type(value).__qualname__


def digest(value: object, key: bytes | None = None) -> str:
    """Digest of arguments or a result.

    Args:
        value: a Python object, or a string that holds JSON or anything else.
        key: makes the digest an HMAC, so that short values cannot be guessed from it.

    Returns:
        ``sha256:<hex>`` or ``hmac-sha256:<hex>`` of the canonical JSON; where there is none, ``raw:<hex>`` of the bytes
        of the text.
    """
    canonical = canonical_of_text(value) if isinstance(value, str) else canonical_json(value)
    if canonical is None and not isinstance(value, str):
        value = text_of(value)
        canonical = canonical_of_text(value)
    return digest_of(canonical, value, key)


def digest_of(canonical: bytes | None, text: object, key: bytes | None = None) -> str:
    """As :func:`digest`, where the canonical form of ``text`` is known."""
    if canonical is None:
        raw = str(text).encode("utf-8", "surrogatepass")
        return "raw:" + (hashlib.sha256(raw).hexdigest() if key is None else hmac.digest(key, raw, "sha256").hex())
    if key is None:
        return "sha256:" + hashlib.sha256(canonical).hexdigest()
    return "hmac-sha256:" + hmac.digest(key, canonical, "sha256").hex()


def starts_like_json(text: str) -> bool:
    """Whether the first character can begin JSON; spares the cost of a parser's exception on plain text."""
    return text[:1] in _JSON_STARTS


def _equal(left: object, right: object) -> bool:
    try:
        return bool(left == right)
    except Exception:  # a foreign __eq__: take the exact way
        return False


def _exact(value: object) -> bytes | None:
    pieces: list[str] = []
    try:
        _write(value, pieces, 0)
        return "".join(pieces).encode()
    except (NotCanonicalError, UnicodeEncodeError, OverflowError, RecursionError):
        return None


def _write(value: object, out: list[str], depth: int) -> None:
    if value is None or isinstance(value, bool):
        out.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, Enum):
        _write(value.value, out, depth)
    elif isinstance(value, str):
        out.append(_string(value))
    elif isinstance(value, int):
        float(value)  # OverflowError: beyond the range of a double no parser agrees with another
        out.append(int.__repr__(value))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotCanonicalError("not a finite number")
        out.append(orjson.dumps(float(value)).decode())
    elif isinstance(value, dict):
        _write_object(value, out, depth + 1)
    elif isinstance(value, list | tuple):
        _write_array(value, out, depth + 1)
    elif isinstance(value, uuid.UUID):
        out.append(_string(str(value)))
    else:
        raise NotCanonicalError(type(value).__name__)


def _write_object(value: dict[Any, Any], out: list[str], depth: int) -> None:
    if depth > MAX_DEPTH or not all(isinstance(name, str) for name in value):
        raise NotCanonicalError("too deep, or a name that is no string")
    out.append("{")
    for position, name in enumerate(sorted(value)):
        out.append(("," if position else "") + _string(name) + ":")
        _write(value[name], out, depth)
    out.append("}")


def _write_array(value: list[Any] | tuple[Any, ...], out: list[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise NotCanonicalError("too deep")
    out.append("[")
    for position, item in enumerate(value):
        if position:
            out.append(",")
        _write(item, out, depth)
    out.append("]")


def _string(value: str) -> str:
    try:
        return orjson.dumps(str(value)).decode()
    except TypeError as error:
        raise NotCanonicalError("lone surrogate") from error


def _parse_exact(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)


def _refuse(constant: str) -> object:
    raise NotCanonicalError(constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotCanonicalError("duplicate name")
    return found


def _plain(value: object) -> object:
    """What ``json`` should write for a value of another type; raises TypeError when there is nothing."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID | decimal.Decimal):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "surrogateescape")
    raise TypeError(type(value).__name__)
