"""A success that says inside that it failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class SilentError:
    """The span says success, its result says error: by a top-level field, a status, an exit code, or its whole text.

    The signs are weighed by :mod:`spanward.facts`, never by a word somewhere in the result.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "silent_error"
    failure_types: ClassVar[tuple[str, ...]] = ("silent_error",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type != self.name:
            return None
        facts = step.result_facts
        sign = facts.error if facts is not None and facts.error else "field"
        slots: dict[str, str | int | float] = {"sign": sign}
        if facts is not None and facts.exit_code is not None:
            slots["exit_code"] = facts.exit_code
        # A structure says it for sure; text only seems to.
        severity: Severity = "error" if sign in ("flag", "field", "status") else "warning"
        return finding(
            self, step, run, f"{step.action} reported success with an error inside", severity=severity, facts=slots
        )
