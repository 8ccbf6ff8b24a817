"""Stored telemetry: OTLP as JSON, JSON lines or protobuf, gzipped or not, traces and logs, told apart by content."""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

import orjson

from spanward_detector.ingest.decode import decode_logs, decode_traces
from spanward_detector.ingest.otlp_json import iter_logs_document, iter_traces_document, parse_json
from spanward_detector.ingest.records import MAX_MESSAGE_BYTES, IngestError, RawLog, RawSpan

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 31
_READ: Final = 1 << 16
_SPACE: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_JSON_STARTS: Final = (b"{", b"[")

MAX_DOCUMENT_BYTES: Final = 256 * 2**20
"""Largest request read from a file: nobody else waits for it, and the person who names the file owns the memory."""


@dataclass(slots=True)
class Batch:
    """One request of a stored file.

    Attributes:
        spans: of a trace request.
        logs: of a log request.
        position: of the request in its file, e.g. ``line 3``; "" for the only one.
    """

    spans: list[RawSpan] = field(default_factory=list)
    logs: list[RawLog] = field(default_factory=list)
    position: str = ""


def gunzip(data: bytes, limit: int = MAX_MESSAGE_BYTES) -> bytes:
    """Inflates gzip data of one or several members, never past ``limit`` bytes.

    Raises:
        IngestError: ``too_large`` as soon as the limit is passed, ``gzip`` for damaged or truncated data.
    """
    parts: list[bytes] = []
    size = 0
    while data:
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        try:
            part = inflater.decompress(data, limit - size + 1)
        except zlib.error as error:
            raise IngestError("gzip", "", str(error)) from None
        size += len(part)
        if size > limit:
            raise IngestError("too_large", "", f"more than {limit} bytes after decompression")
        if not inflater.eof:
            raise IngestError("gzip", "", "the data ends in the middle of a member")
        parts.append(part)
        data = inflater.unused_data.lstrip(b"\0")  # padding after a member is legal
    return b"".join(parts)


def _protobuf(data: bytes, limit: int) -> Batch:
    """Traces or logs: their envelopes look the same, so the one is taken whose records carry ids or times."""
    try:
        spans = decode_traces(data, limit=limit)
    except IngestError:
        spans = []
    if spans:
        return Batch(spans=spans)
    logs = decode_logs(data, limit=limit)
    if any(log.ts_ns or log.trace_id for log in logs):
        return Batch(logs=logs)
    if data.strip(b"\0"):
        raise IngestError("unknown_format", "byte 0", "neither OTLP traces nor OTLP logs")
    return Batch()


def _json(data: bytes, limit: int) -> Batch:
    document = parse_json(data, limit=limit)
    spans, logs = list(iter_traces_document(document)), list(iter_logs_document(document))
    if not (spans or logs or document.keys() & {"resourceSpans", "resource_spans", "resourceLogs", "resource_logs"}):
        raise IngestError("unknown_format", "line 1 column 1", "neither resourceSpans nor resourceLogs")
    return Batch(spans, logs)


def decode_any(data: bytes, *, limit: int = MAX_MESSAGE_BYTES) -> Batch:
    """Decodes one request, whatever its form: gzip, OTLP/JSON or protobuf, traces or logs.

    Raises:
        IngestError: with reason and position.
    """
    if data.startswith(_GZIP_MAGIC):
        data = gunzip(data, limit)
    data = data.removeprefix(_BOM)
    decode = _json if data.lstrip(_SPACE)[:1] in _JSON_STARTS else _protobuf
    return decode(data, limit)


class _Inflating:
    """Reads a gzip stream bit by bit, so that a stored file of any size takes little memory."""

    def __init__(self, read: Callable[[], bytes], head: bytes) -> None:
        self._read = read
        self._inflater = zlib.decompressobj(_GZIP_WINDOW)
        self._pending = head

    def __call__(self) -> bytes:
        """Next piece, at most 64 KiB; b"" at the end."""
        while True:
            data = self._pending or self._read()
            if self._inflater.eof:
                data = data.lstrip(b"\0")  # padding after a member is legal
            if not data:
                if self._inflater.eof:
                    return b""
                raise IngestError("gzip", "", "the data ends in the middle of a member")
            if self._inflater.eof:
                self._inflater = zlib.decompressobj(_GZIP_WINDOW)
            try:
                part = self._inflater.decompress(data, _READ)
            except zlib.error as error:
                raise IngestError("gzip", "", str(error)) from None
            self._pending = self._inflater.unconsumed_tail or self._inflater.unused_data
            if part:
                return part


def _lines(read: Callable[[], bytes], head: bytes, limit: int) -> Iterator[bytes]:
    """Lines with their ends, each at most ``limit`` bytes."""
    parts: list[bytes] = []
    size, piece = 0, head
    while piece:
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join((*parts, line, b"\n"))
            parts, size = [], 0
        if rest:
            parts.append(rest)
            size += len(rest)
        if size > limit:
            raise IngestError("too_large", "", f"more than {limit} bytes without an end of line")
        piece = read()
    if parts:
        yield b"".join(parts)


def _collect(pieces: Iterable[bytes], limit: int) -> bytes:
    kept, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise IngestError("too_large", "", f"more than {limit} bytes")
        kept.append(piece)
    return b"".join(kept)


def _is_document(line: bytes) -> bool:
    """True for a line that is a JSON object in itself: the file is JSON lines."""
    if not line.rstrip(_SPACE).endswith(b"}"):
        return False
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def read_batches(source: BinaryIO, *, limit: int = MAX_DOCUMENT_BYTES) -> Iterator[Batch]:
    """Reads a stored file or a stream request by request.

    A JSON object that ends with its line makes the file JSON lines, one request each; anything else is one request.

    Args:
        source: opened for reading bytes.
        limit: of one request, after decompression.

    Raises:
        IngestError: with reason and position; requests before it have been yielded.
    """
    read: Callable[[], bytes] = functools.partial(source.read, _READ)
    head = read()
    if head.startswith(_GZIP_MAGIC):
        read = _Inflating(read, head)
        head = read()
    head = head.removeprefix(_BOM)
    if head.lstrip(_SPACE)[:1] not in _JSON_STARTS:
        yield _protobuf(_collect(itertools.chain((head,), iter(read, b"")), limit), limit)
        return
    lines = _lines(read, head, limit)
    first = next((line for line in lines if line.strip(_SPACE)), b"")
    if not _is_document(first):
        yield _json(_collect(itertools.chain((first,), lines), limit), limit)
        return
    for number, line in enumerate(itertools.chain((first,), lines), 1):
        if not line.strip(_SPACE):
            continue
        try:
            batch = _json(line, limit)
        except IngestError as error:
            place = error.position.removeprefix("line 1 ")
            raise IngestError(error.reason, f"line {number} {place}".strip(), error.detail) from None
        batch.position = f"line {number}"
        yield batch
