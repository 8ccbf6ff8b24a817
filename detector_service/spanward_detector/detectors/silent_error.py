"""A success that says inside that it failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

_NOT_YOU: Final = frozenset({0, 401, 403, 407, 429, 451})
"""Statuses of a page that keeps somebody out; 0: it states none. With another status there is no such page."""


@dataclass(frozen=True, slots=True)
class SilentError:
    """The span says success, its result says error: by a top-level field, a status, an exit code, or its whole text.

    The signs are weighed by :mod:`spanward.facts`, never by a word somewhere in the result. An error that is told in
    plain words is there for the model to read, and most agents do: it is observed, and what comes of it when they do
    not (``ignored_failure``, ``consecutive_errors``, ``loop``, ``no_progress``) is acted on.

    Attributes:
        mode: observe or act.
        words: the same where only the words of the result say so.
    """

    name: ClassVar[str] = "silent_error"
    failure_types: ClassVar[tuple[str, ...]] = ("silent_error",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "failed"

    mode: Mode = "act"
    words: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if run.outcome.type != self.name:
            return None
        facts = step.result_facts
        sign = facts.error if facts is not None and facts.error else "field"
        slots: dict[str, str | int | float] = {"sign": sign}
        if facts is not None and facts.exit_code is not None:
            slots["exit_code"] = facts.exit_code
        if sign == "page":
            slots["why"] = "blocked" if run.outcome.status in _NOT_YOU else "missing"
        # A structure says it for sure; text only seems to.
        severity: Severity = "error" if sign in ("flag", "field", "status") else "warning"
        found = finding(
            self, step, run, f"{step.action} reported success with an error inside", severity=severity, facts=slots
        )
        return found._replace(mode=self.words) if sign == "text" and self.mode == "act" else found
