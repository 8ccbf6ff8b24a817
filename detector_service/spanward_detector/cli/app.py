"""All commands in one table. Only the module of the command asked for is loaded: together they take a second."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

from spanward_detector import __version__
from spanward_detector.cli.console import out

COMMANDS: Final = {
    "up": "up", "demo": "demo", "replay": "replay", "doctor": "doctor", "export": "export", "tail": "tail",
    "runs": "runs", "bench": "bench", "eval": "eval_command", "policy": "app",
}  # fmt: skip
"""Name of each command and of its module -> what in there it is."""


def make_app(arguments: Sequence[str]) -> typer.Typer:
    """The command line, with the command that the arguments name, or with all of them."""
    app = typer.Typer(
        name="spanward",
        help="Watches LLM agents through OpenTelemetry and steers them while they run.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
    )
    app.callback()(_root)
    first = arguments[0] if arguments else ""
    for name in () if first == "--version" else (first,) if first in COMMANDS else COMMANDS:
        command = getattr(import_module(f"spanward_detector.cli.{name}"), COMMANDS[name])
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _version(show: bool) -> None:
    if show:
        out.print(__version__)
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Detects failing steps of agents and steers the agents back."""
