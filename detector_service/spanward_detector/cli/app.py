"""All commands in one table."""

from __future__ import annotations

from typing import Annotated

import typer

from spanward_detector import __version__
from spanward_detector.cli import bench, demo, doctor, export, policy, replay, runs, tail, up
from spanward_detector.cli import eval as evaluation
from spanward_detector.cli.console import out

app = typer.Typer(
    name="spanward",
    help="Watches LLM agents through OpenTelemetry and steers them while they run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
for command in (
    up.up, demo.demo, replay.replay, doctor.doctor, export.export, tail.tail, runs.runs, bench.bench,
):  # fmt: skip
    app.command()(command)
app.command("eval")(evaluation.eval_command)
app.add_typer(policy.app, name="policy")


def _version(show: bool) -> None:
    if show:
        out.print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Detects failing steps of agents and steers the agents back."""
