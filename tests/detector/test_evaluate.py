"""Scores by hand-made runs: each figure by its definition, baselines beside, and the keys that scripts rely on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.cli import console
from spanward_detector.cli.eval import eval_command
from spanward_detector.evaluate import BASELINES, SETS, score
from spanward_detector.evaluate.judge import Judged, Pair
from spanward_detector.evaluate.scoring import category
from spanward_detector.failures import FAILURE_TYPES
from typer import Typer
from typer.testing import CliRunner

from tests.detector.test_evaluate_steps import row, write


def judged(
    gold: set[Pair] = frozenset(),  # type: ignore[assignment]
    flags: set[Pair] = frozenset(),  # type: ignore[assignment]
    *,
    subset: str = "gaia",
    good: bool | None = None,
    acted: bool = False,
    decisive: tuple[int, str] | None = None,
    cause: tuple[int, str] | None = None,
) -> Judged:
    """A judged run of ten steps by two agents in turn."""
    agents = ("ann", "bob") * 5
    return Judged(
        "t", subset, good, tuple(range(10)), agents, frozenset(gold), frozenset(flags), acted, decisive, cause
    )


def test_joint_recall_and_pair_precision() -> None:
    """Recall is over all labelled pairs, precision over all flagged ones, and the mean per run is told beside."""
    runs = [
        judged({Pair(1, "x"), Pair(2, "y"), Pair(3, "z")}, {Pair(1, "x"), Pair(2, "x")}),
        judged({Pair(4, "x")}, {Pair(4, "x"), Pair(5, "x"), Pair(6, "x")}),
        judged(),
    ]
    part = score(runs, SETS["trail"]).subsets["gaia"]

    assert (part.n, part.labels, part.flags) == (3, 4, 5)
    assert part.joint_recall == 2 / 4
    assert part.joint_recall_per_trace == pytest.approx((1 / 3 + 1) / 2)
    assert part.location_recall == 3 / 4
    assert part.pair_precision == 2 / 5
    assert part.flags_per_trace == pytest.approx(5 / 3)
    assert part.step_accuracy is None


def test_a_label_without_a_place_counts_as_missed() -> None:
    """What annotators could not place stays in the denominator."""
    part = score([judged({Pair(None, "x"), Pair(1, "x")}, {Pair(1, "x")})], SETS["trail"]).subsets["gaia"]

    assert part.joint_recall == 1 / 2


def test_a_category_within_one_step() -> None:
    """A flag beside a label counts in the tolerant figures only."""
    figures = category(
        [judged({Pair(3, "x"), Pair(7, "x")}, {Pair(4, "x"), Pair(7, "x"), Pair(9, "y")})], "x", exhaustive=True
    )

    assert (figures.n, figures.flags, figures.unjudged) == (2, 2, 0)
    assert (figures.precision, figures.recall, figures.f1) == (0.5, 0.5, 0.5)
    assert (figures.precision_pm1, figures.recall_pm1) == (1.0, 1.0)


def test_flags_after_the_last_label_are_not_judged_where_labels_stop() -> None:
    """They are counted, and told as wrong in the strict figure only; a run without labels is judged whole."""
    runs = [judged({Pair(2, "y"), Pair(3, "x")}, {Pair(3, "x"), Pair(8, "x")}), judged(set(), {Pair(9, "x")})]
    figures = category(runs, "x", exhaustive=False)

    assert (figures.flags, figures.unjudged) == (2, 1)
    assert (figures.precision_pm1, figures.precision_pm1_all) == (1 / 2, 1 / 3)


def test_step_and_agent_of_the_decisive_error() -> None:
    """Each is the share of runs in which it was named; runs without a label are left out."""
    runs = [
        judged(subset="hand_crafted", decisive=(3, "bob"), cause=(3, "bob")),
        judged(subset="hand_crafted", decisive=(3, "bob"), cause=(5, "bob")),
        judged(subset="hand_crafted", decisive=(3, "bob")),
        judged(subset="hand_crafted", cause=(0, "ann")),
    ]
    part = score(runs, SETS["whowhen"]).subsets["hand_crafted"]

    assert (part.n, part.step_accuracy, part.agent_accuracy) == (4, 1 / 3, 2 / 3)


def test_good_runs_with_a_finding_that_may_act() -> None:
    """Only runs known to be good count."""
    runs = [judged(good=True, acted=True), judged(good=True), judged(good=False, acted=True), judged(acted=True)]
    scores = score(runs, SETS["tau_airline"])

    assert (scores.good_runs, scores.good_runs_with_act_finding) == (2, 0.5)
    assert score([judged()], SETS["tau_airline"]).good_runs_with_act_finding is None


def test_the_constant_is_the_best_one() -> None:
    """It is chosen with the labels in hand, so that it is hard to beat."""
    runs = [judged(decisive=(step, "bob" if step % 2 else "ann")) for step in (1, 1, 4)]
    part = score(BASELINES["constant"](runs), SETS["whowhen"]).subsets["gaia"]

    assert (part.step_accuracy, part.agent_accuracy) == (2 / 3, 2 / 3)


def test_flagging_everything_finds_everything() -> None:
    """Its recall is whole and its precision the rate of labels."""
    runs = [judged({Pair(1, "x"), Pair(2, "y")}), judged({Pair(1, "x")})]
    part = score(BASELINES["everything"](runs), SETS["trail"]).subsets["gaia"]

    assert (part.joint_recall, part.pair_precision, part.flags_per_trace) == (1.0, 3 / 40, 20.0)


pairs = st.sets(st.builds(Pair, st.integers(0, 9), st.sampled_from("xyz")), max_size=12)


@given(pairs, pairs)
def test_scores_are_shares(gold: set[Pair], flags: set[Pair]) -> None:
    """Every figure lies between none and all, and tolerance never lowers one."""
    run = judged(gold, flags)
    part = score([run], SETS["trail"]).subsets["gaia"]
    for name, figures in score([run], SETS["trail"]).categories.items():
        assert figures.n == sum(pair.category == name for pair in gold)
        assert (figures.precision_pm1 or 0) >= (figures.precision or 0)
        assert 0 <= (figures.recall or 0) <= (figures.recall_pm1 or 0) <= 1
    assert not part.joint_recall or part.location_recall  # a hit is at a place; how many places is another count
    assert (part.joint_recall == 1) == (bool(gold) and gold <= flags)


def test_tables_speak_of_known_failure_types() -> None:
    """A key of a mapping is a failure type, with a reason behind a colon at most."""
    for rules in SETS.values():
        assert {key.partition(":")[0] for key in rules.table} <= set(FAILURE_TYPES)


# ------------------------------------------------------------------------------------------------------- the command

CATEGORY = [
    "n", "flags", "unjudged", "precision", "recall", "f1", "precision_pm1", "recall_pm1", "precision_pm1_all",
]  # fmt: skip
SUBSET = [
    "n", "labels", "flags", "joint_recall", "joint_recall_per_trace", "location_recall", "pair_precision",
    "flags_per_trace", "step_accuracy", "agent_accuracy",
]  # fmt: skip

runner = CliRunner()
app = Typer()
app.command()(eval_command)


@pytest.fixture
def trail(tmp_path: Path) -> list[str]:
    """A call whose argument the tool does not know, labelled where it was written."""
    label = [{"category": "Formatting Errors", "step": 1}]
    steps = [
        row(0, "agent", "Boss.run", span_id="a" * 16),
        row(1, "llm", "m", span_id="b" * 16, parent_span_id="a" * 16, labels=label,
            tool_calls=[{"name": "down", "arguments": '{"n": 1}'}]),
        row(2, "tool", "down", span_id="c" * 16, parent_span_id="a" * 16, args='{"n": 1}',
            error="TypeError: down() got an unexpected keyword argument 'n'"),
    ]  # fmt: skip
    traces = [{"trace_id": "t1", "subset": "GAIA", "labels": []}]
    return [
        "--set", "trail", "--steps", str(write(tmp_path / "s.jsonl.gz", steps, packed=True)),
        "--traces", str(write(tmp_path / "t.jsonl", traces)),
    ]  # fmt: skip


def test_json_has_the_keys_that_scripts_rely_on(trail: list[str]) -> None:
    """One object with subsets, categories, the share of good runs, and the same for each baseline."""
    done = runner.invoke(app, [*trail, "--json"])
    told = json.loads(done.stdout)

    assert done.exit_code == 0
    assert list(told) == ["set", "subsets", "categories", "good_runs", "good_runs_with_act_finding", "baselines"]
    assert list(told["subsets"]["gaia"]) == SUBSET
    assert list(told["categories"]["Formatting Errors"]) == CATEGORY
    assert told["subsets"]["gaia"]["joint_recall"] == 1.0
    assert list(told["baselines"]) == ["constant", "everything"]
    assert told["good_runs_with_act_finding"] is None


def test_a_person_gets_tables(trail: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules and baselines stand one below the other."""
    monkeypatch.setattr(console.out, "width", 160)
    done = runner.invoke(app, trail)

    assert done.exit_code == 0
    assert all(word in done.output for word in ("gaia", "rules", "constant", "everything", "Formatting Errors"))


@pytest.mark.parametrize(
    ("change", "told"), [({"--set": "other"}, "no such set"), ({"--steps": "/nowhere.jsonl"}, "cannot read")]
)
def test_bad_input_ends_with_two(trail: list[str], change: dict[str, str], told: str) -> None:
    """What is wrong is said, and the exit code is 2."""
    arguments = dict(zip(trail[::2], trail[1::2], strict=True)) | change
    done = runner.invoke(app, [part for pair in arguments.items() for part in pair])

    assert done.exit_code == 2


def test_the_decisive_step_of_a_conversation(tmp_path: Path) -> None:
    """The agent that makes data up is named, with the step."""
    steps = [
        row(0, "user", "boss", agent="boss", result="What did the house in Elm Street sell for?"),
        row(1, "llm", "clerk", agent="clerk", result="I will look for the sales file first, and then filter it."),
        row(2, "llm", "analyst", agent="analyst",
            result="The file is missing, so I use sample data.\n```python\nprices = [410000, 520000]\n```"),
    ]  # fmt: skip
    label = {"category": "mistake_agent", "value": "analyst", "step": 2}
    traces = [{"trace_id": "t1", "subset": "Algorithm-Generated", "outcome": "fail", "labels": [label]}]
    done = runner.invoke(
        app,
        ["--set", "whowhen", "--steps", str(write(tmp_path / "s.jsonl", steps)), "--traces",
         str(write(tmp_path / "t.jsonl", traces)), "--json"],
    )  # fmt: skip
    part = json.loads(done.stdout)["subsets"]["algorithm_generated"]

    assert (part["n"], part["step_accuracy"], part["agent_accuracy"]) == (1, 1.0, 1.0)
