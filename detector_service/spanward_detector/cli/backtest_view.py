"""A back-test for a person: coverage, then what comes and goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.table import Table
from rich.text import Text

from spanward_detector.backtest import SAMPLES, Backtest, Change, RuleChange, totals
from spanward_detector.cli.console import out
from spanward_detector.doctor import SIGNS, Status

_WAY_STYLE: Final[Mapping[str, str]] = {"gained": "good", "lost": "bad", "changed": "yellow"}


def show_backtest(test: Backtest) -> None:
    """Print it."""
    _show_coverage(test)
    differing = {name: rule for name, rule in test.rules.items() if rule.differs}
    total = totals(test)
    if not differing:
        out.print(f"\n[good]No difference[/]: {total['same']} findings under both policies.")
        if not test.coverage.diagnoses:
            out.print("There was nothing of an agent in the files; `spanward doctor` says more.")
        return
    table = Table("rule", "old", "new", "gained", "lost", "changed", "directives", box=None, header_style="quiet")
    for name, rule in differing.items():
        orders = " ".join(f"{way} {len(rule.directives[way])}" for way in _WAY_STYLE if rule.directives[way])
        table.add_row(name, str(rule.old), str(rule.new), *(_number(rule, way) for way in _WAY_STYLE), orders or "-")
    out.print()
    out.print(table)
    for name, rule in differing.items():
        for way in _WAY_STYLE:
            for change in rule.findings[way][:SAMPLES]:
                _show_sample(name, way, change)
        for way in _WAY_STYLE:
            for change in rule.directives[way][:SAMPLES]:
                _show_order(name, way, change)


def _show_coverage(test: Backtest) -> None:
    for one in test.coverage.diagnoses:
        source = one.source
        out.print(
            Text(source.service or "no service name", style="agent"),
            Text(", ".join(sorted(filter(None, source.scopes)) or source.dialects)),
            f"[quiet]{len(source.runs)} runs, {len(source.steps)} steps; {one.count(Status.CAN)} rules can fire[/]",
            soft_wrap=True,
        )
        for status, style in ((Status.CANNOT, "bad"), (Status.PARTLY, "yellow"), (Status.UNKNOWN, "quiet")):
            for rule in one.rules:
                if rule.status is status:
                    why = ", ".join(SIGNS[signal].text for signal in rule.missing)
                    out.print(
                        Text(f"  {rule.rule} {status.value}", style=style), Text(f"for want of: {why}", style="quiet")
                    )


def _number(rule: RuleChange, way: str) -> Text:
    count = len(rule.findings[way])
    return Text(str(count) if count else "-", style=_WAY_STYLE[way] if count else "quiet")


def _show_sample(name: str, way: str, change: Change) -> None:
    finding = change.shown.finding
    was = f" (was {change.old.finding.severity}, {change.old.finding.mode})" if way == "changed" and change.old else ""
    out.print(
        Text(f"{way:<8}", style=_WAY_STYLE[way]),
        Text(f"{name}  {finding.severity}  step {finding.step}  {finding.action}: {finding.message}{was}"),
        Text(f"{finding.ref.trace_id}/{finding.ref.span_id}", style="quiet"),
        soft_wrap=True,
    )


def _show_order(name: str, way: str, change: Change) -> None:
    new = change.new.directive.kind if change.new and change.new.directive else "nothing"
    old = change.old.directive.kind if change.old and change.old.directive else "nothing"
    out.print(
        Text(f"{way:<8}", style=_WAY_STYLE[way]),
        Text(f"{name}  step {change.shown.finding.step}  would order {new}, not {old}", style="directive"),
        soft_wrap=True,
    )
