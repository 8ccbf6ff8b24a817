"""A second policy beside the live one: it is shown the same telemetry, and orders nothing."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from spanward_detector.model import Finding, SpanRef, Tick
from spanward_detector.pipeline import Pipeline, Verdict
from spanward_detector.policy import Policy
from spanward_detector.runs import Run

if TYPE_CHECKING:
    from spanward_detector.control.codec import AgentRun
    from spanward_detector.ingest import RawLog, RawSpan

_log = logging.getLogger(__name__)

Key = tuple[str, str, SpanRef]
"""Rule, failure type, span."""

WAITING: Final = 10_000
"""Pieces of telemetry that may wait for the shadow; what comes on top is not shown to it, and counted."""


class Shadow:
    """Judges what the live pipeline judges, after it, with memory and thresholds of its own.

    Its directives are counted and go nowhere. What it raises is logged and counted, and stops nothing.

    Args:
        policy: that is tried.

    Attributes:
        findings: that stand, by run.
        counters: ``directives``, ``errors``, ``skipped``.
    """

    def __init__(self, policy: Policy) -> None:
        self.pipeline = Pipeline(policy)
        self.pipeline.runs.forgotten = self._forget
        self.findings: dict[str, dict[Key, Finding]] = {}
        self.counters: Counter[str] = Counter()

    def show(self, judge: Callable[[Pipeline], Iterable[Verdict]]) -> None:
        """Let it judge something.

        Args:
            judge: calls the pipeline that it is given.
        """
        try:
            for verdict in judge(self.pipeline):
                self._note(verdict)
        except Exception:
            self.counters["errors"] += 1
            _log.exception("the shadow policy could not judge")

    def _note(self, verdict: Verdict) -> None:
        found = self.findings.setdefault(verdict.run.id, {})
        for finding in verdict.withdrawn:
            found.pop(finding.key, None)
        for finding in verdict.findings:
            found[finding.key] = finding
        self.counters["directives"] += verdict.directive is not None

    def _forget(self, run: Run) -> None:
        self.findings.pop(run.id, None)


class Shadowed:
    """The live pipeline with a shadow behind it. It is used in place of the pipeline, and answers as that does.

    The shadow is shown everything once the event loop is free, so that no hold waits for it; without a loop, at once.

    Args:
        live: its verdicts are returned.
        shadow: sees the same.
    """

    def __init__(self, live: Pipeline, shadow: Shadow) -> None:
        self.live = live
        self.shadow = shadow
        self._waiting: deque[Callable[[Pipeline], Iterable[Verdict]]] = deque()

    @property
    def policy(self) -> Policy:
        """The live one."""
        return self.live.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self.live.policy = policy

    def spans(self, spans: Iterable[RawSpan]) -> list[Verdict]:
        """See :meth:`Pipeline.spans`."""
        own = list(spans)
        verdicts = self.live.spans(own)
        self._later(lambda pipeline: pipeline.spans(own))
        return verdicts

    def logs(self, logs: Iterable[RawLog]) -> list[Verdict]:
        """See :meth:`Pipeline.logs`."""
        own = list(logs)
        verdicts = self.live.logs(own)
        self._later(lambda pipeline: pipeline.logs(own))
        return verdicts

    def tick(self, run_id: str, tick: Tick) -> Verdict | None:
        """See :meth:`Pipeline.tick`."""
        verdict = self.live.tick(run_id, tick)
        self._later(lambda pipeline: _one(pipeline.tick(run_id, tick)))
        return verdict

    def settle(self, run_id: str) -> Verdict | None:
        """See :meth:`Pipeline.settle`."""
        verdict = self.live.settle(run_id)
        self._later(lambda pipeline: _one(pipeline.settle(run_id)))
        return verdict

    def find(self, run_id: str) -> Run | None:
        """See :meth:`Pipeline.find`."""
        return self.live.find(run_id)

    def register(self, told: AgentRun) -> Run:
        """See :meth:`Pipeline.register`."""
        run = self.live.register(told)
        self._later(lambda pipeline: _nothing(pipeline.register(told)))
        return run

    def tally(self) -> Mapping[tuple[str, str], float]:
        """Findings of the runs in memory by rule and by who has them: "both", "live" or "shadow"."""
        counted: Counter[tuple[str, str]] = Counter()
        for run in self.live.runs:
            mine = {finding.key for finding in run.findings()}
            its = set(self.shadow.findings.get(run.id, ()))
            for keys, whose in ((mine & its, "both"), (mine - its, "live"), (its - mine, "shadow")):
                counted.update((rule, whose) for rule, _, _ in keys)
        return dict(counted)

    def catch_up(self) -> None:
        """Show the shadow everything that waits."""
        while self._waiting:
            self.shadow.show(self._waiting.popleft())

    def _later(self, judge: Callable[[Pipeline], Iterable[Verdict]]) -> None:
        if len(self._waiting) >= WAITING:
            self.shadow.counters["skipped"] += 1
            return
        self._waiting.append(judge)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.catch_up()
        else:
            loop.call_soon(self._next)

    def _next(self) -> None:
        if self._waiting:
            self.shadow.show(self._waiting.popleft())


def _one(verdict: Verdict | None) -> Sequence[Verdict]:
    return () if verdict is None else (verdict,)


def _nothing(_run: Run) -> Sequence[Verdict]:
    return ()
