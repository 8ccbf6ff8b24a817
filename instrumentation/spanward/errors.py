"""Exceptions that reach the user, and the guard that keeps our own from doing so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

log = logging.getLogger("spanward")


class AgentTerminated(Exception):  # noqa: N818 - an end, not always an error
    """The run was ended by an order or a limit; every later gate of the run raises it again.

    Attributes:
        run_id: of the run that ended.
        reason: a code: ``loop``, ``budget``, ``safety``, ``operator``, ...
        user_message: localised, safe to show to the end user; says nothing about the run's content.
    """

    def __init__(self, run_id: str, reason: str, user_message: str) -> None:
        super().__init__(f"run {run_id} was terminated: {reason}")
        self.run_id = run_id
        self.reason = reason
        self.user_message = user_message


class AgentPaused(AgentTerminated):
    """The run was paused and nobody resumed it before its lease ended."""


class HardExit(BaseException):
    """Carries an :class:`AgentTerminated` through frameworks that swallow ``Exception``; ``run`` turns it back."""

    def __init__(self, termination: AgentTerminated) -> None:
        super().__init__(*termination.args)
        self.termination = termination


class ToolTimeout(TimeoutError):  # noqa: N818 - as the TimeoutError that it is
    """A tool ran into its timeout. A sync tool goes on unwatched on its thread: its outcome is unknown."""


class CallInterrupted(RuntimeError):  # noqa: N818 - somebody wanted it
    """A call in flight was cancelled by ``interrupt_call``."""


def termination_in(error: BaseException | None) -> AgentTerminated | None:
    """The :class:`AgentTerminated` at the heart of an exception, whatever a framework wrapped round it.

    Walks causes and exception groups. Not contexts: who catches a termination and raises something else means it.
    """
    seen: set[int] = set()
    queue = [error]
    while queue:
        current = queue.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, AgentTerminated):
            return current
        if isinstance(current, HardExit):
            return current.termination
        if isinstance(current, BaseExceptionGroup):
            queue.extend(current.exceptions)
        queue.append(current.__cause__)
    return None


class InternalErrors:
    """Counts our own failures and logs the first of each place: the host never sees them, its log is never flooded."""

    def __init__(self) -> None:
        self.count = 0
        self._logged: set[str] = set()
        self._lock = threading.Lock()

    def caught(self, where: str) -> None:
        """To be called in an ``except Exception`` block."""
        with self._lock:
            self.count += 1
            first = where not in self._logged
            self._logged.add(where)
        if first:
            log.warning("spanward: internal error in %s; the agent goes on without it", where, exc_info=True)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._logged))
