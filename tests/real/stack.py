"""What tests need beside the real components: a fake detector, and spans made by hand."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from scripts.stack import (
    ROOT,
    Collector,
    ComponentError,
    Jaeger,
    Prometheus,
    binary,
    collector,
    free_ports,
    get,
    jaeger,
    process,
    prometheus,
    wait_until,
)

__all__ = [
    "ROOT",
    "Arrival",
    "Collector",
    "ComponentError",
    "Jaeger",
    "Made",
    "Prometheus",
    "Sink",
    "binary",
    "collector",
    "detector",
    "free_ports",
    "get",
    "jaeger",
    "make",
    "process",
    "prometheus",
    "send",
    "sink",
    "wait_until",
]

Value = str | int | bool


class Arrival(NamedTuple):
    """A span as the fake detector got it; ``at`` is ``time.perf_counter()``."""

    at: float
    scope: str
    resource: Mapping[str, Value]
    attributes: Mapping[str, Value]


class Made(NamedTuple):
    """A span made by :func:`make`, ready to be sent."""

    trace_id: str
    span_id: str
    request: trace_service_pb2.ExportTraceServiceRequest


@dataclass
class Sink:
    """A fake detector: every span and log record that reached it.

    Attributes:
        address: its ``host:port``.
        spans: arrivals by span id.
        logs: bodies of the log records, in order.
    """

    address: str = ""
    spans: dict[str, list[Arrival]] = field(default_factory=dict)
    logs: list[str] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def take_spans(self, request: trace_service_pb2.ExportTraceServiceRequest) -> None:
        """Remember what one request carried."""
        at = time.perf_counter()
        with self._changed:
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        arrival = Arrival(
                            at, scope.scope.name, plain(resource.resource.attributes), plain(span.attributes)
                        )
                        self.spans.setdefault(span.span_id.hex(), []).append(arrival)
            self._changed.notify_all()

    def take_logs(self, request: logs_service_pb2.ExportLogsServiceRequest) -> None:
        """Remember what one request carried."""
        with self._changed:
            self.logs += [
                record.body.string_value
                for resource in request.resource_logs
                for scope in resource.scope_logs
                for record in scope.log_records
            ]
            self._changed.notify_all()

    def wait_for(self, span_id: str, timeout_s: float = 10.0) -> Arrival:
        """The first arrival of a span.

        Raises:
            ComponentError: it did not come in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: span_id in self.spans, timeout_s):
                raise ComponentError(f"span {span_id} did not reach the detector in {timeout_s:g} s")
            return self.spans[span_id][0]


class _TraceService(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, to: Sink) -> None:
        self.to = to

    def Export(self, request, context):
        self.to.take_spans(request)
        return trace_service_pb2.ExportTraceServiceResponse()


class _LogService(logs_service_pb2_grpc.LogsServiceServicer):
    def __init__(self, to: Sink) -> None:
        self.to = to

    def Export(self, request, context):
        self.to.take_logs(request)
        return logs_service_pb2.ExportLogsServiceResponse()


@contextmanager
def sink() -> Iterator[Sink]:
    """Run a fake detector on a free port."""
    running = Sink()
    options = [("grpc.max_receive_message_length", 20 * 1024 * 1024)]
    server = grpc.server(futures.ThreadPoolExecutor(4), options=options)
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(_TraceService(running), server)
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(_LogService(running), server)
    running.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield running
    finally:
        server.stop(1).wait()


@contextmanager
def detector(workdir: Path, grpc_port: int, http_port: int, emit_endpoint: str = "", **env: str) -> Iterator[Path]:
    """Run the real detector as people do, ``spanward up``; yields its log.

    Args:
        workdir: for its log and data.
        grpc_port: of OTLP and the control stream.
        http_port: of metrics and API.
        emit_endpoint: ``host:port`` of the Collector that takes its findings and directives as spans.
        env: further settings.
    """
    command = (
        *(sys.executable, "-m", "spanward_detector", "up"),
        *("--grpc-address", f"127.0.0.1:{grpc_port}"),
        *("--http-address", f"127.0.0.1:{http_port}"),
        *("--data-dir", str(workdir / f"data-{grpc_port}")),
    )
    log = workdir / f"detector-{grpc_port}.log"
    with process(
        command, log, {"SPANWARD_EMIT_ENDPOINT": emit_endpoint, **env}, f"http://127.0.0.1:{http_port}/healthz"
    ):
        yield log


def plain(attributes) -> dict[str, Value]:
    """OTLP attributes of scalar types as a dict."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value") for pair in attributes}


def _pairs(attributes: Mapping[str, Value]) -> list[KeyValue]:
    fields = {bool: "bool_value", int: "int_value", str: "string_value"}
    return [KeyValue(key=key, value=AnyValue(**{fields[type(value)]: value})) for key, value in attributes.items()]


def make(
    name: str = "execute_tool search",
    *,
    scope: str = "spanward",
    resource: Mapping[str, Value] = {},
    attributes: Mapping[str, Value] = {},
    trace_id: str = "",
    parent_id: str = "",
    error: bool = False,
) -> Made:
    """A span that has just ended after 3 ms, as an export request."""
    now = time.time_ns()
    span = Span(
        trace_id=bytes.fromhex(trace_id) or os.urandom(16),
        span_id=os.urandom(8),
        parent_span_id=bytes.fromhex(parent_id),
        name=name,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=now - 3_000_000,
        end_time_unix_nano=now,
        attributes=_pairs(attributes),
        status=Status(code=Status.STATUS_CODE_ERROR if error else Status.STATUS_CODE_UNSET),
    )
    request = trace_service_pb2.ExportTraceServiceRequest()
    batch = request.resource_spans.add()
    batch.resource.attributes.extend(_pairs({"service.name": "test-agent", **resource}))
    scoped = batch.scope_spans.add()
    scoped.scope.name = scope
    scoped.spans.append(span)
    return Made(span.trace_id.hex(), span.span_id.hex(), request)


@cache
def _traces(address: str) -> trace_service_pb2_grpc.TraceServiceStub:
    return trace_service_pb2_grpc.TraceServiceStub(grpc.insecure_channel(address))


def send(address: str, *spans: Made) -> float:
    """Export spans to ``host:port``, one request each; returns ``time.perf_counter()`` before the last of them."""
    at = time.perf_counter()
    for made in spans:
        at = time.perf_counter()
        _traces(address).Export(made.request, timeout=10, wait_for_ready=True)
    return at
