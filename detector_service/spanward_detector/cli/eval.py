"""``spanward eval``: how well the rules do on recorded runs that people have labelled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from spanward_detector.cli.console import err, fail, json_line, out
from spanward_detector.cli.replay import load_policy
from spanward_detector.evaluate import BASELINES, SETS, StepsError, as_json, judge_all, read_runs, score
from spanward_detector.evaluate.report import tables
from spanward_detector.semantic import SemanticError


def eval_command(
    name: Annotated[str, typer.Option("--set", help=f"How the labels are to be read: {', '.join(SETS)}.")],
    steps: Annotated[Path, typer.Option(help="Steps, one a line as JSON, gzipped or not.")],
    traces: Annotated[Path | None, typer.Option(help="Traces with outcome and labels, one a line.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Policy file; default: the built-in policy.")] = None,
    as_json_object: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Score what is found in labelled runs, with baselines that look at nothing beside. Exit 2 on unreadable input."""
    if (rules := SETS.get(name)) is None:
        fail(f"no such set: {name}", f"known ones: {', '.join(SETS)}")
    thresholds = load_policy(policy)
    try:
        runs = read_runs(steps, traces)
    except StepsError as error:
        fail(f"{steps}: {error}", "each line is one step as JSON; docs/eval.md tells the keys")
    except OSError as error:
        fail(f"cannot read {error.filename or steps}: {error.strerror or error}")
    columns = (TextColumn("judging runs"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=as_json_object) as progress:
        task = progress.add_task("", total=len(runs))
        try:
            judged = judge_all(runs, rules, thresholds, lambda: progress.advance(task))
        except SemanticError as error:
            fail(str(error))
    scores = score(judged, rules)
    baselines = {key: score(baseline(judged), rules) for key, baseline in BASELINES.items()}
    if as_json_object:
        json_line(as_json(name, scores, baselines))
        return
    for shown in tables(name, scores, baselines):
        out.print(shown)
        out.print()
