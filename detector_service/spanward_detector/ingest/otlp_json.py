"""OTLP/JSON to the same records: checked, turned into protobuf by the stock converter, decoded like everything else."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import orjson
from google.protobuf.json_format import ParseDict, ParseError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanward_detector.ingest.decode import iter_logs, iter_traces
from spanward_detector.ingest.records import MAX_MESSAGE_BYTES, IngestError, RawLog, RawSpan

CHUNK: Final = 16
"""Spans converted at a time: the stock converter takes about 0.25 ms for each, and others must run in between."""
_MAX_RECURSION: Final = 100
# What the fast parser complains of besides syntax -> our reason.
_SYNTAX: Final = {"depth limit": "depth", "recursion": "depth", "number is infinity": "number"}
_ID_LENGTHS: Final = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
_ID_KEYS: Final = _ID_LENGTHS | {"trace_id": 16, "span_id": 8, "parent_span_id": 8}
_HEX = re.compile(r"[0-9a-fA-F]*\Z")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Builds an object and refuses a field that stands in it twice: readers would not agree which one counts."""
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise IngestError("duplicate_field", f"field {twice[:80]!r}")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise IngestError("number", "", f"{name} is not JSON")


def parse_json(data: bytes, *, limit: int = MAX_MESSAGE_BYTES) -> dict[str, Any]:
    """Parses a JSON object strictly.

    A first, fast parse bounds the nesting and finds what is not JSON; only then the exact one, which sees duplicates.

    Raises:
        IngestError: ``too_large``, ``encoding``, ``json``, ``depth``, ``number`` or ``duplicate_field``.
    """
    if len(data) > limit:
        raise IngestError("too_large", "", f"{len(data)} bytes, at most {limit} are taken")
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        reason = next((reason for word, reason in _SYNTAX.items() if word in error.msg), "json")
        raise IngestError(reason, f"line {error.lineno} column {error.colno}", error.msg.split(":")[0]) from None
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise IngestError("depth", "", "nested too deep") from None
    except UnicodeDecodeError as error:
        raise IngestError("encoding", f"byte {error.start}", "not UTF-8") from None
    except IngestError:
        raise
    except ValueError as error:
        # The first parse took it, so the only thing left is a number with more digits than Python will convert.
        raise IngestError("number", "", str(error).split(";")[0]) from None
    if not isinstance(value, dict):
        raise IngestError("json", "line 1 column 1", "an object was expected")
    return value


def _fix_id(value: object, size: int) -> object:
    """Base64 of an id, as the stock converter wants it: OTLP/JSON says hex, protobuf's own mapping says base64."""
    if not isinstance(value, str) or not value:
        return value
    if len(value) == 2 * size and _HEX.match(value):
        return base64.b64encode(bytes.fromhex(value)).decode()
    try:
        if len(base64.b64decode(value, validate=True)) == size:
            return value
    except (binascii.Error, ValueError):
        pass
    # Neither: hand on bytes of a wrong length, which the decoder drops and counts.
    return base64.b64encode(value.encode("utf-8", "replace")[: size - 1]).decode()


def _fix_ids(record: object) -> object:
    if not isinstance(record, dict):
        return record
    fixed = {key: _fix_id(value, _ID_KEYS[key]) if key in _ID_KEYS else value for key, value in record.items()}
    fixed.pop("links", None)  # nobody reads them, and their ids would have to be fixed too
    return fixed


def _to_protobuf(document: dict[str, Any], request: Any, position: str) -> bytes:
    try:
        message = ParseDict(document, request, ignore_unknown_fields=True, max_recursion_depth=_MAX_RECURSION)
    except ParseError as error:
        reason = "depth" if "too deep" in str(error) else "value"
        raise IngestError(reason, position, str(error)[:200]) from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        # The stock converter trusts the shape of what it is given in a few places.
        raise IngestError("value", position, str(error)[:200]) from None
    content: bytes = message.SerializeToString()
    return content


def _list(owner: object, names: tuple[str, str], position: str) -> list[Any]:
    """The repeated field of an object under its JSON or its original name; [] when absent."""
    if not isinstance(owner, dict):
        raise IngestError("value", position, "an object was expected")
    value = owner.get(names[0], owner.get(names[1]))
    if value is None:
        return []
    if not isinstance(value, list):
        raise IngestError("value", f"{position}.{names[0]}".lstrip("."), "an array was expected")
    return value


def _chunks(
    document: dict[str, Any], outer: tuple[str, str], inner: tuple[str, str], items: tuple[str, str], request: Any
) -> Iterator[bytes]:
    """The document as a series of small protobuf requests."""
    for i, owner in enumerate(_list(document, outer, "")):
        at = f"{outer[0]}[{i}]"
        for j, scope in enumerate(_list(owner, inner, at)):
            where = f"{at}.{inner[0]}[{j}]"
            records = _list(scope, items, where)
            for k in range(0, len(records), CHUNK):
                part = [_fix_ids(record) for record in records[k : k + CHUNK]]
                scoped = {"scope": scope.get("scope"), items[0]: part}
                small = {outer[0]: [{"resource": owner.get("resource"), inner[0]: [scoped]}]}
                yield _to_protobuf(small, request(), f"{where}.{items[0]}[{k}:{k + len(part)}]")


def iter_traces_document(document: dict[str, Any]) -> Iterator[RawSpan]:
    """Spans of a parsed OTLP/JSON trace request; see :func:`iter_traces_json`."""
    names = (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans", "spans"))
    for data in _chunks(document, *names, ExportTraceServiceRequest):
        yield from iter_traces(data, held_first=False)


def iter_logs_document(document: dict[str, Any]) -> Iterator[RawLog]:
    """Records of a parsed OTLP/JSON log request; see :func:`iter_logs_json`."""
    names = (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records"))
    for data in _chunks(document, *names, ExportLogsServiceRequest):
        yield from iter_logs(data)


def iter_traces_json(data: bytes) -> Iterator[RawSpan]:
    """Decodes an OTLP/JSON trace request span by span. Ids may be hex (OTLP) or base64 (protobuf's own mapping).

    A value of a wrong type is found only when its chunk is reached: spans before it have been yielded by then.

    Raises:
        IngestError: what :func:`parse_json` raises, or ``value`` with the path of the chunk.
    """
    return iter_traces_document(parse_json(data))


def iter_logs_json(data: bytes) -> Iterator[RawLog]:
    """Decodes an OTLP/JSON log request record by record; errors as in :func:`iter_traces_json`."""
    return iter_logs_document(parse_json(data))


def decode_traces_json(data: bytes) -> list[RawSpan]:
    """Decodes an OTLP/JSON trace request at once, or refuses it as a whole."""
    return list(iter_traces_json(data))


def decode_logs_json(data: bytes) -> list[RawLog]:
    """Decodes an OTLP/JSON log request at once, or refuses it as a whole."""
    return list(iter_logs_json(data))
