"""The agent's side of the loop: ``gated`` with the real gate, ``bare`` with nothing but one span and one stream."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import Any

GAP_S = 0.01
TOOL_S = 0.002
"""What the failing tool takes, so that the opening of the run and of the call are not measured with its failure."""
WARM = 50


def summary(times_ms: list[float], lost: int) -> dict[str, Any]:
    """Percentiles by rank."""
    ordered = sorted(times_ms)
    rank = lambda share: round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 3)  # noqa: E731
    return {
        "p50_ms": rank(0.5),
        "p90_ms": rank(0.9),
        "p99_ms": rank(0.99),
        "max_ms": rank(1),
        "n": len(ordered),
        "lost": lost,
    }


def gated(rounds: int, control: str, spans: str) -> dict[str, Any]:
    """From the tool's return (it raises) to the gate's return (with feedback in place of the exception)."""
    import spanward

    spanward.instrument_agent(
        endpoint=f"127.0.0.1:{control}", spans_endpoint=f"127.0.0.1:{spans}", hold_max_ms=1000, hold_min_ms=1000
    )
    failed_at = 0.0

    @spanward.tool(side_effect="write")
    def book(room: str) -> str:
        nonlocal failed_at
        time.sleep(TOOL_S)
        failed_at = time.perf_counter()
        raise RuntimeError(f"room {room} is not free")

    times, lost = [], 0
    for n in range(rounds + WARM):
        with spanward.run("bench"):
            try:
                book(f"r{n}")
            except RuntimeError:
                lost += n >= WARM  # the verdict did not come in time: the failure went through as it was
            else:
                if n >= WARM:
                    times.append((time.perf_counter() - failed_at) * 1e3)
        time.sleep(GAP_S - TOOL_S)
    spanward.shutdown()
    return summary(times, lost)


def bare(rounds: int, control: str, spans: str) -> dict[str, Any]:
    """From the call of Export to the answer's arrival at the agent's thread."""
    import grpc
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    arrived: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
    stream = grpc.insecure_channel(f"127.0.0.1:{control}").stream_stream("/bare/Connect")(iter(outgoing.get, None))
    outgoing.put(b"hello")
    stream.initial_metadata()
    threading.Thread(target=lambda: [arrived.put((time.perf_counter(), m)) for m in stream], daemon=True).start()
    export = grpc.insecure_channel(f"127.0.0.1:{spans}").unary_unary(
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        request_serializer=ExportTraceServiceRequest.SerializeToString,
    )
    times, lost = [], 0
    for n in range(rounds + WARM):
        span_id = os.urandom(8)
        request = ExportTraceServiceRequest()
        span = (
            request.resource_spans.add()
            .scope_spans.add()
            .spans.add(span_id=span_id, trace_id=os.urandom(16), name="execute_tool book")
        )
        span.start_time_unix_nano = span.end_time_unix_nano = time.time_ns()
        for k in range(14):
            span.attributes.add(key=f"key.{k}").value.string_value = "v" * 40
        start = time.perf_counter()
        pending = export.future(request)
        try:
            while True:
                at, message = arrived.get(timeout=2)
                if message == span_id:
                    break
            if n >= WARM:
                times.append((at - start) * 1e3)
        except queue.Empty:
            lost += 1
        pending.result()
        time.sleep(GAP_S)
    return summary(times, lost)


if __name__ == "__main__":
    mode, rounds, control, spans = sys.argv[1:]
    print(json.dumps({"gated": gated, "bare": bare}[mode](int(rounds), control, spans)), flush=True)
    os._exit(0)  # the bare stream's thread would wait for ever
