"""OTLP in: bytes to plain records. Protobuf types stop here."""

from spanward_detector.ingest.attributes import EMPTY, Attrs, decode_value, encode_value
from spanward_detector.ingest.decode import decode_events, decode_logs, decode_traces, iter_logs, iter_traces
from spanward_detector.ingest.files import MAX_DOCUMENT_BYTES, Batch, decode_any, gunzip, read_batches
from spanward_detector.ingest.otlp_json import (
    decode_logs_json,
    decode_traces_json,
    iter_logs_json,
    iter_traces_json,
    parse_json,
)
from spanward_detector.ingest.records import COUNTERS, MAX_MESSAGE_BYTES, IngestError, RawEvent, RawLog, RawSpan

__all__ = [
    "COUNTERS",
    "EMPTY",
    "MAX_DOCUMENT_BYTES",
    "MAX_MESSAGE_BYTES",
    "Attrs",
    "Batch",
    "IngestError",
    "RawEvent",
    "RawLog",
    "RawSpan",
    "decode_any",
    "decode_events",
    "decode_logs",
    "decode_logs_json",
    "decode_traces",
    "decode_traces_json",
    "decode_value",
    "encode_value",
    "gunzip",
    "iter_logs",
    "iter_logs_json",
    "iter_traces",
    "iter_traces_json",
    "parse_json",
    "read_batches",
]
