"""Spans per second and core: the whole detector against a handler that does nothing and against the usual walk."""

from __future__ import annotations

import statistics
import tempfile
from typing import Any

import grpc

from benchmarks.process import cpu_seconds, python
from benchmarks.spans import batch

BATCH = 100
BATCHES = 100
ROUNDS = 5
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def measure() -> dict[str, Any]:
    """Medians over interleaved rounds; the ratio is that of the medians."""
    with (
        tempfile.TemporaryDirectory() as folder,
        python("-m", "benchmarks.bare_server", "noop") as (noop, noop_port),
        python("-m", "benchmarks.bare_server", "walk") as (walk, walk_port),
        python("-m", "benchmarks.detector", folder) as (detector, line),
    ):
        servers = {
            "noop": (noop.pid, int(noop_port)),
            "walk": (walk.pid, int(walk_port)),
            "detector": (detector.pid, int(line.split()[0])),
        }
        speed: dict[str, list[float]] = {name: [] for name in (*servers, "foreign")}
        for n in range(ROUNDS + 1):
            # New spans each round: a repeated span would be dropped as a duplicate and cost nothing.
            batches = [batch(BATCH, seed=n * BATCHES + b) for b in range(BATCHES)]
            other = [batch(BATCH, seed=10**6 + n * BATCHES + b, foreign=True) for b in range(BATCHES)]
            for name, server, sent in (*((name, name, batches) for name in servers), ("foreign", "detector", other)):
                figure = _spans_per_core_second(*servers[server], sent)
                if n:  # the first round warms up
                    speed[name].append(figure)
        middle = {name: statistics.median(figures) for name, figures in speed.items()}
    return {
        "spans_per_core_s": round(middle["detector"]),
        "noop_spans_per_core_s": round(middle["noop"]),
        "ratio": round(middle["detector"] / middle["noop"], 3),
        "walk_spans_per_core_s": round(middle["walk"]),
        "ratio_to_walk": round(middle["detector"] / middle["walk"], 3),
        "foreign_spans_per_core_s": round(middle["foreign"]),
    }


def _spans_per_core_second(pid: int, port: int, batches: list[bytes]) -> float:
    options = [("grpc.enable_http_proxy", 0), ("grpc.max_send_message_length", 17 << 20)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        export = channel.unary_unary(EXPORT)
        export(batches[0][:0])  # connect outside the measurement
        before = cpu_seconds(pid)
        for data in batches:
            export(data)
        return len(batches) * BATCH / (cpu_seconds(pid) - before)
