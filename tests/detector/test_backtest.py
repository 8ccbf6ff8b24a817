"""Two policies on the same files: coverage first, then what comes and goes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import typer
from spanward_detector.backtest import SAMPLES, backtest, compare, lines, totals
from spanward_detector.cli.replay import replay as replay_command
from spanward_detector.policy import default, load
from spanward_detector.replay import replay, sources
from typer.testing import CliRunner, Result

from tests.detector.otlp import CAPTURES

LOOP = str(CAPTURES / "langgraph__openinference" / "loop.otlp.pb.gz")
ALL = [str(path) for path in sorted((CAPTURES / "langgraph__openinference").iterdir())]
APP = typer.Typer()
APP.command()(replay_command)


def run(*words: str) -> Result:
    """The command."""
    return CliRunner().invoke(APP, list(words), terminal_width=200)


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    """A policy whose loop rule speaks sooner, that only observes errors, and that never feeds back on a loop."""
    path = tmp_path / "strict.yaml"
    path.write_text(
        "version: 1\nrules:\n  loop: {repeats: 2}\n  tool_error: {mode: observe}\n"
        "  consecutive_errors: {repeats: 9}\nladders:\n  loop: [terminate]\n"
    )
    return path


def test_findings_and_directives_that_come_and_go(strict: Path) -> None:
    """A stricter loop rule gains, a laxer error count loses, a mode changes, and each takes its directive along."""
    test = backtest(sources([LOOP], io.BytesIO()), load(strict), default())
    loop, errors, count = (test.rules[name] for name in ("loop", "tool_error", "consecutive_errors"))

    assert len(loop.findings["gained"]) == loop.new - loop.old == 1
    assert errors.new == errors.old > len(errors.findings["changed"]) > 0  # the first is information in both
    assert count.new == 0
    assert len(count.findings["lost"]) == count.old > 0
    assert {c.new.directive.kind for c in loop.directives["gained"] if c.new and c.new.directive} == {"terminate"}
    assert len(errors.directives["lost"]) > 0


def test_a_policy_against_itself_makes_no_difference(strict: Path) -> None:
    """Whatever it finds, it finds twice."""
    test = backtest(sources(ALL, io.BytesIO()), load(strict), load(strict))

    assert not any(rule.differs for rule in test.rules.values())
    assert totals(test)["same"] == sum(rule.new for rule in test.rules.values()) > 0


def test_the_other_way_round_gains_and_losses_change_places(strict: Path) -> None:
    """The comparison is symmetric."""
    new, old = load(strict), default()
    there = totals(backtest(sources(ALL, io.BytesIO()), new, old))
    back = totals(backtest(sources(ALL, io.BytesIO()), old, new))

    assert (there["gained"], there["lost"]) == (back["lost"], back["gained"])
    assert (there["directives_gained"], there["directives_lost"]) == (
        back["directives_lost"], back["directives_gained"],
    )  # fmt: skip
    assert (there["changed"], there["same"]) == (back["changed"], back["same"])


def test_it_is_made_of_two_replays(strict: Path) -> None:
    """The comparison of two replays is the same as what the back-test says."""
    new, old = load(strict), default()
    by_hand = compare(replay(sources(ALL, io.BytesIO()), new), replay(sources(ALL, io.BytesIO()), old))
    test = backtest(sources(ALL, io.BytesIO()), new, old)

    assert {name: (r.new, r.old) for name, r in by_hand.items()} == {n: (r.new, r.old) for n, r in test.rules.items()}


def test_standard_input_is_replayed_as_often_as_needed(strict: Path) -> None:
    """What can be read only once is held."""
    test = backtest(sources(["-"], io.BytesIO(Path(LOOP).read_bytes())), load(strict), default())

    assert test.coverage.spans > 0
    assert test.rules["loop"].old > 0


def test_lines_begin_with_coverage_and_end_with_a_summary(strict: Path) -> None:
    """Coverage says which rules cannot fire and why; samples have the keys of a replay's findings."""
    told = list(lines(backtest(sources(ALL, io.BytesIO()), load(strict), default())))
    coverage, summary = told[0], told[-1]
    rules = {line["rule"]: line for line in told if line["type"] == "rule"}

    assert [line["type"] for line in told] == ["coverage", *["rule"] * len(rules), "summary"]
    assert coverage["cannot"]["hung"] == ["gate"]  # type: ignore[index]
    assert set(rules) >= {"loop", "tool_error", "consecutive_errors"}
    for line in rules.values():
        for sample in line["samples"]:  # type: ignore[attr-defined]
            assert {"way", "of", "file", "run_id", "span_id", "failure_type", "directive"} <= set(sample)
            assert "was" in sample or sample["way"] != "changed"
    assert len(rules["loop"]["samples"]) <= 6 * SAMPLES  # type: ignore[arg-type]
    assert summary["rules"] == len(rules)


def test_the_command_prints_lines_of_json(strict: Path) -> None:
    """One object a line, coverage first."""
    done = run(LOOP, "--policy", str(strict), "--against", str(strict), "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.exit_code == 0
    assert [line["type"] for line in told] == ["coverage", "summary"]


def test_the_command_shows_a_person_what_changes(strict: Path) -> None:
    """Coverage, a table by rule, samples; and one word when nothing changes."""
    done = run(LOOP, "--policy", str(strict), "--against", str(strict))
    other = strict.with_name("other.yaml")
    other.write_text("version: 1\n")
    shown = run(LOOP, "--policy", str(strict), "--against", str(other))

    assert "No difference" in done.output
    assert "for want of: gate" in shown.output
    assert "gained" in shown.output
    assert "would order terminate" in shown.output


def test_what_cannot_be_read_ends_with_code_two(strict: Path, tmp_path: Path) -> None:
    """A file that is no telemetry, and a policy that is not sound."""
    (tmp_path / "bad").write_bytes(b"nothing")
    (tmp_path / "bad.yaml").write_text("nonsense: true\n")

    assert run(str(tmp_path / "bad"), "--against", str(strict)).exit_code == 2
    assert run(LOOP, "--against", str(tmp_path / "bad.yaml")).exit_code == 2
