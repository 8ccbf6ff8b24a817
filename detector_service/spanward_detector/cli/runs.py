"""``spanward runs``: what ran, how it went; one run with its steps, findings and directives."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table
from rich.text import Text

from spanward_detector.cli.client import DEFAULT_URL, get
from spanward_detector.cli.console import STATE_STYLE, fail, json_line, out


def runs(
    run_id: Annotated[str | None, typer.Argument(help="One run; without it, all of them.")] = None,
    url: Annotated[str, typer.Option(help="HTTP address of the detector.")] = DEFAULT_URL,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, one run a line.")] = False,
) -> None:
    """List runs, or show one."""
    if run_id is not None:
        try:
            one = get(url, f"/api/runs/{quote(run_id, safe='')}")
        except LookupError:
            fail(f"there is no run {run_id!r}", "list them with `spanward runs`", code=1)
        json_line(one) if as_json else show_run(one)
        return
    found = get(url, "/api/runs")["runs"]
    if as_json:
        for run in found:
            json_line(run)
        return
    if not found:
        out.print(
            "No run yet. Instrument an agent with [directive]instrument_agent()[/], or try [directive]spanward demo[/]."
        )
        return
    table = Table(box=None, header_style="quiet")
    table.add_column("run", no_wrap=True)
    for column in ("agent", "state", "steps", "findings", "started"):
        table.add_column(column)
    for run in found:
        table.add_row(
            run["run_id"],
            Text(run["agent"] or "-", style="agent"),
            Text(run["state"], style=STATE_STYLE.get(run["state"], "")),
            str(run["steps"]),
            str(run["findings"]),
            _when(run.get("started_at")),
        )
    out.print(table)


def show_run(run: dict[str, Any]) -> None:
    """One run as a timeline: each step, what was found at it and what was ordered."""
    out.print(f"run [bold]{run['run_id']}[/]  ", Text(run["state"], style=STATE_STYLE.get(run["state"], "")))
    if cause := run.get("first_cause"):
        where = f"step {cause['step']}" if cause["step"] else "a step"
        who = f" of {cause['agent']}" if cause["agent"] else ""
        out.print(Text(f"broke at {where}{who}: {cause['why']}", style="bad"))
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in run["findings"]:
        found.setdefault(finding["span_id"], []).append(finding)
    ordered: dict[str, list[dict[str, Any]]] = {}
    for directive in run["directives"]:
        ordered.setdefault(directive.get("span_id", ""), []).append(directive)
    shown = set()
    for step in run["steps"]:
        shown.add(step["span_id"])
        line = Text(f"{step['index'] or '':>4} ")
        line.append(f"{step['kind']:<10} ", style="quiet")
        line.append(step["action"] or "-", style="bad" if step.get("failed") else "bold")
        line.append(f"  {step.get('duration_ms') or 0:.0f} ms", style="quiet")
        out.print(line)
        _show_below(found.get(step["span_id"], []), ordered.get(step["span_id"], []))
    _show_below(
        [f for f in run["findings"] if f["span_id"] not in shown],
        [d for d in run["directives"] if d.get("span_id", "") not in shown],
    )


def _show_below(findings: list[dict[str, Any]], directives: list[dict[str, Any]]) -> None:
    for finding in findings:
        text = f"{finding['failure_type']}: {finding.get('message', '')}"
        out.print(Text(f"       ! {text}", style=f"finding.{finding['severity']}"))
    for directive in directives:
        level = f"{directive['level']} " if directive["level"] else ""
        out.print(Text(f"       > {level}{directive['kind']}: {directive['state']}", style="directive"))


def _when(stamp: object) -> str:
    try:
        return dt.datetime.fromisoformat(str(stamp)).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return "-"
