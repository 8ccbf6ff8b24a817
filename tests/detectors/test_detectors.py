"""Every detector has a file, a line in the tuple and cases; it speaks where it should, and nowhere else."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from spanward_detector import detectors
from spanward_detector.detectors import DETECTORS
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.model import Kind

from tests.detectors.script import Case, found

HERE = Path(__file__).parent
SOURCES = Path(detectors.__file__).parent
NAMES = [detector.name for detector in DETECTORS]


def cases(name: str) -> ModuleType:
    """The module with a detector's cases."""
    spec = importlib.util.spec_from_file_location(f"cases_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def params(kind: str) -> list[object]:
    """All cases of one kind, as parameters."""
    return [
        pytest.param(name, case, id=f"{name}-{re.sub(r'[^a-z0-9]+', '-', case.name.lower())}")
        for name in NAMES
        if (HERE / f"{name}.py").exists()
        for case in getattr(cases(name), kind)
    ]


def test_every_detector_has_a_file_a_line_and_cases() -> None:
    """Files, tuple and cases name the same detectors, and each has cases of both kinds."""
    files = {p.stem for p in SOURCES.glob("*.py")} - {"__init__", "base"}
    scenarios = {p.stem for p in HERE.glob("*.py")} - {"script", "test_detectors"}

    assert sorted(files) == sorted(NAMES)
    assert sorted(scenarios) == sorted(NAMES)
    assert len(set(NAMES)) == len(NAMES)
    assert all(len(cases(name).FIRES) >= 1 and len(cases(name).QUIET) >= 2 for name in NAMES)


@pytest.mark.parametrize("detector", DETECTORS, ids=NAMES)
def test_a_detector_is_frozen_thresholds_with_a_known_vocabulary(detector: type) -> None:
    """Fields are defaults that can be set, failure types and kinds are known, and the instance cannot change."""
    made = detector()

    assert dataclasses.is_dataclass(detector)
    assert {f.name for f in dataclasses.fields(detector)} >= {"mode"}
    assert set(made.failure_types) <= set(FAILURE_TYPES)
    assert made.kinds <= set(Kind)
    assert detector.__doc__
    assert all(f"{f.name}: " in detector.__doc__ for f in dataclasses.fields(detector))
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.mode = "observe"


@pytest.mark.parametrize(("name", "case"), params("FIRES"))
def test_it_fires(name: str, case: Case) -> None:
    """The detector speaks at exactly the steps that the case names."""
    findings = found(case, name)

    assert tuple(f.step for f in findings) == case.at
    assert not case.severity or findings[0].severity == case.severity
    assert not case.mode or findings[0].mode == case.mode
    assert dict(findings[0].facts) | dict(case.facts) == dict(findings[0].facts)


@pytest.mark.parametrize(("name", "case"), params("QUIET"))
def test_it_stays_quiet(name: str, case: Case) -> None:
    """The detector says nothing, or no more than that it is information."""
    assert [f for f in found(case, name) if f.severity != "info"] == []


@pytest.mark.parametrize(("name", "case"), params("FIRES"))
def test_facts_hold_no_content(name: str, case: Case) -> None:
    """What a finding carries are names, codes and numbers: nothing of a result, an argument or an answer."""
    for finding in found(case, name):
        told = " ".join((finding.message, *map(str, finding.facts.values())))
        assert "SECRET" not in told
        assert all(isinstance(value, str | int | float) for value in finding.facts.values())
