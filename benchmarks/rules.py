"""All detectors on one healthy tool step, content off."""

from __future__ import annotations

import statistics
import time

from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import default

from benchmarks.steps import healthy

STEPS = 400
ROUNDS = 15


def measure() -> float:
    """Median microseconds a step, detectors only."""
    times = []
    for _ in range(ROUNDS):
        pipeline = Pipeline(default())
        run = None
        spent = 0
        for step in healthy(STEPS):
            # The step is taken in as it always is; then the detectors look at it once more, alone on the clock.
            run = pipeline.step(step).run
            begin = time.perf_counter_ns()
            for detector in pipeline.detectors.for_kind(step.kind, run.outcome):
                detector.observe(step, run)
            spent += time.perf_counter_ns() - begin
        times.append(spent / STEPS / 1e3)
    return round(statistics.median(times), 2)
