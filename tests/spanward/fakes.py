"""Stand-ins for the gate's side of the control client."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spanward.config import Settings
from spanward.ports import (
    BreakerPhase,
    Counters,
    DirectiveOutcome,
    GateDirective,
    InFlightCall,
    Limits,
    PolicyUpdate,
    RunPhase,
    ToolFacts,
)


def settings(address: str, **changes: Any) -> Settings:
    """Settings for this detector, whatever the environment says."""
    return Settings.from_env({}, endpoint=address, **changes)


@dataclass(eq=False)
class FakeRun:
    """Satisfies ``RunView``."""

    id: str = "run-1"
    name: str = "agent"
    conversation_id: str = ""
    trace_id: str = "0" * 31 + "1"
    phase: RunPhase = "running"
    started_ns: int = 1
    steps: int = 0
    limits: Limits = field(default_factory=Limits)
    tools: Mapping[str, ToolFacts] = field(default_factory=dict)
    last_activity_at: float = field(default_factory=time.monotonic)
    thread_id: int = field(default_factory=threading.get_ident)
    task: Any = None


class FakeGate:
    """Satisfies ``GateSink`` and records what it is told."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.delivered: list[GateDirective] = []
        self.runs: list[FakeRun] = []
        self.calls: list[InFlightCall] = []
        self.known: list[DirectiveOutcome] = []
        self.epochs: list[int] = []
        self.policies: list[PolicyUpdate] = []
        self.breakers: list[tuple[str, str, float]] = []
        self.transitions: list[tuple[str, str, str]] = []
        self.threads: set[int] = set()

    def deliver(self, directive: GateDirective) -> None:
        self.threads.add(threading.get_ident())
        self.delivered.append(directive)

    def runs_open(self) -> Sequence[FakeRun]:
        return list(self.runs)

    def calls_in_flight(self) -> Sequence[InFlightCall]:
        return list(self.calls)

    def outcomes(self) -> Iterable[DirectiveOutcome]:
        return list(self.known)

    def set_epoch(self, epoch: int) -> None:
        self.epochs.append(epoch)

    def set_policy(self, policy: PolicyUpdate) -> None:
        self.policies.append(policy)

    def set_breaker(self, tool: str, phase: BreakerPhase, open_for_s: float) -> None:
        self.breakers.append((tool, phase, open_for_s))

    def transition(self, run_id: str, to: RunPhase, reason: str) -> None:
        self.transitions.append((run_id, to, reason))
