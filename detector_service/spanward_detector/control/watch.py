"""Heartbeats, and their absence, as ticks of the runs that they are about.

A heartbeat proves that the process lives, not that it gets anywhere: what it says of its runs and calls does. When it
is missing, time goes on all the same, until the process comes back or is given up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from spanward_detector.control.codec import Progress
from spanward_detector.control.session import Session
from spanward_detector.engine import Engine
from spanward_detector.metrics import Labels, Metrics
from spanward_detector.model import InFlight, Tick

_FORGET_S = 600.0


@dataclass(slots=True)
class Lost:
    """A process whose stream has ended.

    Attributes:
        runs: its open runs.
        heard_at: monotonic seconds of its last message.
        lost_at: of the end of its stream.
        over: it said goodbye: it will not come back.
    """

    runs: set[str]
    heard_at: float
    lost_at: float
    over: bool


class Watch:
    """Lets time pass for every run that a stream has registered.

    Args:
        engine: that is told.
        metrics: what is counted.
        silent_s: without a message for this long an agent is not heard.
        gone_s: after this long without a stream its process is given up.
        monotonic: clock.
        now_ns: wall clock.
    """

    def __init__(
        self,
        engine: Engine,
        metrics: Metrics,
        *,
        silent_s: float,
        gone_s: float,
        monotonic: Callable[[], float] = time.monotonic,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._engine = engine
        self._metrics = metrics
        self._silent_s = silent_s
        self._gone_s = gone_s
        self._monotonic = monotonic
        self._now_ns = now_ns
        self._lost: dict[str, Lost] = {}

    def heartbeat(
        self,
        session: Session,
        runs: Iterable[Progress],
        in_flight: dict[str, tuple[InFlight, ...]],
        counters: Mapping[str, int],
    ) -> None:
        """An agent tells of its runs and of its calls in flight."""
        session.in_flight = {run_id: calls for run_id, calls in in_flight.items() if run_id in session.runs}
        self._count(session, counters)
        for progress in runs:
            if progress.run_id in session.runs:
                calls = session.in_flight.get(progress.run_id, ())
                tick = Tick(self._now_ns(), calls, progress.idle_ms, 0, True, progress.stack)
                self._engine.tick(progress.run_id, tick)

    def _count(self, session: Session, counters: Mapping[str, int]) -> None:
        """The gate's counters only grow, and start again with its process: add what is new."""
        for reason, value in counters.items():
            if (new := value - session.told.get(reason, 0)) > 0:
                if reason == "spans_dropped":
                    self._metrics.agent_spans_dropped.add(n=new)
                else:
                    self._metrics.fail_open.add(reason, n=new)
        session.told = dict(counters)

    # -------------------------------------------------------------------------------------------- streams come and go

    def connected(self, session: Session, runs: Iterable[str]) -> None:
        """A process is back. Its runs that it does not name any more ended while nobody looked."""
        lost = self._lost.pop(session.instance_id, None)
        if lost is not None:
            for run_id in lost.runs.difference(runs):
                self._engine.run_unseen(run_id, "ended_unseen")

    def disconnected(self, session: Session) -> None:
        """A stream has ended, for whatever reason."""
        now = self._monotonic()
        over = session.said_goodbye == "shutdown"
        self._lost[session.instance_id] = Lost(set(session.runs), session.heard_at, now, over)
        if over:
            self._give_up(session.instance_id)

    def restored(self, run_id: str, instance_id: str) -> None:
        """A run that was open when an earlier process of ours ended: its own may still come back."""
        if instance_id:
            now = self._monotonic()
            self._lost.setdefault(instance_id, Lost(set(), now, now, over=False)).runs.add(run_id)

    def gone(self, instance_id: str) -> bool:
        """Whether a process will not come back."""
        if self._engine.sessions.of_instance(instance_id) is not None:
            return False
        lost = self._lost.get(instance_id)
        return lost is None or lost.over or self._monotonic() - lost.lost_at >= self._gone_s

    # ------------------------------------------------------------------------------------------------------- the clock

    def look(self) -> None:
        """Called now and then: runs whose agent is not heard get their tick from here."""
        now = self._monotonic()
        for session in self._engine.sessions:
            if now - session.heard_at > self._silent_s:
                self._miss(session.runs, session.in_flight, now - session.heard_at)
        for instance_id, lost in list(self._lost.items()):
            if not lost.over:
                self._miss(lost.runs, {}, now - lost.heard_at)
                if now - lost.lost_at >= self._gone_s:
                    self._give_up(instance_id)
            if now - lost.lost_at >= max(_FORGET_S, self._gone_s):
                del self._lost[instance_id]

    def _miss(self, runs: Iterable[str], in_flight: dict[str, tuple[InFlight, ...]], age_s: float) -> None:
        for run_id in list(runs):
            calls = tuple(call._replace(age_ms=call.age_ms + int(age_s * 1000)) for call in in_flight.get(run_id, ()))
            self._engine.tick(run_id, Tick(self._now_ns(), calls, None, int(age_s * 1000)))

    def _give_up(self, instance_id: str) -> None:
        """Nobody saw how its runs ended. Heartbeats that never came have been found by then."""
        lost = self._lost[instance_id]
        lost.over = True
        for run_id in lost.runs:
            self._engine.run_unseen(run_id, "process_gone")

    def ages(self) -> dict[Labels, float]:
        """Seconds of the oldest call in flight by agent and action."""
        oldest: dict[Labels, float] = {}
        now = self._monotonic()
        for session in self._engine.sessions:
            since = now - session.heard_at
            for run_id, calls in session.in_flight.items():
                run = session.runs.get(run_id)
                for call in calls:
                    key = (run.agent if run is not None else "", call.action)
                    oldest[key] = max(oldest.get(key, 0.0), call.age_ms / 1000 + since)
        return oldest
