"""Rows into SQLite, one transaction each time, whoever holds the connection."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from spanward_detector.store.base import Row, TableName
from spanward_detector.store.statements import SQL, step_row

INT64_MAX: Final = 2**63 - 1


def transact(connection: sqlite3.Connection, rows: Iterable[Row], clamped: Callable[[], None]) -> int:
    """Write rows in one transaction.

    Args:
        connection: in autocommit mode, so that ``BEGIN IMMEDIATE`` is ours to say.
        rows: of any tables.
        clamped: told of each integer that had to be brought within 64 bits.

    Returns:
        How many rows were written.

    Raises:
        sqlite3.Error: nothing was written.
    """
    by_table: dict[TableName, list[Sequence[object]]] = {}
    for table, values in rows:
        by_table.setdefault(table, []).append(step_row(values) if table == "steps" else values)  # type: ignore[arg-type]
    try:
        return _execute(connection, by_table)
    except (OverflowError, UnicodeEncodeError):
        # rare, and so paid for only here: an integer beyond 64 bits, a lone surrogate
        for table, rows_of_table in by_table.items():
            by_table[table] = [_fit(values, clamped) for values in rows_of_table]
        return _execute(connection, by_table)


def _execute(connection: sqlite3.Connection, by_table: dict[TableName, list[Sequence[object]]]) -> int:
    try:
        connection.execute("BEGIN IMMEDIATE")
        for table, values in by_table.items():
            connection.executemany(SQL[table], values)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back by itself
            connection.execute("ROLLBACK")
        raise
    return sum(map(len, by_table.values()))


def _fit(values: Sequence[object], clamped: Callable[[], None]) -> tuple[object, ...]:
    fitted: list[object] = []
    for value in values:
        if isinstance(value, int) and not -INT64_MAX <= value <= INT64_MAX:
            clamped()
            fitted.append(INT64_MAX if value > 0 else -INT64_MAX)
        elif isinstance(value, str):
            fitted.append(value.encode("utf-8", "backslashreplace").decode())
        else:
            fitted.append(value)
    return tuple(fitted)
