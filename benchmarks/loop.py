"""A failing tool returns → the directive is applied, through the real Collector and straight, beside the bare loop.

The bare loop is one span by OTLP/gRPC → (Collector →) a server that decodes it and answers on a bidirectional stream →
the agent's thread: no rule, no store, no gate.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.process import python
from scripts.stack import collector, jaeger


def measure(rounds: int = 1000) -> dict[str, Any]:
    """Percentiles in ms for the four loops."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, jaeger() as jaeger_:
        with python("-m", "benchmarks.detector", folder + "/a") as (_, line):
            port = line.split()[0]
            figures["embedded"] = _agent("gated", rounds, port, port)
            with collector(detector_grpc=f"127.0.0.1:{port}", jaeger_otlp=jaeger_.otlp_grpc) as collector_:
                figures["collector"] = _agent("gated", rounds, port, _port(collector_.otlp_steps))
        with _bare() as port:
            figures["bare_bidi"] = _agent("bare", rounds, port, port)
            with collector(detector_grpc=f"127.0.0.1:{port}", jaeger_otlp=jaeger_.otlp_grpc) as collector_:
                figures["bare_collector"] = _agent("bare", rounds, port, _port(collector_.otlp_steps))
    return {name: figures[name] for name in ("collector", "embedded", "bare_collector", "bare_bidi")}


@contextmanager
def _bare() -> Iterator[str]:
    with python("-m", "benchmarks.bare_server", "loop") as (_, port):
        yield port


def _port(address: str) -> str:
    return address.rsplit(":", 1)[1]


def _agent(mode: str, rounds: int, control: str, spans: str) -> dict[str, Any]:
    """The agent as a process of its own, as it is in life."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.agent", mode, str(rounds), control, spans],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the {mode} agent failed: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))
