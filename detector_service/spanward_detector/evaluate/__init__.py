"""How well the rules do on recorded runs that people have labelled."""

from __future__ import annotations

from spanward_detector.evaluate.baselines import BASELINES
from spanward_detector.evaluate.judge import Judged, judge_all
from spanward_detector.evaluate.mapping import SETS, Rules
from spanward_detector.evaluate.report import as_json
from spanward_detector.evaluate.scoring import Scores, score
from spanward_detector.evaluate.steps import Recorded, StepsError, read_runs, read_steps

__all__ = [
    "BASELINES",
    "SETS",
    "Judged",
    "Recorded",
    "Rules",
    "Scores",
    "StepsError",
    "as_json",
    "judge_all",
    "read_runs",
    "read_steps",
    "score",
]
