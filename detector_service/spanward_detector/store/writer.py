"""The one thread that writes to SQLite.

Commits that wait together are written together (group commit): eight clients cost about one ``COMMIT``. Rows nobody
waits for are written in small transactions in between, so that a commit never stands behind more than one of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from spanward_detector.store.base import Row, StoreError, StoreSettings
from spanward_detector.store.retention import Retention
from spanward_detector.store.transact import transact

_log = logging.getLogger(__name__)

_WAKE: Final = None


class _Commit(NamedTuple):
    rows: tuple[Row, ...]
    future: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop
    asked: float
    flush: bool = False


class Counters(dict[str, int]):
    """What the writer counted. Written by its thread and by that of the loop, each its own keys."""

    def __init__(self) -> None:
        super().__init__(dropped=0, clamped=0, failed=0, commits=0, at_once=0, rows=0)


class Writer(threading.Thread):
    """Owns the writing connection from :meth:`start` until :meth:`stop`.

    Args:
        connect: opens the connection, in this thread; autocommit, so that ``BEGIN IMMEDIATE`` is ours to say.
        settings: limits and times.
        observe: told the seconds of each commit from being asked to being durable.
        clock_ns: wall clock, for retention.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        settings: StoreSettings,
        observe: Callable[[float], None] = lambda _seconds: None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__(name="spanward-store", daemon=True)
        self.counters = Counters()
        self.healthy = True
        self._connect = connect
        self._settings = settings
        self._observe = observe
        self._retention = Retention(settings, clock_ns)
        self._commits: queue.SimpleQueue[_Commit | None] = queue.SimpleQueue()
        self._rest: deque[Row] = deque()
        self._awake = False
        self._stopping = False
        self._opened = threading.Event()
        self._failure: BaseException | None = None

    # ---------------------------------------------------------------------------------------- asked by other threads

    def open(self) -> None:
        """Start and wait for the connection.

        Raises:
            StoreError: it could not be opened.
        """
        self.start()
        self._opened.wait()
        if self._failure is not None:
            raise StoreError(f"the store cannot be written: {self._failure}") from self._failure

    def commit(self, rows: tuple[Row, ...], *, flush: bool = False) -> asyncio.Future[None]:
        """See :meth:`Store.commit` and, with ``flush``, :meth:`Store.flush`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if self._stopping:
            future.set_exception(StoreError("the store is closed"))
        else:
            self._commits.put(_Commit(rows, future, loop, time.perf_counter(), flush))
        return future

    @property
    def idle(self) -> bool:
        """No commit waits, and more may come."""
        return not self._stopping and self._commits.empty()

    def put(self, row: Row) -> bool:
        """See :meth:`Store.put`."""
        if self._stopping or len(self._rest) >= self._settings.queue_limit:
            self.counters["dropped"] += 1
            return False
        self._rest.append(row)
        if not self._awake:
            self._awake = True
            self._commits.put(_WAKE)
        return True

    @property
    def depth(self) -> int:
        """Rows that wait, without those of commits."""
        return len(self._rest)

    def stop(self) -> None:
        """Write all that waits, then end. Idempotent."""
        if not self._stopping:
            self._stopping = True
            self._commits.put(_WAKE)
        if self.is_alive():
            self.join()

    # ------------------------------------------------------------------------------------------------- in the thread

    def run(self) -> None:
        """Write until told to stop."""
        try:
            connection = self._connect()
        except (sqlite3.Error, OSError) as error:
            self._failure = error
            self._opened.set()
            return
        self._opened.set()
        with contextlib.closing(connection):
            self._serve(connection)

    def _serve(self, connection: sqlite3.Connection) -> None:
        due: float | None = None
        next_look = time.monotonic() + self._settings.retention_s
        while True:
            now = time.monotonic()
            commits = self._next(max(0.0, min(next_look, next_look if due is None else due) - now))
            if any(commit.flush for commit in commits):
                for _ in range(-(-self.depth // self._settings.batch)):
                    self._write_rest(connection)
            if commits:
                self._write_commits(connection, commits)
            now = time.monotonic()
            if self._rest and due is None:
                due = now + self._settings.flush_s
            if self._stopping or (due is not None and (now >= due or len(self._rest) >= self._settings.batch)):
                self._write_rest(connection)
                due = now if self._rest else None
            if self._stopping and not self._rest and self._commits.empty():
                break
            if now >= next_look:
                if self._retention.step(connection):
                    next_look = now + self._settings.retention_s
                else:
                    next_look = now + self._settings.flush_s  # there is more; commits go first
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _next(self, timeout: float) -> list[_Commit]:
        """Commits that wait, at once when there are some; empty after a wake or when the time is over."""
        found: list[_Commit] = []
        try:
            item = self._commits.get(timeout=timeout) if not self._stopping else self._commits.get_nowait()
            while True:
                if item is not None:
                    found.append(item)
                item = self._commits.get_nowait()
        except queue.Empty:
            return found

    def _write_commits(self, connection: sqlite3.Connection, commits: Sequence[_Commit]) -> None:
        results: list[tuple[_Commit, StoreError | None]] = []
        try:
            self._transact(connection, [row for commit in commits for row in commit.rows])
            results = [(commit, None) for commit in commits]
        except sqlite3.Error as error:
            if len(commits) > 1:  # one of them may be to blame; the others must not pay for it
                for commit in commits:
                    self._write_commits(connection, [commit])
                return
            self.counters["failed"] += 1
            results = [(commits[0], StoreError(f"not committed: {error}"))]
        now = time.perf_counter()
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Commit, StoreError | None]]] = {}
        for result in results:
            by_loop.setdefault(result[0].loop, []).append(result)
        for loop, settled in by_loop.items():
            with contextlib.suppress(RuntimeError):  # the loop has ended and nobody waits any more
                loop.call_soon_threadsafe(_resolve, settled)
        self.counters["commits"] += len(commits)
        for commit in commits:
            self._observe(now - commit.asked)

    def _write_rest(self, connection: sqlite3.Connection) -> None:
        self._awake = False  # before the rows are taken: a row added from here on wakes us again
        rows: list[Row] = []
        with contextlib.suppress(IndexError):
            while len(rows) < self._settings.batch:
                rows.append(self._rest.popleft())
        if not rows:
            return
        try:
            self._transact(connection, rows)
        except sqlite3.Error as error:
            self.counters["failed"] += 1
            self.counters["dropped"] += len(rows)
            _log.error("rows could not be stored", extra={"rows": len(rows), "error": str(error)})

    def _transact(self, connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
        try:
            self.counters["rows"] += transact(connection, rows, self._clamped)
            self.healthy = True
        except BaseException:
            self.healthy = False
            raise

    def _clamped(self) -> None:
        self.counters["clamped"] += 1


def _resolve(results: Iterable[tuple[_Commit, StoreError | None]]) -> None:
    for commit, error in results:
        if commit.future.done():  # cancelled by whoever asked
            continue
        if error is None:
            commit.future.set_result(None)
        else:
            commit.future.set_exception(error)
