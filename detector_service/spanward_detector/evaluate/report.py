"""Scores as one JSON object and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.table import Table
from rich.text import Text

from spanward_detector.evaluate.scoring import Scores

_DIGITS: Final = 4

_SUBSET: Final = (
    ("joint_recall", "joint recall"),
    ("pair_precision", "pair precision"),
    ("location_recall", "location recall"),
    ("flags_per_trace", "flags a trace"),
    ("step_accuracy", "step"),
    ("agent_accuracy", "agent"),
)
_CATEGORY: Final = (
    ("precision", "precision"),
    ("recall", "recall"),
    ("f1", "F1"),
    ("precision_pm1", "precision ±1"),
    ("recall_pm1", "recall ±1"),
)


def as_json(name: str, scores: Scores, baselines: Mapping[str, Scores]) -> dict[str, object]:
    """All figures of a set; the keys are part of the command's interface. A figure that does not apply is null."""
    return {"set": name, **_figures(scores), "baselines": {key: _figures(value) for key, value in baselines.items()}}


def _figures(scores: Scores) -> dict[str, object]:
    return {
        "subsets": {name: _rounded(part._asdict()) for name, part in scores.subsets.items()},
        "categories": {name: _rounded(part._asdict()) for name, part in scores.categories.items()},
        "good_runs": scores.good_runs,
        "good_runs_with_act_finding": _round(scores.good_runs_with_act_finding),
    }


def _rounded(figures: Mapping[str, object]) -> dict[str, object]:
    return {key: _round(value) for key, value in figures.items()}


def _round(value: object) -> object:
    return round(value, _DIGITS) if isinstance(value, float) else value


def tables(name: str, scores: Scores, baselines: Mapping[str, Scores]) -> list[Table | Text]:
    """The same for a person: subsets with the baselines beside, categories, good runs."""
    shown: list[Table | Text] = [_subsets(name, scores, baselines)]
    if scores.categories:
        shown.append(_categories(scores))
    if scores.good_runs_with_act_finding is not None:
        share = scores.good_runs_with_act_finding
        shown.append(
            Text.assemble(
                f"{scores.good_runs} good runs, ",
                (f"{share:.1%} with a finding that may act", "good" if share <= 0.01 else "bad"),
            )
        )
    return shown


def _subsets(name: str, scores: Scores, baselines: Mapping[str, Scores]) -> Table:
    columns = [
        (key, title) for key, title in _SUBSET if any(getattr(p, key) is not None for p in scores.subsets.values())
    ]
    table = Table(name, "by", "runs", *(title for _, title in columns), box=None, header_style="quiet")
    for subset, part in scores.subsets.items():
        table.add_row(subset, "rules", str(part.n), *(_cell(getattr(part, key)) for key, _ in columns))
        for baseline, other in baselines.items():
            figures = other.subsets[subset]
            cells = (_cell(getattr(figures, key)) for key, _ in columns)
            table.add_row("", baseline, "", *cells, style="quiet")
    return table


def _categories(scores: Scores) -> Table:
    table = Table(
        "category", "labels", "flags", *(title for _, title in _CATEGORY), "not judged", box=None, header_style="quiet"
    )
    for name, part in scores.categories.items():
        cells = (_cell(getattr(part, key)) for key, _ in _CATEGORY)
        table.add_row(name, str(part.n), str(part.flags), *cells, str(part.unjudged or ""))
    return table


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
