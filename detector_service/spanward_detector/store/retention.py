"""What is forgotten, and when: old runs first, a little at a time, by the writer between two commits."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from typing import Final

from spanward_detector.store import tables
from spanward_detector.store.base import StoreSettings
from spanward_detector.store.statements import dumps

_log = logging.getLogger(__name__)

_RUNS_AT_ONCE: Final = 20
_PAGES_AT_ONCE: Final = 256
_DAY_NS: Final = 86_400 * 10**9
_DELETE: Final = tuple(
    f"DELETE FROM {table.name} WHERE run_id IN (SELECT value FROM json_each(?))"  # noqa: S608 - names of our own tables
    for table in (*tables.OF_RUN, tables.runs)
)


class Retention:
    """Looks at age and size of the database and deletes whole runs.

    Args:
        settings: age and size.
        clock_ns: wall clock.
    """

    def __init__(self, settings: StoreSettings, clock_ns: Callable[[], int]) -> None:
        self._settings = settings
        self._clock_ns = clock_ns

    def step(self, connection: sqlite3.Connection) -> bool:
        """Delete a few runs. True when nothing more is due for now."""
        try:
            if runs := self._due(connection):
                self._delete(connection, runs)
                return False
            if self._settings.audit_days:
                cutoff = self._clock_ns() - int(self._settings.audit_days * _DAY_NS)
                connection.execute("DELETE FROM audit WHERE at_ns < ?", (cutoff,))
            # what was deleted is given back to the file system in slices too
            connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
            return True
        except sqlite3.Error as error:
            _log.warning("old runs could not be deleted", extra={"error": str(error)})
            return True

    def _due(self, connection: sqlite3.Connection) -> list[str]:
        if self._settings.max_age_days:
            cutoff = self._clock_ns() - int(self._settings.max_age_days * _DAY_NS)
            rows = connection.execute(
                "SELECT run_id FROM runs WHERE updated_ns < ? ORDER BY updated_ns LIMIT ?", (cutoff, _RUNS_AT_ONCE)
            ).fetchall()
            if rows:
                return [row[0] for row in rows]
        if self._settings.max_bytes and self._used(connection) > self._settings.max_bytes:
            rows = connection.execute(
                "SELECT run_id FROM runs ORDER BY updated_ns LIMIT ?", (_RUNS_AT_ONCE,)
            ).fetchall()
            return [row[0] for row in rows]
        return []

    @staticmethod
    def _used(connection: sqlite3.Connection) -> int:
        """Bytes in use; pages that are free already do not count."""
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int(pages - free) * int(size)

    @staticmethod
    def _delete(connection: sqlite3.Connection, runs: list[str]) -> None:
        ids = (dumps(runs),)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in _DELETE:
                connection.execute(statement, ids)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        _log.info("old runs deleted", extra={"runs": len(runs)})
