"""The course of every run that is known, and whom each move is told: store, metrics, trace, gate."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from spanward_detector import emit, log
from spanward_detector.control import codec
from spanward_detector.control.outgoing import Outbound
from spanward_detector.control.session import Sessions
from spanward_detector.emit import Emitter
from spanward_detector.metrics import Metrics
from spanward_detector.run_lifecycle import Life, Move
from spanward_detector.states import OPEN, State
from spanward_detector.store import Store
from spanward_detector.store.base import Record
from spanward_detector.store.records import run_row, transition_rows

_log = logging.getLogger(__name__)

_MAX_UNTOLD: Final = 8


class RunBook:
    """Lives of runs by id, the least recently used forgotten first.

    Args:
        store: where runs and their moves are kept.
        sessions: the streams, to tell gates of moves.
        metrics: what is counted.
        emitter: what goes into the trace.
        limit: runs in memory.
        now_ns: wall clock.
    """

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        metrics: Metrics,
        emitter: Emitter,
        *,
        limit: int = 10_000,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.now_ns = now_ns
        self._store = store
        self._sessions = sessions
        self._metrics = metrics
        self._emitter = emitter
        self._limit = limit
        self._lives: OrderedDict[str, Life] = OrderedDict()
        self._touched: dict[str, Life] = {}
        self._untold: dict[str, list[Move]] = {}  # moves of runs of which no span has come yet

    def __iter__(self) -> Iterator[Life]:
        return iter(list(self._lives.values()))

    def __len__(self) -> int:
        return len(self._lives)

    def find(self, run_id: str) -> Life | None:
        """A run that is in memory."""
        return self._lives.get(run_id)

    def life(self, run_id: str) -> Life:
        """The run; a new one when it is not known."""
        life = self._lives.get(run_id)
        if life is None:
            life = self._lives[run_id] = Life(run_id)
            if len(self._lives) > self._limit:
                self._forget_one()
        else:
            self._lives.move_to_end(run_id)
        return life

    def drop(self, run_id: str) -> None:
        """The run has become part of another one."""
        self._lives.pop(run_id, None)
        self._touched.pop(run_id, None)
        self._untold.pop(run_id, None)

    def restore(self, records: Iterable[Record]) -> list[Life]:
        """Take up the runs that were open when an earlier process ended."""
        lives = []
        for record in records:
            state = State(str(record["state"]))
            if state not in OPEN:
                continue
            traces = record["trace_ids"]
            life = self.life(str(record["run_id"]))
            life.agent, life.service = str(record["agent"]), str(record["service"])
            life.conversation_id, life.instance_id = str(record["conversation_id"]), str(record["instance_id"])
            life.state, life.end_reason = state, str(record["end_reason"])
            life.started_ns, life.ended_ns = int(str(record["started_ns"])), int(str(record["ended_ns"]))
            life.updated_ns = int(str(record["updated_ns"]))
            life.steps_told, life.findings = int(str(record["steps"])), int(str(record["findings"]))
            life.trace_ids = dict.fromkeys(map(str, traces)) if isinstance(traces, list) else {}
            lives.append(life)
        return lives

    def touch(self, life: Life) -> None:
        """The run's row is to be written again."""
        self._touched[life.run_id] = life

    def moved(self, life: Life, moves: list[Move]) -> None:
        """Tell everybody who has to know."""
        if not moves:
            return
        self.touch(life)
        for row in transition_rows(moves):
            self._store.put(row)
        session = self._sessions.of_run(life.run_id) or self._sessions.of_instance(life.instance_id)
        for move in moves:
            if move.to_state not in OPEN:
                self._metrics.runs_ended.add(move.to_state.value)
            if session is not None:
                message = codec.transition(move.run_id, move.from_state, move.to_state, move.reason)
                session.outgoing.offer(Outbound(message, "state", key=f"run {move.run_id}"))
            trace_id = next(iter(life.trace_ids), "")
            _log.info("run moved", extra=log.ids(trace_id, "", move.run_id, to=move.to_state.value, reason=move.reason))
        self._untold.setdefault(life.run_id, []).extend(moves[-_MAX_UNTOLD:])
        self.tell(life)

    def tell(self, life: Life) -> None:
        """Put moves into the trace, once there is a span that they can hang from."""
        if life.last_ref is not None and (moves := self._untold.pop(life.run_id, None)) is not None:
            for move in moves[:_MAX_UNTOLD]:
                self._emitter.emit(emit.transition_span(life, move, life.last_ref))

    def write(self) -> None:
        """Queue the rows of the runs that changed."""
        touched, self._touched = self._touched, {}
        for life in touched.values():
            self._store.put(run_row(life))

    def _forget_one(self) -> None:
        """The oldest run that is over; the oldest of all when none is."""
        victim = next((run_id for run_id, life in self._lives.items() if life.state not in OPEN), None)
        run_id, life = (victim, self._lives.pop(victim)) if victim is not None else self._lives.popitem(last=False)
        if self._touched.pop(run_id, None) is not None:
            self._store.put(run_row(life))
        self._untold.pop(run_id, None)
