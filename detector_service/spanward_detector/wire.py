"""Large OTLP requests cut into small ones, by looking at the outermost lengths only.

Decoding sixteen megabytes at once stalls everybody for tens of milliseconds; cut up, others get their turn in between.
Traces and logs have the same shape: resources (1) that have scopes (2) that have items (2).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Final, NamedTuple

_LENGTH_DELIMITED: Final = 2
_FIXED: Final = {1: 8, 5: 4}
_RESOURCE: Final = 1
_SCOPE: Final = 2
_ITEM: Final = 2
_LOOKED_AT: Final = 256


class WireError(ValueError):
    """Not the bytes of a message, as far as was looked."""


class _Field(NamedTuple):
    number: int
    start: int  # of its tag
    body: int  # of its content
    end: int


def split(data: bytes, items: int) -> Iterator[bytes]:
    """Requests that are together the same as ``data``, each with at most so many spans or records, in order.

    Some of them are empty, where there was much to look at: the caller may let others have their turn there.

    Raises:
        WireError: somewhere it is no message; parts before may have been yielded.
    """
    view = memoryview(data)
    for resource in _fields(data, 0, len(data)):
        if resource.number != _RESOURCE:
            continue
        of_resource, scopes = yield from _divided(data, resource, _SCOPE)
        if not scopes:
            continue
        resource_head = b"".join(view[f.start : f.end] for f in of_resource)
        for scope in scopes:
            of_scope, found = yield from _divided(data, scope, _ITEM)
            scope_head = b"".join(view[f.start : f.end] for f in of_scope)
            remaining = iter(found)
            while part := list(islice(remaining, items)):
                body = scope_head + b"".join(view[f.start : f.end] for f in part)
                yield _wrapped(_RESOURCE, resource_head + _wrapped(_SCOPE, body))


def _divided(data: bytes, owner: _Field, number: int) -> Generator[bytes, None, tuple[list[_Field], list[_Field]]]:
    """Fields of a message: the others, and those with this number. All are looked at: the last may say whose it is."""
    others: list[_Field] = []
    wanted: list[_Field] = []
    for count, field in enumerate(_fields(data, owner.body, owner.end), 1):
        (wanted if field.number == number else others).append(field)
        if count % _LOOKED_AT == 0:
            yield b""
    return others, wanted


def _fields(data: bytes, at: int, end: int) -> Iterator[_Field]:
    while at < end:
        start = at
        tag, at = _varint(data, at, end)
        kind = tag & 7
        body = at
        if kind == _LENGTH_DELIMITED:
            size, body = _varint(data, at, end)
            at = body + size
        elif kind == 0:
            _, at = _varint(data, at, end)
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise WireError(f"wire type {kind} at byte {start}")
        if at > end:
            raise WireError(f"a field at byte {start} that ends outside its message")
        # the same number with another wire type is a field that nobody knows
        yield _Field(tag >> 3 if kind == _LENGTH_DELIMITED else 0, start, body, at)


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError(f"a number at byte {at} without an end")


def _wrapped(number: int, body: bytes) -> bytes:
    size, length = len(body), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes((number << 3 | _LENGTH_DELIMITED,)) + bytes(length) + body
