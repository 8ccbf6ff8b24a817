"""``spanward doctor``: which rules cannot fire on this telemetry, and the setting that changes it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer
from rich.table import Table
from rich.text import Text

from spanward_detector import doctor as diagnosis
from spanward_detector.cli.client import DEFAULT_URL, get
from spanward_detector.cli.console import err, fail, json_line, out
from spanward_detector.cli.replay import load_policy
from spanward_detector.doctor import SIGNS, Diagnosis, Report, Standing, Status
from spanward_detector.doctor.live import report as live_report
from spanward_detector.policy import Policy, lint
from spanward_detector.replay import ReplayError, sources

_RUNS: Final = 100
_STYLE: Final[Mapping[Status, str]] = {
    Status.CAN: "good",
    Status.PARTLY: "yellow",
    Status.CANNOT: "bad",
    Status.UNKNOWN: "quiet",
}
_SHOWN: Final = (Status.CANNOT, Status.PARTLY, Status.UNKNOWN)


def doctor(
    files: Annotated[list[str] | None, typer.Argument(help="OTLP as JSON, JSON lines or protobuf; - is stdin.")] = None,
    live: Annotated[bool, typer.Option("--live", help="Ask a running detector for what it has stored.")] = False,
    url: Annotated[str, typer.Option(help="HTTP address of the detector, for --live.")] = DEFAULT_URL,
    policy: Annotated[Path | None, typer.Option(help="Policy whose deadlines are held against the durations.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say which rules cannot fire on this telemetry and what to set, and which deadlines fit the tools.

    Exit 0 whatever it says, 2 when a file cannot be read. With --json one object on one line: ``spans``,
    ``log_records``, ``sources`` (per service and instrumentations: ``signals``, ``rules`` with ``status`` can |
    partly | cannot | unknown, ``missing`` and ``fixes``, ``remedies``, ``problems``, ``tools`` with ``suggest_s``),
    ``problems``, ``deadlines`` (of --policy), ``durations`` (tool -> seconds of the longest normal call; as the option
    --durations of ``policy lint`` takes it), ``unknowable``.
    """
    if bool(files) == live:
        fail("name files, or --live", "spanward doctor traces.json logs.json, or spanward doctor --live")
    rules = load_policy(policy)
    with err.status("looking ..."):
        found = _ask(url, rules) if live else _read(files or [], rules)
    if policy is not None:
        found = diagnosis.with_deadlines(found, _deadlines(policy, found))
    if as_json:
        json_line(diagnosis.as_json(found))
    else:
        _show(found)


def _read(files: list[str], policy: Policy) -> Report:
    census = diagnosis.Census(policy)
    try:
        diagnosis.take(sources(files, sys.stdin.buffer), census)
    except ReplayError as error:
        fail(str(error), "doctor reads OTLP (JSON, JSON lines, protobuf), gzipped or not")
    return diagnosis.report(census, policy)


def _ask(url: str, policy: Policy) -> Report:
    runs: list[dict[str, Any]] = []
    for run in get(url, f"/api/runs?limit={_RUNS}")["runs"]:
        try:
            runs.append(get(url, f"/api/runs/{quote(str(run['run_id']), safe='')}"))
        except LookupError:
            continue  # retention was faster
    return live_report(runs, policy)


def _deadlines(path: Path, found: Report) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    usual = set(lint(text))
    return [problem for problem in lint(text, found.longest) if problem not in usual]


# ------------------------------------------------------------------------------------------------------- for a person


def _show(found: Report) -> None:
    if not found.diagnoses:
        _show_nothing(found)
        return
    for one in found.diagnoses:
        _show_source(one)
    for complaint in found.complaints:
        _line(complaint.severity, complaint.message, complaint.fix)
    for problem in found.deadlines:
        _line(problem.level, f"line {problem.line}: {problem.message}", problem.hint)
    if found.unknowable:
        out.print("\n[quiet]Cannot be told from here:[/]")
        for what in found.unknowable:
            out.print(Text(f"  {what}", style="quiet"))


def _show_nothing(found: Report) -> None:
    if found.spans:
        out.print(f"[bad]{found.spans} spans, and none is of an agent that is known here.[/]")
        out.print("Instrument the agent: [directive]spanward.instrument_agent()[/], or one of the instrumentations of")
        out.print("OTel GenAI, OpenInference, OpenLLMetry, PydanticAI, LangSmith, Vercel AI SDK, Strands or ADK.")
    elif found.logs:
        out.print("[bad]Only log records.[/] Name the file with their traces too.")
    else:
        out.print("Nothing to look at yet. Run an agent, or try [directive]spanward demo[/]; then ask again.")


def _show_source(one: Diagnosis) -> None:
    source = one.source
    out.print()
    out.print(
        Text(source.service or "no service name", style="agent"),
        Text(", ".join(sorted(filter(None, source.scopes)) or source.dialects)),
        f"[quiet]{len(source.runs)} runs, {len(source.steps)} steps[/]",
    )
    out.print(*(Text(f"{one.count(status)} {status.value}", style=_STYLE[status]) for status in Status), sep="  ")
    rules = [rule for status in _SHOWN for rule in one.rules if rule.status is status]
    if rules:
        table = Table("rule", "fires", "for want of", "so", box=None, header_style="quiet", padding=(0, 2, 0, 0))
        for rule in rules:
            table.add_row(rule.rule, Text(rule.status.value, style=_STYLE[rule.status]), _missing(rule), rule.note)
        out.print(table)
    for remedy in one.remedies:
        names = ", ".join(remedy.rules[:6]) + (f" and {len(remedy.rules) - 6} more" if len(remedy.rules) > 6 else "")
        out.print(Text("set ", style="good"), Text(remedy.setting, style="bold"), soft_wrap=True)
        out.print(Text(f"    for {names}", style="quiet"), soft_wrap=True)
    for complaint in one.complaints:
        _line(complaint.severity, complaint.message, complaint.fix)
    if one.tools:
        table = Table("tool", "calls", "median", "longest", "timeout to state", box=None, header_style="quiet")
        for tool in one.tools[:20]:
            table.add_row(
                tool.tool, str(tool.calls), f"{tool.median_s:.3g} s", f"{tool.longest_s:.3g} s", _stated(tool)
            )
        out.print(table)


def _missing(rule: Standing) -> str:
    return ", ".join(SIGNS[signal].text for signal in rule.missing)


def _stated(tool: Any) -> Text:
    if 0 < tool.stated_s < 1.5 * tool.longest_s:
        return Text(f"{tool.suggest_s:g} s, not {tool.stated_s:g} s", style="yellow")
    return Text(f"{tool.suggest_s:g} s")


def _line(level: str, message: str, hint: str) -> None:
    out.print(Text(f"{level}: {message}", style=f"finding.{level}"), soft_wrap=True)
    if hint:
        out.print(Text(f"    {hint}", style="quiet"), soft_wrap=True)
