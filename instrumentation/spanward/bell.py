"""Waiting for a condition that another thread changes, in sync and in async code alike."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


class Bell:
    """A condition variable for threads and event loops at once: who changes something rings, who waits looks again."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sleepers: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()

    def ring(self) -> None:
        """Wakes everybody. Any thread."""
        with self._condition:
            self._condition.notify_all()
            sleepers, self._sleepers = self._sleepers, set()
        for loop, sleeper in sleepers:
            try:
                loop.call_soon_threadsafe(_wake, sleeper)
            except RuntimeError:
                # That loop is closed: nobody is left to be woken on it.
                continue

    def wait(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """Blocks this thread until ``ready()`` or the timeout. Returns ``ready()``."""
        with self._condition:
            return self._condition.wait_for(ready, timeout_s)

    async def wait_async(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """As :meth:`wait`, for a coroutine."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            sleeper: asyncio.Future[None] = loop.create_future()
            entry = (loop, sleeper)
            with self._condition:
                # Looked at under the lock: a ring between looking and lying down would be missed.
                if ready() or (left := deadline - loop.time()) <= 0:
                    return ready()
                self._sleepers.add(entry)
            try:
                await asyncio.wait((sleeper,), timeout=left)
            finally:
                with self._condition:
                    self._sleepers.discard(entry)


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
