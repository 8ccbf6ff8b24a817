"""Large requests cut into small ones: together the same, whatever the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from spanward_detector import wire

from tests.detector.service_fakes import make_span

NAMES = st.text(max_size=5)
SHAPE = st.lists(st.tuples(NAMES, st.lists(st.tuples(NAMES, st.integers(0, 9)), max_size=3)), max_size=3)


def request_of(shape: list[tuple[str, list[tuple[str, int]]]]) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    for service, scopes in shape:
        resource = request.resource_spans.add(schema_url=service)
        resource.resource.attributes.add(key="service.name").value.string_value = service
        for scope, spans in scopes:
            scoped = resource.scope_spans.add(schema_url=scope)
            scoped.scope.name = scope
            scoped.spans.extend(make_span() for _ in range(spans))
    return request


def flat(request: ExportTraceServiceRequest) -> list[tuple[str, str, bytes]]:
    return [
        (
            resource.SerializeToString(deterministic=True) and resource.schema_url,
            scope.scope.name,
            span.SerializeToString(),
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


@given(SHAPE, st.integers(1, 4))
def test_the_parts_are_together_the_same(shape: list[tuple[str, list[tuple[str, int]]]], size: int) -> None:
    """Every span with its resource and scope, in order, and never more than asked for."""
    request = request_of(shape)
    parts = [ExportTraceServiceRequest.FromString(part) for part in wire.split(request.SerializeToString(), size)]

    assert [span for part in parts for span in flat(part)] == flat(request)
    assert all(len(flat(part)) <= size for part in parts)
    for part in parts:
        assert part.resource_spans[0].resource.attributes[0].value.string_value == part.resource_spans[0].schema_url


def test_logs_have_the_same_shape() -> None:
    """One cutter serves both."""
    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add()
    for n in range(5):
        records.log_records.add(event_name=f"e{n}")
    parts = [ExportLogsServiceRequest.FromString(part) for part in wire.split(request.SerializeToString(), 2)]

    names = [[r.event_name for r in part.resource_logs[0].scope_logs[0].log_records] for part in parts]
    assert names == [["e0", "e1"], ["e2", "e3"], ["e4"]]


def test_fields_that_nobody_knows_are_no_obstacle() -> None:
    """Later releases may add some, of every wire type."""
    known = request_of([("a", [("b", 3)])]).SerializeToString()
    unknown = b"\xa0\x06\x01" + b"\xa1\x06" + bytes(8) + b"\xa5\x06" + bytes(4) + b"\xa2\x06\x02hi" + b"\x08\x01"

    assert len(list(wire.split(unknown + known + unknown, 2))) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 20,
        b"\x0a",
        b"\x0a\x05ab",
        b"\x0b",
        b"\x0a\x02\x12\x05",
        b"\x09\x01",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    ],
)
def test_what_is_no_message_is_said_to_be_none(data: bytes) -> None:
    """The real decoder then says it in its own words."""
    with pytest.raises(wire.WireError):
        list(wire.split(data, 2))


@given(st.binary(max_size=200))
def test_no_bytes_break_it(data: bytes) -> None:
    """They are cut or refused."""
    try:
        parts = list(wire.split(data, 2))
    except wire.WireError:
        return
    assert all(isinstance(part, bytes) for part in parts)
