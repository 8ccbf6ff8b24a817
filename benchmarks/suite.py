"""All parts in one go, in the form that ``spanward bench --json`` prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks import gate, history, ingest, loop, rules

PARTS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "gate": ("gate_us", lambda _: gate.measure()),
    "rules": ("rules_us", lambda _: rules.measure()),
    "history": ("history", lambda _: history.measure()),
    "ingest": ("ingest", lambda _: ingest.measure()),
    "loop": ("loop", lambda rounds: loop.measure(rounds)),
}


def measure(parts: Iterable[str], rounds: int = 1000) -> dict[str, Any]:
    """Figures of the parts asked for, keyed as in the JSON output. Progress goes to standard error."""
    figures = {}
    for part in parts:
        sys.stderr.write(f"bench: {part} ...\n")
        sys.stderr.flush()
        key, run = PARTS[part]
        figures[key] = run(rounds)
    return figures
