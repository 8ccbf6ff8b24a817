"""Findings that are made beside the pipeline are written down: they pass no policy and move no run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanward_detector.emit import finding_span
from spanward_detector.model import Finding
from spanward_detector.store.records import finding_row

if TYPE_CHECKING:
    from spanward_detector.emit import Emitter
    from spanward_detector.engine import Engine
    from spanward_detector.metrics import Metrics
    from spanward_detector.store import Store


class Notes:
    """Puts them where other findings are, in store, metrics and trace. The event loop's thread uses it.

    Args:
        engine: knows the runs.
        store: open.
        metrics: what is counted.
        emitter: what goes into the trace.
    """

    def __init__(self, engine: Engine, store: Store, metrics: Metrics, emitter: Emitter) -> None:
        self._engine = engine
        self._store = store
        self._metrics = metrics
        self._emitter = emitter

    def found(self, run_id: str, finding: Finding) -> None:
        """Something was found."""
        life, now = self._engine.runs.life(run_id), time.time_ns()
        life.findings += 1
        self._engine.runs.touch(life)
        self._store.put(finding_row(run_id, finding, now, self._engine.pipeline.policy.version))
        self._metrics.findings.add(
            finding.rule, finding.failure_type, finding.severity, finding.mode, trace_id=finding.ref.trace_id
        )
        self._emitter.emit(finding_span(life, finding, now))

    def withdrawn(self, run_id: str, finding: Finding) -> None:
        """It does not hold any more."""
        life, now = self._engine.runs.life(run_id), time.time_ns()
        life.findings = max(0, life.findings - 1)
        self._engine.runs.touch(life)
        self._metrics.withdrawn.add(finding.rule)
        self._store.put(finding_row(run_id, finding, now, self._engine.pipeline.policy.version, withdrawn=True))
