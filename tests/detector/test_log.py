"""The log: one JSON object a line, whatever is said."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
from spanward_detector import log


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the log wrote; the logger is put back afterwards."""
    logger = logging.getLogger("spanward_detector")
    before = (logger.handlers[:], logger.level, logger.propagate)
    stream = io.StringIO()
    log.configure("debug", stream)
    yield stream
    logger.handlers[:], logger.level, logger.propagate = before


def test_a_line_is_an_object_with_its_ids(lines: io.StringIO) -> None:
    """Trace, span and run can be searched for; ids that are not known are left out."""
    logging.getLogger("spanward_detector.engine").info("finding", extra=log.ids("t", "s", "", rule="loop"))
    line = json.loads(lines.getvalue())

    assert line | {"level": "info", "message": "finding", "trace_id": "t", "span_id": "s", "rule": "loop"} == line
    assert "run_id" not in line
    assert line["ts"].endswith("+00:00")


def test_nothing_breaks_a_line(lines: io.StringIO) -> None:
    """Line breaks, control characters, objects and exceptions stay inside it."""
    try:
        raise ValueError("a\nb")
    except ValueError:
        logging.getLogger("spanward_detector").exception("x\ny\x00 \u2028", extra={"thing": object()})

    (text,) = lines.getvalue().splitlines()
    assert json.loads(text)["exception"].endswith("ValueError: a\nb")
