"""Circuit breakers of tools across all runs: what counts, when one opens, and when a probe may go.

Two parts. :class:`Fleet` counts failures by the steps alone, so that replay counts as live did. :class:`Breakers` keeps
the time of those that are open, and says what the gates have to be told.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.outcome import Outcome

Phase = Literal["closed", "open", "half_open"]

_REMEMBERED: Final = 4096
_TOOLS: Final = 1024
_FORGOTTEN_NS: Final = 300_000_000_000
"""Failures further apart than this are no row."""
_NO_ANSWER: Final = ("connect", "network", "gaierror", "unreachable", "unavailable", "socket", "resolution", "ssl")
"""Parts of an exception's class (lower case) that say that a service was not reached. A missing file is none."""


def of_environment(step: Step, outcome: Outcome) -> bool:
    """Whether a failure says that the tool's service is out, and not that the call was wrong."""
    if outcome.type in ("timeout", "hung", "rate_limited"):
        return True
    if outcome.type == "http_error":
        return outcome.status >= 500 or outcome.status == 0
    if outcome.type == "environment_error":
        unanswered = bool(step.http) and step.http[-1].status == 0
        return unanswered or any(part in step.error_type.lower() for part in _NO_ANSWER)
    return False


@dataclass(slots=True)
class _Row:
    count: int = 0
    last_ns: int = 0


class Fleet:
    """Failures in a row by tool, over all runs. Each span counts once, however often its run is told over.

    Args:
        failures: in a row that open a breaker; 0 = none ever opens.
    """

    def __init__(self, failures: int = 5) -> None:
        self.failures = failures
        self._rows: dict[str, _Row] = {}
        self._counted: OrderedDict[SpanRef, int] = OrderedDict()

    def take(self, step: Step, outcome: Outcome) -> None:
        """A tool call has ended."""
        row = self._rows.get(step.action)
        if not outcome.type:
            if row is not None and step.start_ns >= row.last_ns and not (step.extra and step.extra.get("refused")):
                del self._rows[step.action]
            return
        if step.ref in self._counted or not self.failures or not of_environment(step, outcome):
            return
        if row is None:
            row = self._rows[step.action] = _Row()
            if len(self._rows) > _TOOLS:
                del self._rows[next(iter(self._rows))]
        elif step.end_ns - row.last_ns > _FORGOTTEN_NS:
            row.count = 0
        row.count += 1
        row.last_ns = max(row.last_ns, step.end_ns)
        trips = row.count % self.failures == 0
        self._counted[step.ref] = row.count if trips else 0
        if len(self._counted) > _REMEMBERED:
            self._counted.popitem(last=False)

    @property
    def troubled(self) -> bool:
        """Some tool has failed last."""
        return bool(self._rows)

    def tripped(self, ref: SpanRef) -> int:
        """Failures in a row when this step's was the one that opens the breaker; else 0."""
        return self._counted.get(ref, 0)


NO_FLEET: Final = Fleet(0)


class Signal(NamedTuple):
    """What gates have to be told of a tool.

    Attributes:
        open_for_s: how long calls are refused, where it is open.
        run_id: only the gate of this run is meant: it makes the probe; "" = all.
    """

    tool: str
    phase: Phase
    open_for_s: float = 0.0
    run_id: str = ""


@dataclass(slots=True)
class _Open:
    until: float
    runs: OrderedDict[str, None]
    probing: bool = False


class Breakers:
    """Those that are not closed. One probe goes when the time is over; it closes the breaker, or opens it again.

    Args:
        open_s: how long a breaker stays open before a probe.
        clock: monotonic seconds.
    """

    def __init__(self, open_s: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.open_s = open_s
        self._clock = clock
        self._open: dict[str, _Open] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, tool: str) -> bool:
        return tool in self._open

    def phase(self, tool: str) -> Phase:
        """Where the breaker of a tool is."""
        state = self._open.get(tool)
        return "closed" if state is None else "half_open" if state.probing else "open"

    def trip(self, tool: str, run_id: str) -> list[Signal]:
        """The fleet says that the tool is out; ``run_id`` is one that calls it."""
        state = self._open.get(tool)
        runs = state.runs if state is not None else OrderedDict()
        runs[run_id] = None
        self._open[tool] = _Open(self._clock() + self.open_s, runs)
        return [self._told(tool)]

    def ended(self, step: Step, outcome: Outcome) -> list[Signal]:
        """A call of a tool whose breaker is not closed has ended; how it ended decides when it was the probe."""
        state = self._open.get(step.action)
        if state is None or step.kind is not Kind.TOOL:
            return []
        if step.extra and step.extra.get("refused"):
            state.runs[step.run_id] = None
            state.runs.move_to_end(step.run_id)
            while len(state.runs) > _TOOLS:
                state.runs.popitem(last=False)
            return []
        if not outcome.type and state.probing:
            del self._open[step.action]
            return [Signal(step.action, "closed")]
        if state.probing and of_environment(step, outcome):
            return self.trip(step.action, step.run_id)
        return []

    def due(self, alive: Callable[[str], bool]) -> list[Signal]:
        """Time has passed: what becomes half-open.

        Args:
            alive: whether the gate of a run can be spoken to.
        """
        now = self._clock()
        signals: list[Signal] = []
        for tool, state in list(self._open.items()):
            if now < state.until:
                continue
            run_id = next((run for run in reversed(state.runs) if alive(run)), "")
            state.probing = True
            state.until = now + self.open_s  # a probe that nobody makes in this time is another's to make
            state.runs = OrderedDict((run, None) for run in state.runs if alive(run))
            if run_id:
                state.runs.move_to_end(run_id, last=False)  # next time it is another one's turn
                signals.append(Signal(tool, "open", self.open_s))
            signals.append(Signal(tool, "half_open", run_id=run_id))
        return signals

    def current(self) -> Iterable[Signal]:
        """What a gate has to know that has just come."""
        return [self._told(tool) for tool in self._open]

    def _told(self, tool: str) -> Signal:
        return Signal(tool, "open", max(0.0, self._open[tool].until - self._clock()))
