"""What the detector asks of a store, whichever database is behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

TableName = Literal[
    "runs", "steps", "findings", "directives", "acknowledgements", "transitions", "audit", "meta"
]  # fmt: skip
Record = dict[str, object]
"""One stored row by column name; ``*_json`` columns decoded and named without the suffix."""


class StoreError(RuntimeError):
    """The store could not be opened, read or written."""


class Row(NamedTuple):
    """One row to write.

    Attributes:
        table: where it goes. An existing row with the same key is replaced.
        values: in the order of :data:`spanward_detector.store.statements.COLUMNS`; for ``steps`` a whole
            :class:`~spanward_detector.model.Step`, encoded by the writer.
    """

    table: TableName
    values: object


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How a store behaves.

    Attributes:
        synchronous: SQLite's own word. NORMAL survives the death of the process, FULL the loss of power as well.
        queue_limit: rows that may wait to be written without anybody waiting for them; more are dropped and counted.
        flush_s: how long such a row waits at most when nothing else is written.
        batch: rows per transaction of that kind; a commit waits for one such transaction at worst.
        max_age_days: runs untouched for longer are deleted; 0 = never.
        max_bytes: oldest runs are deleted while the database is larger; 0 = no limit.
        audit_days: age of audit rows; they outlive their runs.
        retention_s: time between two looks at age and size.
    """

    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    queue_limit: int = 100_000
    flush_s: float = 0.05
    batch: int = 512
    max_age_days: float = 30.0
    max_bytes: int = 2 * 1024**3
    audit_days: float = 365.0
    retention_s: float = 60.0


class Store(Protocol):
    """Writes are asked for on the event loop's thread; reads block and belong in a thread of their own."""

    @property
    def epoch(self) -> int:
        """Fencing epoch of this start: one more than that of the start before."""
        ...

    @property
    def depth(self) -> int:
        """Rows that wait to be written."""
        ...

    @property
    def healthy(self) -> bool:
        """Whether the last transaction could be written."""
        ...

    @property
    def counters(self) -> Mapping[str, int]:
        """``dropped``, ``clamped``, ``failed``, ``commits``, ``rows``; they only grow."""
        ...

    def open(self) -> None:
        """Bring the schema up to date, start the writer, take the next epoch.

        Raises:
            StoreError: with what to do about it.
        """
        ...

    def close(self) -> None:
        """Write what waits and stop. Idempotent."""
        ...

    def commit(self, *rows: Row) -> asyncio.Future[None]:
        """Write rows in one transaction. Resolves once they are durable; raises StoreError when they are not."""
        ...

    def put(self, row: Row) -> bool:
        """Write a row some time soon. False when the queue was full and the row was dropped."""
        ...

    def flush(self) -> asyncio.Future[None]:
        """Resolves once every row that was put before is written, or has failed to be."""
        ...

    def raise_epoch(self, to: int) -> asyncio.Future[None]:
        """Make the epoch at least ``to``: an agent has seen that one already."""
        ...

    def list_runs(self, limit: int = 200, before_ns: int | None = None) -> list[Record]:
        """Runs, newest first."""
        ...

    def get_run(self, run_id: str) -> Record | None:
        """A run with its ``steps``, ``findings``, ``directives`` and ``transitions``; None when there is none."""
        ...

    def open_runs(self) -> list[Record]:
        """Runs that were neither DONE nor FAILED, oldest first."""
        ...

    def unfinished_directives(self) -> list[Record]:
        """Directives that were committed and have no final state, oldest first."""
        ...

    def export(self) -> Iterator[bytes]:
        """Every stored run as one line of JSON, oldest first."""
        ...
