"""Stored records as the API shows them. Keys are part of the API: they are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from spanward_detector.store.base import Record

_TIMES: Mapping[str, str] = {
    "started_ns": "started_at",
    "ended_ns": "ended_at",
    "updated_ns": "updated_at",
    "start_ns": "start_at",
    "end_ns": "end_at",
    "found_ns": "found_at",
    "created_ns": "created_at",
    "sent_ns": "sent_at",
    "final_ns": "final_at",
    "at_ns": "at",
}


def run_view(record: Record) -> Record:
    """A run in a list: ``steps`` and ``findings`` are numbers."""
    return _timed(record)


def _step_view(record: Record) -> Record:
    view = _timed(record)
    view["index"] = view.pop("step")
    view["duration_ms"] = max(0, int(str(record["end_ns"])) - int(str(record["start_ns"]))) / 1e6
    return view


def whole_run_view(record: Record) -> Record:
    """A run with everything in it; findings that a late span took back are left out."""
    view = _timed(record)
    for part in ("findings", "directives", "transitions"):
        rows = record.get(part)
        view[part] = [_timed(row) for row in rows if not row.get("withdrawn")] if isinstance(rows, list) else []
    steps = record.get("steps")
    view["steps"] = [_step_view(step) for step in steps] if isinstance(steps, list) else []
    for finding in _records(view["findings"]):
        finding.pop("withdrawn", None)
    for move in _records(view["transitions"]):
        move["from"], move["to"] = move.pop("from_state", ""), move.pop("to_state", "")
    return view


def _records(rows: object) -> list[Record]:
    return rows if isinstance(rows, list) else []


def _timed(record: Record) -> Record:
    """Beside each time in nanoseconds the same as ISO 8601 in UTC; null when it has not happened."""
    view = dict(record)
    view.update({_TIMES[key]: _iso(value) for key, value in record.items() if key in _TIMES})
    return view


def _iso(ns: object) -> str | None:
    if not isinstance(ns, int) or ns <= 0:
        return None
    try:
        return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="microseconds")
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return None
