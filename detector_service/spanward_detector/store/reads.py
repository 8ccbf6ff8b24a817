"""Reading, by SQLAlchemy and a small pool of connections of its own. Every call blocks: use a thread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import orjson
from sqlalchemy import Engine, Select, Table, select

from spanward_detector.directives import FINAL
from spanward_detector.states import OPEN
from spanward_detector.store import tables
from spanward_detector.store.base import Record

_EXPORT_BATCH: Final = 100
_MAX_OPEN: Final = 5_000
_PARTS: Final = (
    (tables.steps, (tables.steps.c.start_ns, tables.steps.c.span_id)),
    (tables.findings, (tables.findings.c.found_ns, tables.findings.c.span_id)),
    (tables.directives, (tables.directives.c.created_ns, tables.directives.c.id)),
    (tables.transitions, (tables.transitions.c.id,)),
)


class Reader:
    """Answers questions about what is stored."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list_runs(self, limit: int, before_ns: int | None) -> list[Record]:
        """See :meth:`Store.list_runs`."""
        query = select(tables.runs).order_by(tables.runs.c.started_ns.desc(), tables.runs.c.run_id).limit(limit)
        if before_ns is not None:
            query = query.where(tables.runs.c.started_ns < before_ns)
        return self._records(query)

    def get_run(self, run_id: str) -> Record | None:
        """See :meth:`Store.get_run`."""
        found = self._records(select(tables.runs).where(tables.runs.c.run_id == run_id))
        return self._whole(found[0]) if found else None

    def open_runs(self) -> list[Record]:
        """See :meth:`Store.open_runs`."""
        runs = tables.runs
        return self._records(
            select(runs).where(runs.c.state.in_(sorted(OPEN))).order_by(runs.c.updated_ns.desc()).limit(_MAX_OPEN)
        )[::-1]

    def unfinished_directives(self) -> list[Record]:
        """See :meth:`Store.unfinished_directives`."""
        return self._records(
            select(tables.directives)
            .where(tables.directives.c.state.not_in(sorted(FINAL)))
            .order_by(tables.directives.c.created_ns)
        )

    def export(self) -> Iterator[bytes]:
        """See :meth:`Store.export`."""
        after = (-1, "")
        runs = tables.runs
        while True:
            later = (runs.c.started_ns > after[0]) | ((runs.c.started_ns == after[0]) & (runs.c.run_id > after[1]))
            page = self._records(
                select(runs).where(later).order_by(runs.c.started_ns, runs.c.run_id).limit(_EXPORT_BATCH)
            )
            for run in page:
                yield orjson.dumps(self._whole(run), option=orjson.OPT_APPEND_NEWLINE)
                after = (int(str(run["started_ns"])), str(run["run_id"]))
            if len(page) < _EXPORT_BATCH:
                return

    def _whole(self, run: Record) -> Record:
        whole = dict(run)
        for table, order in _PARTS:
            # the run's own counts give way to what they count
            whole[str(table.name)] = self._records(self._of(table, str(run["run_id"])).order_by(*order))
        return whole

    @staticmethod
    def _of(table: Table, run_id: str) -> Select[Any]:
        return select(table).where(table.c.run_id == run_id)

    def _records(self, query: Select[Any]) -> list[Record]:
        with self._engine.connect() as connection:
            return [_decoded(dict(row)) for row in connection.execute(query).mappings()]


def _decoded(row: Record) -> Record:
    decoded: Record = {}
    for key, value in row.items():
        name = str(key)  # SQLAlchemy's own kind of string is not one for orjson
        if name.endswith("_json"):
            decoded[name.removesuffix("_json")] = json.loads(str(value)) if value else None
        else:
            decoded[name] = value
    return decoded
