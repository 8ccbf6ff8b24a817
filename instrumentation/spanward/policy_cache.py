"""What the gate knows without asking: how long to wait for a verdict, breakers, limits, epoch.

Pure but for a lock: clocks are injected, nothing here does I/O.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from spanward.facts.allow import Limit, first_forbidden, limits_of
from spanward.ports import BreakerPhase, Limits, PolicyUpdate

Clock = Callable[[], float]
WINDOW: Final = 64
"""Answered holds that the deadline is measured on."""
STRIKES: Final = 3
"""Timeouts in a row after which the gate stops holding."""
PROBE_FIRST_S: Final = 1.0
PROBE_LAST_S: Final = 30.0
MAX_ENTRIES: Final = 20_000
"""Entries of all lists of a policy together. One that has more is not taken."""


class Ticket(NamedTuple):
    """Leave to hold once, for ``timeout_s``. Hand it back by one of the three ends of :class:`HoldBudget`."""

    timeout_s: float
    started: float
    probe: bool


class HoldBudget:
    """Decides whether a hold may wait, and for how long.

    The deadline is 4 x the 99th percentile of the last 64 answered holds, within bounds. After three timeouts in a row
    holding is suspended and probed by single holds, 1 s apart at first, doubling to 30 s: only an answered hold re-arms
    it, because the stream can be well while the path of the spans is dead. Holds that overlap the last counted timeout
    belong to the same batch and count once.
    """

    def __init__(self, min_ms: float = 50.0, max_ms: float = 250.0, clock: Clock = time.monotonic) -> None:
        self._min_s = min_ms / 1000
        self._max_s = max_ms / 1000
        self._clock = clock
        self._lock = threading.Lock()
        self._waits: deque[float] = deque(maxlen=WINDOW)
        self._deadline_s = self._max_s
        self._strikes = 0
        self._last_strike = -math.inf
        self._probe_gap_s = 0.0  # 0: not suspended
        self._next_probe = 0.0
        self._probing = False

    @property
    def suspended(self) -> bool:
        """Holds are skipped, but for probes."""
        return self._probe_gap_s > 0

    @property
    def deadline_s(self) -> float:
        """How long the next hold may wait, seconds."""
        return self._deadline_s

    def ask(self) -> Ticket | None:
        """A ticket, or None while suspended and no probe is due."""
        now = self._clock()
        with self._lock:
            if not self._probe_gap_s:
                return Ticket(self._deadline_s, now, False)
            if self._probing or now < self._next_probe:
                return None
            self._probing = True
            return Ticket(self._deadline_s, now, True)

    def answered(self, ticket: Ticket) -> None:
        """The verdict came in time."""
        now = self._clock()
        with self._lock:
            self._waits.append(now - ticket.started)
            ranked = sorted(self._waits)
            p99 = ranked[math.ceil(0.99 * len(ranked)) - 1]
            self._deadline_s = min(self._max_s, max(self._min_s, 4 * p99))
            self._strikes = 0
            self._probe_gap_s = 0.0
            self._probing = False

    def timed_out(self, ticket: Ticket) -> bool:
        """No verdict came. True when this one suspends holding, so that it can be logged once."""
        now = self._clock()
        with self._lock:
            if ticket.probe:
                self._probing = False
                if self._probe_gap_s:
                    self._probe_gap_s = min(PROBE_LAST_S, 2 * self._probe_gap_s)
                    self._next_probe = now + self._probe_gap_s
                return False
            if self._probe_gap_s or ticket.started < self._last_strike:
                return False
            self._last_strike = now
            self._strikes += 1
            if self._strikes < STRIKES:
                return False
            self._probe_gap_s = PROBE_FIRST_S
            self._next_probe = now + PROBE_FIRST_S
            return True

    def abandoned(self, ticket: Ticket) -> None:
        """Nobody waits any more, and nothing was learnt."""
        if ticket.probe:
            with self._lock:
                self._probing = False


class CallLists(NamedTuple):
    """What the policy allows to be called, ready to be asked before each call.

    Plain values are always kept. Patterns are RE2, and kept where the process can import it; elsewhere they are left to
    the detector, which sees the call afterwards.

    Attributes:
        tools: the only ones that may be called; empty = any.
        arguments: what arguments may be, by tool.
    """

    tools: frozenset[str]
    arguments: Mapping[str, tuple[Limit, ...]]

    @classmethod
    def of(cls, policy: PolicyUpdate) -> CallLists | None:
        """Those of a policy; None when it has none.

        Raises:
            ValueError: more than :data:`MAX_ENTRIES`.
        """
        rules = [rule for limited in policy.arguments.values() for rule in limited.values()]
        if len(policy.allowed_tools) + len(rules) + sum(len(r.allow) + len(r.deny) for r in rules) > MAX_ENTRIES:
            raise ValueError(f"the lists of the policy have more than {MAX_ENTRIES} entries")
        limited = {tool: limits_of(given, lenient=True) for tool, given in policy.arguments.items()}
        arguments = {tool: limits for tool, limits in limited.items() if limits}
        return cls(policy.allowed_tools, arguments) if policy.allowed_tools or arguments else None

    def outside(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What of a call is not allowed: "tool", or "argument" and its name; never a value. "" when all of it is."""
        if self.tools and tool not in self.tools:
            return "tool"
        limits = self.arguments.get(tool)
        name = first_forbidden(arguments, limits) if limits else ""
        return f"argument {name}" if name else ""


class PolicyCache:
    """The last policy, breakers and epoch that the detector sent. They stay in force while it is away.

    Attributes:
        lists: what the policy allows to be called; None when it lists nothing, or has not come.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._policy = PolicyUpdate("")
        self.lists: CallLists | None = None
        self._open_until: dict[str, float] = {}
        self._probes: dict[str, float] = {}
        self._epoch = 0

    @property
    def version(self) -> str:
        """Hash of the policy in force, or ""."""
        return self._policy.version

    @property
    def limits(self) -> Limits:
        """Hard limits of the policy."""
        return self._policy.hard_limits

    @property
    def epoch(self) -> int:
        """The highest fencing epoch seen."""
        return self._epoch

    def apply(self, policy: PolicyUpdate) -> None:
        """Puts a policy in force, all of it.

        Raises:
            ValueError: it is too large; the last one stays in force.
        """
        self.lists = CallLists.of(policy)
        self._policy = policy

    def timeout_s(self, tool: str) -> float:
        """The timeout that the policy states for a tool, seconds; 0 = none."""
        facts = self._policy.tools.get(tool)
        return 0.0 if facts is None else facts.timeout_s

    def fails_closed(self, name: str) -> bool:
        """The tool must not run while the detector is away."""
        return name in self._policy.fail_closed_tools

    def see_epoch(self, epoch: int) -> bool:
        """Takes note of an epoch. False when it is a stale one."""
        with self._lock:
            if epoch < self._epoch:
                return False
            self._epoch = epoch
            return True

    def set_breaker(self, tool: str, phase: BreakerPhase, open_for_s: float) -> None:
        """The detector counts failures over all runs; half-open lets one probe through, here as there."""
        with self._lock:
            self._open_until.pop(tool, None)
            self._probes.pop(tool, None)
            if phase == "open":
                self._open_until[tool] = self._clock() + open_for_s
            elif phase == "half_open":
                self._probes[tool] = 0.0

    def breaker_open_s(self, tool: str) -> float:
        """Seconds for which calls of the tool are refused; 0 = it may be called."""
        if not self._open_until and not self._probes:
            return 0.0
        now = self._clock()
        with self._lock:
            if (until := self._open_until.get(tool)) is not None:
                if now < until:
                    return until - now
                # Its time is over and nobody said closed: one probe may go, as if half-open.
                del self._open_until[tool]
                self._probes[tool] = 0.0
            if (last := self._probes.get(tool)) is not None:
                if now < last:
                    return last - now
                self._probes[tool] = now + PROBE_LAST_S
            return 0.0
