"""OTLP in, by gRPC and by HTTP: refused with a reason, or judged.

A large request is judged in slices, and others get their turn in between: it must not stall a hold. Spans that an agent
is waiting on come first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Final, TypeVar

import grpc
import grpc.aio
from spanward.semconv import HOLD

from spanward_detector import ingest, wire
from spanward_detector.engine import Engine
from spanward_detector.ingest import IngestError
from spanward_detector.metrics import Labels, Metrics

_log = logging.getLogger(__name__)

TRACE_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
LOGS_SERVICE: Final = "opentelemetry.proto.collector.logs.v1.LogsService"

_LARGE: Final = 64 * 1024
_LARGE_AT_ONCE: Final = 2
_HUGE: Final = 1024 * 1024
_PART: Final = 32
_HELD: Final = HOLD.encode()
_TURN_S: Final = 0.002
_MOMENT_S: Final = 0.0005
_COMMIT_S: Final = 0.002
"""In this a directive is committed and sent, as a rule; meanwhile the interpreter is the store's."""

Item = TypeVar("Item")
Context = grpc.aio.ServicerContext[bytes, bytes]


class Intake:
    """Takes requests.

    Args:
        engine: judges what is in them.
        metrics: what is counted.
        limit: largest request in bytes, after decompression.
        chunk: items judged at most before others get their turn.
    """

    def __init__(self, engine: Engine, metrics: Metrics, *, limit: int, chunk: int) -> None:
        self._engine = engine
        self._metrics = metrics
        self._limit = limit
        self._chunk = chunk
        # each holds a multiple of its size in memory while it is judged
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._took_large = False
        metrics.counter(
            "spanward_ingest_clamped",
            "Values that were brought within bounds.",
            ("reason",),
            lambda: _counted("clamp."),
        )
        metrics.counter(
            "spanward_ingest_dropped", "Spans, events and attributes left out.", ("reason",), lambda: _counted("drop.")
        )

    async def traces(self, data: bytes, *, json: bool = False) -> None:
        """Judge an ``ExportTraceServiceRequest``.

        Raises:
            IngestError: it cannot be taken; counted.
        """
        arrived = time.perf_counter()
        read = ingest.iter_traces_json if json else ingest.iter_traces
        await self._judge(data, read, lambda spans: self._engine.spans(spans, arrived), json)

    async def logs(self, data: bytes, *, json: bool = False) -> None:
        """Judge an ``ExportLogsServiceRequest``.

        Raises:
            IngestError: it cannot be taken; counted.
        """
        arrived = time.perf_counter()
        read = ingest.iter_logs_json if json else ingest.iter_logs
        await self._judge(data, read, lambda records: self._engine.logs(records, arrived), json)

    def carried(self, data: bytes) -> None:
        """Judge spans that an agent sent on its own stream: a few that it waits for. What cannot be read is counted."""
        try:
            if len(data) > _LARGE:
                raise IngestError("too_large", "", f"{len(data)} bytes, at most {_LARGE} are taken on a stream")
            self._engine.spans(list(ingest.iter_traces(data)), time.perf_counter())
        except IngestError as error:
            self.refused(error.reason)
            _log.warning("spans on a stream were not taken", extra={"reason": str(error)})

    def took_large(self) -> bool:
        """Whether a request has come since the last time of asking that leaves a hole in memory."""
        large, self._took_large = self._took_large, False
        return large

    async def _judge(
        self, data: bytes, read: Callable[[bytes], Iterator[Item]], judge: Callable[[list[Item]], None], json: bool
    ) -> None:
        self._took_large |= len(data) >= _HUGE
        try:
            if len(data) > self._limit:
                raise IngestError("too_large", "", f"{len(data)} bytes, at most {self._limit} are taken")
            if len(data) < _LARGE:
                judge(list(read(data)))
                # answers to holds go out before ours to whoever sent the spans
                await asyncio.sleep(_COMMIT_S if self._engine.later.committing else 0)
                return
            async with self._large:
                if json:
                    slices = await asyncio.to_thread(_begun, read(data))
                elif len(data) < _HUGE:  # parsing it at once takes a millisecond
                    slices = _begun(read(data), min(_PART, self._chunk))
                else:
                    slices = _slices(data, read, min(_PART, self._chunk))
                await self._in_slices(slices, judge)
        except IngestError as error:
            self.refused(error.reason)
            raise

    async def _in_slices(self, slices: Iterator[list[Item]], judge: Callable[[list[Item]], None]) -> None:
        """Judge a few at a time; after each slice others get a moment.

        A moment, not one turn of the loop: an answer to a hold takes several, and would wait for a slice at each.
        """
        turn, judged = time.perf_counter(), 0
        for part in slices:
            if part:
                judge(part)
            judged += len(part)
            if judged >= self._chunk or time.perf_counter() - turn >= _TURN_S:
                await asyncio.sleep(_MOMENT_S)
                turn, judged = time.perf_counter(), 0

    def refused(self, reason: str) -> None:
        """Count a request that was not taken."""
        self._took_large |= reason == "too_large"
        self._metrics.rejected.add(reason)

    # ---------------------------------------------------------------------------------------------------------- gRPC

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        """For :meth:`grpc.aio.Server.add_generic_rpc_handlers`. Requests stay bytes: we decode them ourselves."""
        return (
            _unary(TRACE_SERVICE, lambda data, context: self._export(self.traces, data, context)),
            _unary(LOGS_SERVICE, lambda data, context: self._export(self.logs, data, context)),
        )

    async def _export(self, take: Callable[[bytes], Awaitable[None]], data: bytes, context: Context) -> bytes:
        try:
            await take(data)
        except IngestError as error:
            code = (
                grpc.StatusCode.RESOURCE_EXHAUSTED if error.reason == "too_large" else grpc.StatusCode.INVALID_ARGUMENT
            )
            await context.abort(code, str(error))
        return b""  # an empty response: everything was taken


def _slices(data: bytes, read: Callable[[bytes], Iterator[Item]], size: int) -> Iterator[list[Item]]:
    """Items of a large request, decoded a few at a time; those that somebody waits for first."""
    someone_waits = _HELD in data
    later: list[bytes] = []
    try:
        for part in wire.split(data, size):
            if someone_waits and part and _HELD not in part:
                later.append(part)
                part = b""
            yield list(read(part)) if part else []
        for part in later:
            yield list(read(part))
    except wire.WireError:
        # let the real decoder say what is wrong; what it finds right has been judged, and is known when it comes again
        yield from _begun(read(data), size)


def _begun(items: Iterator[Item], size: int = _PART) -> Iterator[list[Item]]:
    """The same items in slices, the first one read: in that lies the work that cannot be divided."""
    first = list(islice(items, size))

    def slices() -> Iterator[list[Item]]:
        part = first
        while part:
            yield part
            part = list(islice(items, size))

    return slices()


def _unary(service: str, export: Callable[[bytes, Context], Awaitable[bytes]]) -> grpc.GenericRpcHandler:
    async def handle(data: bytes, context: Context) -> bytes:
        return await export(data, context)

    return grpc.method_handlers_generic_handler(service, {"Export": grpc.unary_unary_rpc_method_handler(handle)})


def _counted(prefix: str) -> dict[Labels, float]:
    return {
        (reason.removeprefix(prefix),): float(count)
        for reason, count in list(ingest.COUNTERS.items())
        if reason.startswith(prefix)
    }
