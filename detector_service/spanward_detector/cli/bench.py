"""``spanward bench``: every figure beside its baseline of the same run."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer

from spanward_detector.cli.console import fail, out

PARTS = ("gate", "rules", "history", "ingest", "loop")


def bench(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object.")] = False,
    only: Annotated[list[str] | None, typer.Option(help=f"Only these parts: {', '.join(PARTS)}.")] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of the loop.", min=20)] = 1000,
) -> None:
    """Measure latency of the loop, ingest, rules and gate. Needs a checkout (folder benchmarks/)."""
    root = next((p for p in (Path.cwd(), *Path.cwd().parents) if (p / "benchmarks" / "loop.py").is_file()), None)
    if root is None:
        fail(
            "the benchmarks are not in this folder", "run it inside a checkout of Spanward: they start a real Collector"
        )
    if unknown := set(only or ()) - set(PARTS):
        fail(f"there is no part {', '.join(sorted(unknown))}", f"write one of {', '.join(PARTS)}")
    sys.path.insert(0, str(root))
    module = runpy.run_path(str(root / "benchmarks" / "suite.py"))
    figures = module["measure"](only or PARTS, rounds)
    if as_json:
        typer.echo(json.dumps(figures, indent=1))
    else:
        out.print_json(json.dumps(figures))
