"""The service's log: one JSON object a line, with trace, span and run ids where there are any."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TextIO

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Formats a record as JSON. What was passed as ``extra=`` becomes a key of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """One line without a line break in it, whatever the message holds."""
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({k: v for k, v in vars(record).items() if k not in _STANDARD and not k.startswith("_")})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send the log of the service to a stream, as JSON lines. Other loggers of the process are left alone."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("spanward_detector")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


def ids(trace_id: str = "", span_id: str = "", run_id: str = "", **more: object) -> Mapping[str, object]:
    """``extra=`` of a log call; ids that are not known are left out."""
    known = {"trace_id": trace_id, "span_id": span_id, "run_id": run_id}
    return {**{k: v for k, v in known.items() if v}, **more}
