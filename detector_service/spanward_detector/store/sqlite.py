"""The store in one SQLite file: WAL, one writer thread, lone commits at once, readers beside it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from spanward_detector.store.at_once import AtOnce
from spanward_detector.store.base import Record, Row, StoreError, StoreSettings
from spanward_detector.store.migrate import upgrade
from spanward_detector.store.reads import Reader
from spanward_detector.store.writer import Writer

if sys.platform != "win32":
    import fcntl

FILE_NAME: Final = "spanward.db"
"""Of the database in a data directory."""

_EPOCH: Final = "epoch"
_BUSY_MS: Final = 1_000


class SqliteStore:
    """A :class:`~spanward_detector.store.base.Store` in one file.

    Args:
        path: of the database; made with its directory when it is not there.
        settings: limits and times.
        observe: told the seconds that each commit took.
        clock_ns: wall clock, for retention.
    """

    def __init__(
        self,
        path: Path,
        settings: StoreSettings | None = None,
        *,
        observe: Callable[[float], None] = lambda _seconds: None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.path = path
        self._settings = settings or StoreSettings()
        self._observe = observe
        self._writer = Writer(self._connect, self._settings, observe, clock_ns)
        self._at_once: AtOnce | None = None
        self._engine: Engine | None = None
        self._lock: int | None = None
        self._epoch = 0

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def depth(self) -> int:
        return self._writer.depth

    @property
    def healthy(self) -> bool:
        return self._writer.healthy

    @property
    def counters(self) -> Mapping[str, int]:
        return self._writer.counters

    # ------------------------------------------------------------------------------------------------ life

    def open(self) -> None:
        """See :meth:`Store.open`."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._take_lock()
            self._engine = _reading_engine(self.path)
            with contextlib.closing(self._connect()) as connection:
                upgrade(connection)
                self._epoch = _next_epoch(connection)
            self._writer.open()
            if self._settings.synchronous == "NORMAL":  # FULL waits for the disk, which the loop must not
                self._at_once = AtOnce(self._connect(check_same_thread=False))
        except (OSError, sqlite3.Error, SQLAlchemyError) as error:
            self.close()
            raise StoreError(f"the store {self.path} cannot be opened: {error}") from error
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """See :meth:`Store.close`."""
        if self._at_once is not None:
            self._at_once.close()
            self._at_once = None
        self._writer.stop()
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        """Two detectors on one file would each think that it owns the directives in it."""
        if sys.platform == "win32":
            return
        self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"{self.path} is in use by another detector; stop it or give this one its own --data-dir"
            ) from error

    def _connect(self, *, check_same_thread: bool = True) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=check_same_thread, cached_statements=64
        )
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # takes effect only while the file is empty
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={self._settings.synchronous}")
        connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        return connection

    # ---------------------------------------------------------------------------------------------- writes

    def commit(self, *rows: Row) -> asyncio.Future[None]:
        """See :meth:`Store.commit`."""
        if rows and self._at_once is not None and self._writer.idle:
            began = time.perf_counter()
            if self._at_once.write(rows):
                self._writer.counters["at_once"] += 1
                self._writer.healthy = True
                self._observe(time.perf_counter() - began)
                done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                done.set_result(None)
                return done
        return self._writer.commit(rows)

    def put(self, row: Row) -> bool:
        """See :meth:`Store.put`."""
        return self._writer.put(row)

    def flush(self) -> asyncio.Future[None]:
        """See :meth:`Store.flush`."""
        return self._writer.commit((), flush=True)

    def raise_epoch(self, to: int) -> asyncio.Future[None]:
        """See :meth:`Store.raise_epoch`."""
        self._epoch = max(self._epoch, to)
        return self.commit(Row("meta", (_EPOCH, str(self._epoch))))

    # ----------------------------------------------------------------------------------------------- reads

    def list_runs(self, limit: int = 200, before_ns: int | None = None) -> list[Record]:
        """See :meth:`Store.list_runs`."""
        return self._reader().list_runs(limit, before_ns)

    def get_run(self, run_id: str) -> Record | None:
        """See :meth:`Store.get_run`."""
        return self._reader().get_run(run_id)

    def open_runs(self) -> list[Record]:
        """See :meth:`Store.open_runs`."""
        return self._reader().open_runs()

    def unfinished_directives(self) -> list[Record]:
        """See :meth:`Store.unfinished_directives`."""
        return self._reader().unfinished_directives()

    def export(self) -> Iterator[bytes]:
        """See :meth:`Store.export`."""
        return self._reader().export()

    def _reader(self) -> Reader:
        if self._engine is None:
            raise StoreError("the store is not open")
        return Reader(self._engine)


@contextlib.contextmanager
def open_for_reading(path: Path) -> Iterator[Reader]:
    """Read a store that a detector may be using at the same time.

    Args:
        path: the database, or the data directory that it lies in.

    Raises:
        FileNotFoundError: there is none.
        StoreError: it cannot be read.
    """
    if path.is_dir():
        path /= FILE_NAME
    if not path.is_file():
        raise FileNotFoundError(path)
    engine = _reading_engine(path)
    try:
        yield Reader(engine)
    except SQLAlchemyError as error:
        raise StoreError(f"the store {path} cannot be read: {error}") from error
    finally:
        engine.dispose()


def _reading_engine(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path}", connect_args={"check_same_thread": False}, pool_size=2, max_overflow=2)

    @event.listens_for(engine, "connect")
    def _only_read(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        connection.execute("PRAGMA query_only=ON")

    return engine


def _next_epoch(connection: sqlite3.Connection) -> int:
    connection.execute("BEGIN IMMEDIATE")
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (_EPOCH,)).fetchone()
    epoch = int(found[0]) + 1 if found else 1
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_EPOCH, str(epoch)))
    connection.execute("COMMIT")
    return epoch
