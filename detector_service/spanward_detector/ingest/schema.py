"""A decode-only OTLP schema in which attributes are maps of undecoded values.

On the wire ``repeated KeyValue {key = 1, value = 2}`` and ``map<string, bytes>`` are the same bytes. Declaring the map
moves the look-up of an attribute into protobuf's C code and leaves each value as the wire bytes of its ``AnyValue``
until somebody asks for it: several times faster than a walk over the stock messages. Fields that nobody reads (links,
trace state, most dropped counts) are not declared, so the parser skips them.

The descriptors are built here, in a pool of their own: no second generated file to keep fresh, no clash with
opentelemetry-proto, and the same code loads on every supported protobuf.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE: Final = "spanward.lite"

_TYPES: Final = {
    "bytes": _Field.TYPE_BYTES,
    "string": _Field.TYPE_STRING,
    "int32": _Field.TYPE_INT32,
    "uint32": _Field.TYPE_UINT32,
    "fixed64": _Field.TYPE_FIXED64,
}

# message -> field -> (number, type); "*T" is repeated T, "map" is map<string, bytes>, a capital letter is a message.
# The Own... messages are the same with key-value pairs left whole: most pairs of our own spans recur, so that one
# look-up by the bytes of the pair gives name and value at once.
# Numbers are those of opentelemetry/proto (trace v1, logs v1, common v1, resource v1).
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Resource": {"attributes": (1, "map")},
    "Scope": {"name": (1, "string"), "version": (2, "string")},
    "Status": {"message": (2, "bytes"), "code": (3, "int32")},
    "Event": {"time_unix_nano": (1, "fixed64"), "name": (2, "string"), "attributes": (3, "map")},
    "Span": {
        "trace_id": (1, "bytes"),
        "span_id": (2, "bytes"),
        "parent_span_id": (4, "bytes"),
        "name": (5, "string"),
        "kind": (6, "int32"),
        "start_time_unix_nano": (7, "fixed64"),
        "end_time_unix_nano": (8, "fixed64"),
        "attributes": (9, "map"),
        "dropped_attributes_count": (10, "uint32"),
        "events": (11, "*bytes"),
        "status": (15, "bytes"),
    },
    "ScopeSpans": {"scope": (1, "Scope"), "spans": (2, "*Span")},
    "ResourceSpans": {"resource": (1, "Resource"), "scope_spans": (2, "*ScopeSpans")},
    "Traces": {"resource_spans": (1, "*ResourceSpans")},
    "LogRecord": {
        "time_unix_nano": (1, "fixed64"),
        "severity_number": (2, "int32"),
        "body": (5, "bytes"),
        "attributes": (6, "map"),
        "trace_id": (9, "bytes"),
        "span_id": (10, "bytes"),
        "observed_time_unix_nano": (11, "fixed64"),
        "event_name": (12, "string"),
    },
    "ScopeLogs": {"scope": (1, "Scope"), "log_records": (2, "*LogRecord")},
    "ResourceLogs": {"resource": (1, "Resource"), "scope_logs": (2, "*ScopeLogs")},
    "Logs": {"resource_logs": (1, "*ResourceLogs")},
}
_MESSAGES |= {
    "OwnSpan": {**_MESSAGES["Span"], "attributes": (9, "*bytes")},
    "OwnScopeSpans": {**_MESSAGES["ScopeSpans"], "spans": (2, "*OwnSpan")},
    "OwnResourceSpans": {**_MESSAGES["ResourceSpans"], "scope_spans": (2, "*OwnScopeSpans")},
    "OwnTraces": {"resource_spans": (1, "*OwnResourceSpans")},
}


def _add_map(message: descriptor_pb2.DescriptorProto, field: descriptor_pb2.FieldDescriptorProto) -> None:
    """Makes ``field`` a ``map<string, bytes>``: a repeated entry message that carries the option ``map_entry``."""
    entry = message.nested_type.add(name="".join(part.title() for part in field.name.split("_")) + "Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
    entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_BYTES)
    field.label = _Field.LABEL_REPEATED
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"


def _build() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="spanward/lite.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, (number, kind) in fields.items():
            field = message.field.add(name=field_name, number=number, label=_Field.LABEL_OPTIONAL)
            if kind == "map":
                _add_map(message, field)
                continue
            if kind.startswith("*"):
                field.label = _Field.LABEL_REPEATED
            base = kind.lstrip("*")
            if base in _TYPES:
                field.type = _TYPES[base]
            else:
                field.type = _Field.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{base}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    # The classes are made at run time, so there is nothing that a type checker could know of them.
    found = {name: pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in _MESSAGES}
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in found.items()}


_CLASSES: Final = _build()
Traces: Final[Any] = _CLASSES["Traces"]
OwnTraces: Final[Any] = _CLASSES["OwnTraces"]
Logs: Final[Any] = _CLASSES["Logs"]
Event: Final[Any] = _CLASSES["Event"]
Status: Final[Any] = _CLASSES["Status"]
