"""``spanward replay``: stored telemetry through the same pipeline as live traffic."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from spanward_detector.backtest import backtest, lines
from spanward_detector.cli.backtest_view import show_backtest
from spanward_detector.cli.console import err, fail, json_line, out
from spanward_detector.config import SEMANTIC_MODEL
from spanward_detector.policy import Policy, PolicyError, default, load
from spanward_detector.replay import STDIN, Found, ReplayError, as_json, sources
from spanward_detector.replay import replay as replay_files
from spanward_detector.semantic import SemanticError


def replay(
    files: Annotated[
        list[str], typer.Argument(help="OTLP as JSON, JSON lines or protobuf, gzipped or not; - is stdin.")
    ],
    policy: Annotated[Path | None, typer.Option(help="Policy file; default: the built-in policy.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="Another policy file: say what --policy finds that this one does not.")
    ] = None,
    as_json_lines: Annotated[bool, typer.Option("--json", help="One finding a line as JSON.")] = False,
) -> None:
    """Say what would have been found and ordered. Exit 0 whatever it finds, 2 when a file cannot be read.

    With --against it is a back-test: coverage first (which rules cannot fire on this telemetry, and why), then findings
    and directives that come and go between the two policies. Its JSON has one object a line with a ``type``: "coverage"
    (per source: ``can``, ``partly``, ``cannot``, ``unknown``), "rule" (per rule that differs: ``findings`` and
    ``directives`` as numbers gained, lost, changed; ``samples``), "summary".
    """
    rules = load_policy(policy)
    if against is not None:
        _back_test(files, rules, load_policy(against), as_json_lines)
        return
    with _ending():
        found = replay_files(sources(files, sys.stdin.buffer), rules)
        if as_json_lines:
            for one in found:
                json_line(as_json(one))
        else:
            _show(_with_progress(found, files), files)


def _back_test(files: list[str], new: Policy, old: Policy, as_json_lines: bool) -> None:
    with _ending():
        with err.status("replaying twice ..."):
            test = backtest(sources(files, sys.stdin.buffer), new, old)
        if as_json_lines:
            for line in lines(test):
                json_line(line)
        else:
            show_backtest(test)


@contextmanager
def _ending() -> Iterator[None]:
    """Ends the command with what is wrong, in words; quietly when the reader has seen enough."""
    try:
        yield
    except ReplayError as error:
        fail(str(error), "replay reads OTLP (JSON, JSON lines, protobuf), gzipped or not")
    except SemanticError as error:
        fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough


def load_policy(path: Path | None) -> Policy:
    """The policy of a file, or the default; ends the command with every problem when it is not sound.

    Its model for meaning is that of the environment where it names none, as it is for the detector.
    """
    try:
        rules = default() if path is None else load(path)
        return rules.with_model(os.environ.get(SEMANTIC_MODEL, "").strip())
    except PolicyError as error:
        fail(f"{path} is not sound:\n" + "\n".join(f"  {p}" for p in error.problems))
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read the policy: {error}")


def _with_progress(found: Iterable[Found], files: list[str]) -> Iterator[Found]:
    with err.status(f"reading {len(files)} file{'s' * (len(files) != 1)} ..."):
        yield from found


def _show(found: Iterable[Found], files: list[str]) -> None:
    table = Table("where", "agent", "step", "action", "found", "what", "would order", box=None, header_style="quiet")
    count = 0
    for one in found:
        count += 1
        finding, directive = one.finding, one.directive
        table.add_row(
            Path(one.file).name if one.file != STDIN else "stdin",
            Text(finding.agent or one.run.agent or "-", style="agent"),
            str(finding.step or "-"),
            finding.action or "-",
            Text(finding.failure_type, style=f"finding.{finding.severity}"),
            finding.message,
            Text(
                f"{directive.level} {directive.kind}".strip() if directive else "-",
                style="directive" if directive else "quiet",
            ),
        )
    if count:
        out.print(table)
    else:
        out.print(f"[good]Nothing found[/] in {len(files)} file{'s' * (len(files) != 1)}.")
