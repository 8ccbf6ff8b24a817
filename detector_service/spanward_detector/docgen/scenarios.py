"""Where the pages' examples come from: the tables of cases beside the tests of rules, and the captures of dialects."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from spanward_detector.ingest import decode_logs, decode_traces
from spanward_detector.model import SpanRef, Step
from spanward_detector.normalize import Normalizer

_SUFFIX: Final = ".otlp.pb.gz"


@dataclass(frozen=True, slots=True)
class Examples:
    """Cases of one rule, by name: where it fires, and where it stays quiet."""

    fires: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scripted:
    """A case that fires, as steps.

    Attributes:
        name: of the case.
        steps: as they come.
        thresholds: that the case sets.
        policy: text of the policy of rules that are made of a section of their own; "" for the others.
    """

    name: str
    steps: Sequence[Step]
    thresholds: dict[str, object] = field(default_factory=dict)
    policy: str = ""


class Scenarios:
    """Cases and captures of a checkout.

    Args:
        root: of the checkout.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def of_rule(self, rule: str) -> Examples:
        """Names of its cases; empty when it has none."""
        cases = self._cases(rule)
        if cases is None:
            return Examples()
        return Examples(tuple(case.name for case in cases.FIRES), tuple(case.name for case in cases.QUIET))

    def firing(self, rule: str) -> Iterator[Scripted]:
        """The cases in which a rule fires, each with steps of its own."""
        cases = self._cases(rule)
        for case in cases.FIRES if cases is not None else ():
            script = self._script.Script()
            case.write(script)
            yield Scripted(case.name, script.steps, dict(case.rules), case.policy)

    def captures(self) -> Iterator[tuple[str, list[Step]]]:
        """Every capture with its final steps in their order."""
        for path in sorted((self._root / "tests" / "fixtures" / "spans").glob(f"*/*{_SUFFIX}")):
            if ".logs." not in path.name:
                scenario = path.name.removesuffix(_SUFFIX)
                logs = path.with_name(f"{scenario}.logs{_SUFFIX}")
                yield f"{path.parent.name}/{scenario}", _final(path, logs)

    @cached_property
    def _script(self) -> Any:
        return self._load("tests.detectors.script", self._root / "tests" / "detectors" / "script.py")

    def _cases(self, rule: str) -> Any:
        path = self._root / "tests" / "detectors" / f"{rule}.py"
        if not path.is_file():
            return None
        assert self._script  # the cases import it by name
        return self._load(f"_cases_of_{rule}", path)

    @staticmethod
    def _load(name: str, path: Path) -> Any:
        """A module by its file: tests are no part of the installed package."""
        if (known := sys.modules.get(name)) is not None:
            return known
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def _final(spans: Path, logs: Path) -> list[Step]:
    normalizer = Normalizer()
    found: dict[SpanRef, Step] = {}
    for span in decode_traces(gzip.decompress(spans.read_bytes())):
        found.update((step.ref, step) for step in normalizer.steps(span))
    if logs.is_file():
        records = decode_logs(gzip.decompress(logs.read_bytes()))
        found.update((step.ref, step) for step in normalizer.logs(records))
    kept = [step for step in found.values() if not normalizer.superseded(step)]
    for step in kept:
        normalizer.complete(step, settled=True)
    return sorted(kept, key=lambda step: (step.start_ns, step.ref.span_id))
