"""The floor under every figure: an OTLP server that does nothing, or the usual walk, and a stream that only answers.

Modes: ``noop`` answers the bytes; ``walk`` decodes with the stock classes and reads every attribute into a dict;
``loop`` decodes and sends each span id to every open stream. Prints its port when it is ready.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc
import uvloop
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

_ANSWER = ExportTraceServiceResponse().SerializeToString()
_streams: set[asyncio.Queue[bytes]] = set()


async def _noop(request: bytes, context: Any) -> bytes:
    return _ANSWER


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind else None


async def _walk(request: bytes, context: Any) -> bytes:
    for resource_spans in ExportTraceServiceRequest.FromString(request).resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                {pair.key: _value(pair.value) for pair in span.attributes}
    return _ANSWER


async def _loop(request: bytes, context: Any) -> bytes:
    for resource_spans in ExportTraceServiceRequest.FromString(request).resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                for stream in _streams:
                    stream.put_nowait(span.span_id)
    return _ANSWER


async def _connect(messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
    stream: asyncio.Queue[bytes] = asyncio.Queue()
    _streams.add(stream)
    await context.send_initial_metadata(())
    try:
        while True:
            yield await stream.get()
    finally:
        _streams.discard(stream)


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, export: Any) -> None:
        self.export = grpc.unary_unary_rpc_method_handler(export)
        self.connect = grpc.stream_stream_rpc_method_handler(_connect)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return self.export if details.method.endswith("/Export") else self.connect


async def main(mode: str) -> None:
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 17 << 20)])
    server.add_generic_rpc_handlers((_Handlers({"noop": _noop, "walk": _walk, "loop": _loop}[mode]),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
