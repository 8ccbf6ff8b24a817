"""What a step costs in a long run, beside what it costs in a short one."""

from __future__ import annotations

import gc
import statistics
import time
from typing import Any

from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import default

from benchmarks.steps import healthy

LENGTHS = (10, 10_000)
STEPS = 200
ROUNDS = 15


def measure() -> dict[str, Any]:
    """Median microseconds of one whole step (run state, detectors, policy) at each length of history."""
    long = Pipeline(default())
    for step in healthy(LENGTHS[1], run_id="long"):
        long.step(step)
    times: dict[int, list[float]] = {length: [] for length in LENGTHS}
    gc.disable()  # a collection falls on whichever step is at hand
    try:
        for n in range(ROUNDS):
            short = []
            for _ in range(STEPS // 10):  # runs that stay around ten steps long
                pipeline = Pipeline(default())
                for step in healthy(LENGTHS[0]):
                    pipeline.step(step)
                short.append(_cost(pipeline, list(healthy(10, LENGTHS[0], "bench"))))
            times[LENGTHS[0]].append(statistics.median(short))
            steps = list(healthy(STEPS, LENGTHS[1] + n * STEPS, "long"))
            times[LENGTHS[1]].append(statistics.median(_cost(long, steps[at : at + 10]) for at in range(0, STEPS, 10)))
            gc.collect()
    finally:
        gc.enable()
    at_10, at_10000 = (statistics.median(times[length]) for length in LENGTHS)
    return {
        "step_us_at_10": round(at_10, 2),
        "step_us_at_10000": round(at_10000, 2),
        "ratio": round(at_10000 / at_10, 3),
    }


def _cost(pipeline: Pipeline, steps: list[Any]) -> float:
    begin = time.perf_counter_ns()
    for step in steps:
        pipeline.step(step)
    return (time.perf_counter_ns() - begin) / len(steps) / 1e3
