"""Waiters for verdicts, keyed by span: made before the span ends, answered by the control thread.

An answer takes the waiter out of the table; so does giving up. Whoever takes it out owns what happens next: no verdict
is lost between the two, and none is given twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Final

from spanward.ports import GateDirective, Verdict

HOLDS_MAX: Final = 10_000
"""Waiters at once. Beyond it nobody is asked: something in the host makes spans without end."""

TIMEOUT: Final = Verdict("timeout")
NONE: Final = Verdict("none")
SKIPPED: Final = Verdict("skipped")

Key = tuple[str, str]


class Waiter:
    """Implements :class:`spanward.ports.Hold`. Cheap: one raw lock, no condition."""

    __slots__ = ("_answered", "_done", "_holds", "_key", "_verdict", "_waker")

    def __init__(self, holds: Holds, key: Key) -> None:
        self._holds = holds
        self._key = key
        self._answered = threading.Lock()
        self._answered.acquire()
        self._verdict: Verdict | None = None
        self._done = False
        self._waker: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None

    def answer(self, verdict: Verdict) -> None:
        """Wakes whoever waits, or will. Called once, by whoever took it out of the table."""
        self._verdict = verdict
        self._answered.release()
        if (waker := self._waker) is not None:
            # The loop may be closed by now: then nobody waits.
            with contextlib.suppress(RuntimeError):
                waker[0].call_soon_threadsafe(_wake, waker[1])

    def wait(self, timeout_s: float) -> Verdict:
        """Blocks this thread for the verdict; ``timeout_s`` 0 only looks and leaves the waiter in place."""
        if timeout_s <= 0 or self._done:
            return self._take() or TIMEOUT
        if self._answered.acquire(timeout=timeout_s):
            return self._take() or TIMEOUT
        return self._give_up()

    async def wait_async(self, timeout_s: float) -> Verdict:
        """As :meth:`wait`, without blocking the loop. A cancelled wait ends the waiter."""
        loop = asyncio.get_running_loop()
        sleeper: asyncio.Future[None] = loop.create_future()
        self._waker = (loop, sleeper)
        # Looked at after the waker is in place: an answer between the two finds one or the other.
        if (verdict := self._take()) is not None or self._done:
            return verdict or TIMEOUT
        alarm = loop.call_later(timeout_s, _wake, sleeper)
        try:
            await sleeper
        except BaseException:
            self.cancel()
            raise
        finally:
            alarm.cancel()
            self._waker = None
        return self._take() or self._give_up()

    def cancel(self) -> None:
        """Nobody waits any more. A directive that has come already is delivered as a late one. Idempotent."""
        self._done = True
        if not self._holds.forget(self._key, self):
            verdict = self._take()
            if verdict is not None and verdict.directive is not None:
                self._holds.late(verdict.directive)

    def _take(self) -> Verdict | None:
        verdict, self._verdict = self._verdict, None
        self._done = self._done or verdict is not None
        return verdict

    def _give_up(self) -> Verdict:
        self._done = True
        if self._holds.forget(self._key, self):
            return TIMEOUT
        # It was taken out to be answered just now: the answer is a matter of microseconds.
        self._answered.acquire(timeout=1.0)
        return self._take() or TIMEOUT


class Holds:
    """The table. ``late`` takes directives that no waiter took."""

    def __init__(self, late: Callable[[GateDirective], None]) -> None:
        self.late = late
        self._waiters: dict[Key, Waiter] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, trace_id: str, span_id: str) -> Waiter:
        """A new waiter for this span."""
        key = (trace_id, span_id)
        waiter = Waiter(self, key)
        if len(self._waiters) >= HOLDS_MAX:
            waiter.answer(SKIPPED)
        else:
            self._waiters[key] = waiter
        return waiter

    def skipped(self) -> Waiter:
        """A waiter for whom there is nobody to ask."""
        waiter = Waiter(self, ("", ""))
        waiter.answer(SKIPPED)
        return waiter

    def answer(self, trace_id: str, span_id: str, directive: GateDirective | None) -> bool:
        """Gives the verdict to its waiter. False when there is none."""
        # dict.pop is atomic: of an answer and a waiter that gives up, one gets it.
        waiter = self._waiters.pop((trace_id, span_id), None)
        if waiter is None:
            return False
        waiter.answer(NONE if directive is None else Verdict("directive", directive))
        return True

    def forget(self, key: Key, waiter: Waiter) -> bool:
        """Takes a waiter out. False when it is out already."""
        if self._waiters.get(key) is not waiter:
            return False
        return self._waiters.pop(key, None) is waiter

    def release_all(self) -> None:
        """The stream is gone: nobody will answer those who wait."""
        for key in list(self._waiters):
            if (waiter := self._waiters.pop(key, None)) is not None:
                waiter.answer(SKIPPED)


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
