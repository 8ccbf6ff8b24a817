"""Breakers over all agents: what the fleet's failures open is told to every gate, and one of them makes the probe."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from spanward_detector.breakers import Breakers, Signal
from spanward_detector.control import codec
from spanward_detector.control.outgoing import Outbound
from spanward_detector.model import Kind
from spanward_detector.outcome import classify

if TYPE_CHECKING:
    from spanward_detector.control.session import Session, Sessions
    from spanward_detector.pipeline import Verdict

_log = logging.getLogger(__name__)

RULE: Final = "circuit_open"
GRACE_S: Final = 5.0
"""Gates hold a breaker open for this much longer than we do, so that none of them probes by itself meanwhile."""


class Outages:
    """Follows the verdicts of the engine, on its thread.

    Args:
        sessions: streams to the gates.
        breakers: their state.
    """

    def __init__(self, sessions: Sessions, breakers: Breakers) -> None:
        self._sessions = sessions
        self.breakers = breakers
        self._greeted: set[int] = set()

    def follow(self, verdict: Verdict) -> None:
        """A verdict has been acted on."""
        for finding in verdict.findings:
            if finding.rule == RULE and finding.facts.get("why") == "tripped":
                _log.warning("a breaker opens", extra={"tool": finding.action, "run": verdict.run.id})
                self._tell(self.breakers.trip(finding.action, verdict.run.id))
        step = verdict.step
        if step.kind is Kind.TOOL and step.action in self.breakers:
            self._tell(self.breakers.ended(step, classify(step)))

    def sweep(self, open_s: float) -> None:
        """Now and then: probes that are due, and gates that have come since.

        Args:
            open_s: of the policy in force.
        """
        self.breakers.open_s = open_s
        if len(self.breakers):
            self._tell(self.breakers.due(lambda run_id: self._sessions.of_run(run_id) is not None))
        here = {id(session): session for session in self._sessions}
        for key, session in here.items():
            if key not in self._greeted:
                self._send(session, self.breakers.current())
        self._greeted = set(here)

    def _tell(self, signals: Iterable[Signal]) -> None:
        for signal in signals:
            one = self._sessions.of_run(signal.run_id) if signal.run_id else None
            for session in (one,) if one is not None else self._sessions:
                self._send(session, (signal,))

    @staticmethod
    def _send(session: Session, signals: Iterable[Signal]) -> None:
        for tool, phase, open_for_s, _ in signals:
            open_for_ms = int((open_for_s + GRACE_S) * 1000) if phase == "open" else 0
            # "half_open" to one comes right after "open" to all, and must not be overtaken by it: each is a message.
            session.outgoing.offer(Outbound(codec.breaker(tool, phase, open_for_ms), "stream"))
