"""SQL of the writer, compiled once from the tables: in the hot path no SQLAlchemy, only text and tuples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import orjson
from sqlalchemy import Table
from sqlalchemy.dialects import sqlite

from spanward_detector.model import Step
from spanward_detector.store import tables
from spanward_detector.store.base import TableName

_TABLES: Final[dict[TableName, Table]] = {
    "runs": tables.runs,
    "steps": tables.steps,
    "findings": tables.findings,
    "directives": tables.directives,
    "acknowledgements": tables.acknowledgements,
    "transitions": tables.transitions,
    "audit": tables.audit,
    "meta": tables.meta,
}


def _columns(table: Table) -> tuple[str, ...]:
    return tuple(c.name for c in table.columns if c.autoincrement is not True)


COLUMNS: Final[Mapping[TableName, tuple[str, ...]]] = {name: _columns(table) for name, table in _TABLES.items()}
"""Column names per table in the order of a row's values; numbers that the database gives itself are left out."""


def _upsert(name: TableName) -> str:
    """``INSERT`` for logs, ``INSERT ... ON CONFLICT DO UPDATE`` where a key says that it is the same thing."""
    table = _TABLES[name]
    statement = sqlite.insert(table).values(dict.fromkeys(COLUMNS[name]))
    keys = [c.name for c in table.primary_key if c.name in COLUMNS[name]]
    if keys:
        changed = {c: statement.excluded[c] for c in COLUMNS[name] if c not in keys}
        statement = statement.on_conflict_do_update(index_elements=keys, set_=changed)
    return str(statement.compile(dialect=sqlite.dialect()))


SQL: Final[Mapping[TableName, str]] = {name: _upsert(name) for name in _TABLES}
"""One statement per table, with ``?`` for each of :data:`COLUMNS`."""


def step_row(step: Step) -> tuple[object, ...]:
    """A step as the values of the table ``steps``: names, numbers, digests and facts, never content."""
    facts = {
        "arguments": step.arguments_facts,
        "result": step.result_facts,
        "answer": step.answer_facts,
        "side_effect": step.side_effect,
        "reason": step.reason,
        "unknown_tools": step.unknown_tools,
        "run_ended": step.run_ended,
        "timed_out": step.timed_out,
        "outcome_unknown": step.outcome_unknown,
        "http": [attempt[:3] for attempt in step.http],
        "calls": [(call.id, call.name, call.form) for call in step.calls],
    }
    return (
        step.ref.trace_id, step.ref.span_id, step.run_id, step.parent_id or "", step.index, str(step.kind), step.action,
        step.agent, step.name, step.dialect, step.start_ns, step.end_ns, step.attempt, step.failed, step.error_type,
        step.arguments_digest, step.result_digest, step.finish_reason, step.input_tokens, step.output_tokens,
        step.model, dumps({name: value for name, value in facts.items() if value}),
    )  # fmt: skip


def dumps(value: object) -> str:
    """JSON text of anything: what JSON cannot say (lone surrogates, sets, huge integers) is said as its text."""
    if not value and isinstance(value, (dict, list, tuple)):
        return "{}" if isinstance(value, dict) else "[]"
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError):
        return json.dumps(value, default=str, skipkeys=True)


def _plain(value: object) -> object:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # facts are named tuples, which orjson does not know
        return value._asdict()
    return dict(value) if isinstance(value, Mapping) else str(value)
