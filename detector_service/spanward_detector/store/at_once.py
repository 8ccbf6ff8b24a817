"""A lone commit, written by whoever asks for it.

An agent waits for it, and the way to the writer's thread and back costs as much as the writing: 0.2 of 0.5 ms. Only
while nobody else writes: whatever stands in the way, if only for a moment, is left to the writer and its group commit.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Final

from spanward_detector.store.base import Row
from spanward_detector.store.transact import transact

PAUSE_S: Final = 0.002
"""Commits that follow one another faster than this are cheaper together."""


class AtOnce:
    """Writes on the thread of the event loop; used by it alone.

    Args:
        connection: of its own, in autocommit mode.
        monotonic: clock of the pause.
    """

    def __init__(self, connection: sqlite3.Connection, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._monotonic = monotonic
        self._next = 0.0
        # Neither waiting for the writer nor copying the log back into the file is for this thread.
        connection.execute("PRAGMA busy_timeout=0")
        connection.execute("PRAGMA wal_autocheckpoint=0")

    def write(self, rows: tuple[Row, ...]) -> bool:
        """Write rows in one transaction; False, and nothing written, when that has to be left to the writer."""
        now = self._monotonic()
        if now < self._next:
            return False
        self._next = now + PAUSE_S
        try:
            transact(self._connection, rows, _leave_to_the_writer)
        except (sqlite3.Error, OverflowError):
            return False  # the writer finds the same, and says so
        return True

    def close(self) -> None:
        self._connection.close()


def _leave_to_the_writer() -> None:
    raise OverflowError
