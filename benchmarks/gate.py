"""A tool call through the gate against a bare SDK span that sets the same attributes at the same moments."""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from benchmarks.process import python

ROUNDS = 150
CALLS = 20
QUIET_S = 0.03
"""Between rounds: spans are sent in the background within 10 ms, and that shall not be timed with the next calls."""
RESULT = json.dumps({"orders": [{"id": f"A-{n}", "status": "shipped", "total": 10 + n} for n in range(8)], "page": 0})
numbers = itertools.count(10_000)


def look_up(customer: str, limit: int = 8) -> str:
    """The tool: nothing but an answer, each time another one, for the detector would stop a loop."""
    return f"{RESULT[:-2]}{next(numbers)}}}"


def measure() -> dict[str, float]:
    """Microseconds a call: medians of interleaved rounds, and the median of the differences of pairs."""
    with tempfile.TemporaryDirectory() as folder, python("-m", "benchmarks.detector", folder) as (_, line):
        return _measure(line.split()[0])


def _measure(port: str) -> dict[str, float]:
    import spanward
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON
    from spanward.runtime import runtime

    spanward.instrument_agent(endpoint=f"127.0.0.1:{port}", hold="never", http=False, capture_content=False)
    gated = spanward.tool(side_effect="read", name="look_up")(look_up)
    active = runtime()
    assert active is not None

    # What the gate sets, and when, is taken from the gate itself.
    at_start: dict[str, Any] = {}
    ended: dict[str, Any] = {}
    start, end = active.spans.start, active.spans.end

    def watch_start(name: str, kind: Any, attributes: Any, *more: Any, **named: Any) -> Any:
        at_start.update(attributes)
        return start(name, kind, attributes, *more, **named)

    def watch_end(span: Any, **named: Any) -> None:
        ended.update(span.attributes)
        end(span, **named)

    class Keep(SpanProcessor):
        """The cheapest processor that keeps what it gets."""

        def __init__(self) -> None:
            self.spans: deque[Any] = deque(maxlen=1000)

        def on_end(self, span: Any) -> None:
            self.spans.append(span)

    provider = TracerProvider(sampler=ALWAYS_ON)
    provider.add_span_processor(Keep())
    tracer = provider.get_tracer("bench")
    with spanward.run("bench"):
        assert active.client is not None
        active.client.wait_connected(10)
        active.spans.start, active.spans.end = watch_start, watch_end  # type: ignore[method-assign, assignment]
        gated("c-0", 8)
        active.spans.start, active.spans.end = start, end  # type: ignore[method-assign]
        at_end = {key: value for key, value in ended.items() if key not in at_start}

        def bare() -> None:
            span = tracer.start_span("execute_tool look_up", attributes=dict(at_start))
            look_up(f"c-{next(numbers)}", 8)
            span.set_attributes(at_end)
            span.end()

        bare_us, gated_us = [], []
        for n in range(ROUNDS + 5):
            time.sleep(QUIET_S)
            pair = (_mean_us(bare), _mean_us(lambda: gated(f"c-{next(numbers)}", 8)))
            if n >= 5:
                bare_us.append(pair[0])
                gated_us.append(pair[1])
    spanward.shutdown()
    return {
        "bare_span": round(statistics.median(bare_us), 2),
        "gated": round(statistics.median(gated_us), 2),
        "added": round(statistics.median(g - b for b, g in zip(bare_us, gated_us, strict=True)), 2),
        "attributes": len(at_start) + len(at_end),
    }


def _mean_us(call: Callable[[], object]) -> float:
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3
