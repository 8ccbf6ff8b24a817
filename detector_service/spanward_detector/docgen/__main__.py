"""``python -m spanward_detector.docgen [--check]``: bring the generated pages up to date, or say which are not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from spanward_detector.docgen import checkout, stale, write


def main(
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 when a page is stale.")] = False,
) -> None:
    """Generate docs/rules, docs/attributes.md and docs/content-off.md."""
    root = checkout(Path.cwd())
    if root is None:
        sys.stderr.write("this is no checkout of the project: the pages take their examples from its tests\n")
        raise typer.Exit(2)
    paths = stale(root) if check else write(root)
    for path in paths:
        typer.echo(f"{'stale' if check else 'written'}: {path}")
    if check and paths:
        typer.echo("run `python -m spanward_detector.docgen`")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
