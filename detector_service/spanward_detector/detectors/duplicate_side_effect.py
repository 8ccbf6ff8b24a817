"""The same effect on the world, twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.outcome import Outcome

if TYPE_CHECKING:
    from spanward_detector.run import Run

_BEFORE_EFFECT: Final = frozenset({
    "invalid_arguments", "schema_violation", "unknown_tool", "auth_error", "rate_limited",
})  # fmt: skip
"""Failures that come before a call has any effect."""


def _no_effect(outcome: Outcome) -> bool:
    refused = outcome.type == "http_error" and 400 <= outcome.status < 500
    return refused or outcome.type in _BEFORE_EFFECT


@dataclass(frozen=True, slots=True)
class DuplicateSideEffect:
    """A call that must not be repeated is made again with the same arguments, though the first may have had its effect.

    Which calls those are is what the tool states (high risk, a write that is not idempotent), else what its name says
    (send, pay, book, ...). One that creates a record counts where the two results differ, as two new ids do, or where
    the first call's end is not known. Ids and times that are made anew for each call make no difference; nor do other
    words, from the third message to the same recipient on that says the same.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "duplicate_side_effect"
    failure_types: ClassVar[tuple[str, ...]] = ("duplicate_side_effect",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        before = run.memory.effects.repeated
        if before is None:
            return None
        first = before.outcome
        if _no_effect(first) or _no_effect(run.outcome):
            return None
        with_what = "to say the same" if before.about else "with the same arguments"
        how = f"that had ended with {first.type}" if first.type else "that had worked"
        found = finding(
            self,
            step,
            run,
            f"{step.action} was called again {with_what}, after a call {how}",
            facts={"first": first.type or "worked"},
            evidence=(before.span_id, step.ref.span_id),
        )
        # Other words may be meant: people look at those.
        return found._replace(mode="observe", severity="warning") if before.about else found
