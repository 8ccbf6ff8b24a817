"""``spanward export``: stored runs as JSON lines, for evaluation and for keeping."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from spanward_detector.cli.console import err, fail


def export(
    data_dir: Annotated[
        Path | None, typer.Option(help="The detector's data folder; default: the user data folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")
    ] = None,
) -> None:
    """Write stored runs, one JSON object a line, with steps, findings, directives and transitions."""
    from spanward_detector.config import ServerConfig
    from spanward_detector.store import StoreError, open_for_reading

    folder = data_dir or ServerConfig.from_env().data_dir
    count = 0
    try:
        with open_for_reading(folder) as reader, _target(output) as target:
            for line in reader.export():
                target.write(line)
                count += 1
    except FileNotFoundError:
        fail(f"there is no store in {folder}", "name the folder that `spanward up --data-dir` was given")
    except BrokenPipeError:
        return
    except (StoreError, OSError) as error:
        fail(str(error))
    if output is not None:
        err.print(f"{count} runs written to {output}")


@contextmanager
def _target(path: Path | None) -> Iterator[BinaryIO]:
    """A file that is closed at the end, or standard output that is not."""
    if path is None:
        yield sys.stdout.buffer
        return
    with path.open("wb") as file:
        yield file
