"""``spanward tail``: findings and directives as they come."""

from __future__ import annotations

import time
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.text import Text

from spanward_detector.cli.client import DEFAULT_URL, get
from spanward_detector.cli.console import json_line, out


def tail(
    url: Annotated[str, typer.Option(help="HTTP address of the detector.")] = DEFAULT_URL,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1)] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print what is there and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One object a line.")] = False,
) -> None:
    """Follow findings and directives of all runs."""
    seen: set[tuple[str, ...]] = set()
    if not as_json:
        out.print(
            "[quiet]Following findings and directives; Ctrl-C ends.[/]" if not once else "",
            end="\n" if not once else "",
        )
    counted: dict[str, tuple[object, ...]] = {}
    while True:
        for run in get(url, "/api/runs")["runs"]:
            state = (run["state"], run["steps"], run["findings"])
            if counted.get(run["run_id"]) == state and run["state"] in ("DONE", "FAILED"):
                continue
            counted[run["run_id"]] = state
            try:
                _news(get(url, f"/api/runs/{quote(run['run_id'], safe='')}"), run, seen, as_json)
            except LookupError:
                continue  # retention was quicker
        if once:
            return
        try:
            time.sleep(interval)
        except KeyboardInterrupt:
            return


def _news(run: dict[str, Any], summary: dict[str, Any], seen: set[tuple[str, ...]], as_json: bool) -> None:
    for kind, items, key in (
        ("finding", run["findings"], ("rule", "failure_type", "span_id")),
        ("directive", run["directives"], ("id", "state")),
    ):
        for item in items:
            mark = (run["run_id"], kind, *(str(item[k]) for k in key))
            if mark in seen:
                continue
            seen.add(mark)
            if as_json:
                json_line({"event": kind, "run_id": run["run_id"], "agent": summary["agent"], **item})
                continue
            line = Text(f"{run['run_id'][-12:]} ", style="quiet").append(
                f"{summary['agent'] or '-':<16} ", style="agent"
            )
            if kind == "finding":
                line.append(f"{item['failure_type']:<20}", style=f"finding.{item['severity']}").append(
                    item.get("message", "")
                )
            else:
                line.append(f"{item['level']} {item['kind']:<17}", style="directive").append(item["state"])
            out.print(line)
