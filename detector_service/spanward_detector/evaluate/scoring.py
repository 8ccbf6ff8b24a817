"""Scores of judged runs, by the definitions that the sets were published with. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from spanward_detector.evaluate.judge import Judged, Pair
from spanward_detector.evaluate.mapping import Rules

TOLERANCE: Final = 1
"""Steps between a flag and a label that still count as the same place in the ``_pm1`` figures."""


class Subset(NamedTuple):
    """One part of a set.

    Attributes:
        n: runs.
        labels: labelled pairs of step and category.
        flags: pairs that were flagged.
        joint_recall: share of the labelled pairs that were flagged: TRAIL's joint accuracy, over all runs together.
        joint_recall_per_trace: the same per run, then the mean over runs that have labels, as TRAIL's own script does.
        location_recall: share of the labelled steps that were flagged with anything.
        pair_precision: share of the flagged pairs that are labelled; None without flags.
        flags_per_trace: pairs flagged per run; None where neither labels nor flags have a category.
        step_accuracy: share of runs whose decisive step was named; None where it is not labelled.
        agent_accuracy: the same for the agent.
    """

    n: int
    labels: int = 0
    flags: int = 0
    joint_recall: float | None = None
    joint_recall_per_trace: float | None = None
    location_recall: float | None = None
    pair_precision: float | None = None
    flags_per_trace: float | None = None
    step_accuracy: float | None = None
    agent_accuracy: float | None = None


class Category(NamedTuple):
    """One category of a set, over all its runs.

    Attributes:
        n: labels.
        flags: flags that are judged; see :attr:`spanward_detector.evaluate.mapping.Rules.exhaustive`.
        unjudged: flags after the last label of a run whose labels stop at the decisive failure.
        precision: share of the flags at a labelled step; None without flags.
        recall: share of the labels at a flagged step; None without labels.
        f1: of the two.
        precision_pm1: the same within one step.
        recall_pm1: the same within one step.
        precision_pm1_all: as ``precision_pm1``, with every unjudged flag counted as wrong.
    """

    n: int
    flags: int
    unjudged: int
    precision: float | None
    recall: float | None
    f1: float | None
    precision_pm1: float | None
    recall_pm1: float | None
    precision_pm1_all: float | None


class Scores(NamedTuple):
    """All figures of a set.

    Attributes:
        subsets: by name.
        categories: by name, the frequent ones first.
        good_runs: runs that went well.
        good_runs_with_act_finding: share of them with a finding that may lead to a directive; None without such runs.
    """

    subsets: Mapping[str, Subset]
    categories: Mapping[str, Category]
    good_runs: int
    good_runs_with_act_finding: float | None


def score(judged: Sequence[Judged], rules: Rules) -> Scores:
    """All figures of a set of judged runs."""
    names = dict.fromkeys([*rules.subsets.values(), *(run.subset for run in judged)])
    parts = {name: [run for run in judged if run.subset == name] for name in names}
    good = [run for run in judged if run.good]
    return Scores(
        {name: subset(runs, causes=rules.causes) for name, runs in parts.items() if runs},
        {} if rules.causes else categories(judged, exhaustive=rules.exhaustive),
        len(good),
        _share(sum(run.acted for run in good), len(good)),
    )


def subset(runs: Sequence[Judged], *, causes: bool) -> Subset:
    """Figures of one part of a set."""
    if causes:
        told = [run for run in runs if run.decisive is not None]
        step = sum(run.cause is not None and run.cause[0] == run.decisive[0] for run in told if run.decisive)
        agent = sum(run.cause is not None and run.cause[1] == run.decisive[1] for run in told if run.decisive)
        return Subset(len(runs), step_accuracy=_share(step, len(told)), agent_accuracy=_share(agent, len(told)))
    gold, flags = sum(len(run.gold) for run in runs), sum(len(run.flags) for run in runs)
    hits = [len(run.gold & run.flags) for run in runs]
    per_trace = [hit / len(run.gold) for hit, run in zip(hits, runs, strict=True) if run.gold]
    places = [(_steps(run.gold), _steps(run.flags)) for run in runs]
    return Subset(
        n=len(runs),
        labels=gold,
        flags=flags,
        joint_recall=_share(sum(hits), gold),
        joint_recall_per_trace=_share(sum(per_trace), len(per_trace)),
        location_recall=_share(sum(len(a & b) for a, b in places), sum(len(a) for a, _ in places)),
        pair_precision=_share(sum(hits), flags),
        flags_per_trace=flags / len(runs) if flags or gold else None,
    )


def categories(runs: Sequence[Judged], *, exhaustive: bool) -> dict[str, Category]:
    """Figures per category, for all that is labelled or flagged."""
    labelled = Counter(pair.category for run in runs for pair in run.gold)
    flagged = {pair.category for run in runs for pair in run.flags}
    names = [*(name for name, _ in labelled.most_common()), *sorted(flagged - labelled.keys())]
    return {name: category(runs, name, exhaustive=exhaustive) for name in names}


def category(runs: Iterable[Judged], name: str, *, exhaustive: bool) -> Category:
    """Figures of one category."""
    n = flags = unjudged = exact_flags = exact_labels = near_flags = near_labels = 0
    for run in runs:
        gold = [pair.step for pair in run.gold if pair.category == name]
        said = sorted(pair.step for pair in run.flags if pair.category == name and pair.step is not None)
        n += len(gold)
        places = _steps(run.gold)
        if not exhaustive and places:
            last = max(places) + TOLERANCE
            unjudged += sum(step > last for step in said)
            said = [step for step in said if step <= last]
        flags += len(said)
        exact_flags += sum(step in gold for step in said)
        near_flags += sum(any(_near(step, at) for at in gold) for step in said)
        exact_labels += sum(at in said for at in gold)
        near_labels += sum(any(_near(step, at) for step in said) for at in gold)
    precision, recall = _share(exact_flags, flags), _share(exact_labels, n)
    return Category(
        n, flags, unjudged, precision, recall, _f1(precision, recall), _share(near_flags, flags),
        _share(near_labels, n), _share(near_flags, flags + unjudged),
    )  # fmt: skip


def _near(step: int, at: int | None) -> bool:
    return at is not None and abs(step - at) <= TOLERANCE


def _steps(pairs: Iterable[Pair]) -> set[int]:
    return {pair.step for pair in pairs if pair.step is not None}


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _f1(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
