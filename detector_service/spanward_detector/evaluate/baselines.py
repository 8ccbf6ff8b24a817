"""What it takes to beat: answers that look at nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from spanward_detector.evaluate.judge import Judged, Pair

Baseline = Callable[[Sequence[Judged]], list[Judged]]


def constant(judged: Sequence[Judged]) -> list[Judged]:
    """The one best constant of each subset, chosen with the labels in hand.

    Of a decisive step its most frequent number; of labelled steps the most frequent pair of number and category.
    """
    answers = []
    for name in dict.fromkeys(run.subset for run in judged):
        runs = [run for run in judged if run.subset == name]
        steps = Counter(run.decisive[0] for run in runs if run.decisive is not None)
        pairs = Counter(pair for run in runs for pair in run.gold if pair.step is not None)
        best = max(steps, key=lambda step: (steps[step], -step)) if steps else None
        pair = pairs.most_common(1)[0][0] if pairs else None
        answers += [_always(run, best, pair) for run in runs]
    return answers


def everything(judged: Sequence[Judged]) -> list[Judged]:
    """Every step flagged with every category of the set, a directive for each run, and the last step to blame."""
    names = {pair.category for run in judged for pair in run.gold}
    return [
        run._replace(
            flags=frozenset(Pair(step, name) for step in run.steps for name in names),
            acted=True,
            cause=_at(run, run.steps[-1]) if run.steps else None,
        )
        for run in judged
    ]


BASELINES: Final[Mapping[str, Baseline]] = {"constant": constant, "everything": everything}
"""By name, as in the report."""


def _always(run: Judged, step: int | None, pair: Pair | None) -> Judged:
    here = pair is not None and pair.step in run.steps
    return run._replace(
        flags=frozenset((pair,)) if pair is not None and here else frozenset(),
        acted=False,
        cause=_at(run, step) if step is not None else None,
    )


def _at(run: Judged, step: int) -> tuple[int, str] | None:
    return (step, run.agents[run.steps.index(step)]) if step in run.steps else None
