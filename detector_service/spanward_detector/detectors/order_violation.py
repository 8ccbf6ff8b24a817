"""One step before the one that has to come first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.calls import calls_of
from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.sections import SECTION, OrderRule

if TYPE_CHECKING:
    from spanward_detector.run import Run

_NONE: Final[frozenset[Kind]] = frozenset()


@dataclass(frozen=True, slots=True)
class OrderViolation:
    """A tool is called that needs another one first, and no call of that one has worked by then.

    Which ones those are is stated in the section ``order`` of the policy. Where the gate waits at the model's answer,
    the call is found before it is made.

    Attributes:
        mode: observe or act.
        order: section ``order`` of the policy.
    """

    name: ClassVar[str] = "order_violation"
    failure_types: ClassVar[tuple[str, ...]] = ("order_violation",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL, Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    order: tuple[OrderRule, ...] = field(default=(), metadata=SECTION)

    @property
    def wanted(self) -> frozenset[Kind]:
        """Nothing, where no order is stated."""
        return self.kinds if self.order else _NONE

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        calls = calls_of(run, self.name)
        if step.kind is Kind.TOOL:
            calls.take(step, not run.outcome.type)
            if step.extra.get("refused"):
                return None
            named, at_ns = [step.action], step.start_ns
        elif step.held:
            named, at_ns = [call.name for call in step.calls], step.end_ns
        else:
            return None
        for rule in self.order:
            if rule.after in named and not calls.worked_by(rule.before, at_ns):
                return finding(
                    self,
                    step,
                    run,
                    f"{rule.after} was called before {rule.before} had worked",
                    facts={"tool": rule.after, "before": rule.before},
                    action=rule.after,
                )
        return None
