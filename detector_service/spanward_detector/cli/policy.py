"""``spanward policy lint``: is this policy sound, and sane?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from spanward_detector.cli.console import err, fail, json_line, out
from spanward_detector.policy import default_text, lint, show

app = typer.Typer(help="Check and show policies.", no_args_is_help=True)


@app.command("lint")
def lint_command(
    files: Annotated[list[Path], typer.Argument(help="Policy files (YAML).")],
    durations: Annotated[
        Path | None,
        typer.Option(help="What `spanward doctor --json` said: timeouts are held against the durations seen."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One problem a line as JSON.")] = False,
) -> None:
    """Check policy files. Exit 0: fine, maybe with warnings; 1: refused; 2: cannot be read."""
    refused = False
    longest_s = _longest(durations)
    for file in files:
        try:
            problems = lint(file.read_text(encoding="utf-8"), longest_s)
        except (OSError, UnicodeDecodeError) as error:
            fail(f"{file}: {error}")
        refused = refused or any(p.level == "error" for p in problems)
        if as_json:
            for p in problems:
                json_line({"file": str(file), "line": p.line, "level": p.level, "message": p.message, "hint": p.hint})
            continue
        for problem, line in zip(problems, show(problems, str(file)), strict=True):
            err.print(f"[finding.{problem.level}]{line.replace('[', chr(92) + '[')}[/]", soft_wrap=True)
        if not problems:
            out.print(f"[good]{file}: sound[/]")
    if refused:
        raise typer.Exit(1)


def _longest(path: Path | None) -> dict[str, float]:
    """Seconds of the longest normal call by tool."""
    if path is None:
        return {}
    try:
        seen = json.loads(path.read_text(encoding="utf-8"))["durations"]
        return {str(tool): float(seconds) for tool, seconds in seen.items()}
    except OSError as error:
        fail(f"{path}: {error.strerror or error}")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        fail(f"{path} is not what doctor says", f"spanward doctor traces.json --json > {path.name}")


@app.command("default")
def default_command() -> None:
    """Print the default policy, to start your own from."""
    typer.echo(default_text(), nl=False)
