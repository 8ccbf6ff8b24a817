"""More money than a run may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Self

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.sections import NOTHING, SECTION, ModelPolicy, known_model

if TYPE_CHECKING:
    from spanward_detector.run import Run

_MILLION: Final = 1e6
_NONE: Final[frozenset[Kind]] = frozenset()


@dataclass(slots=True)
class Spent:
    """What the model calls of a run have cost so far.

    Attributes:
        last: number of the last step counted.
        unpriced: calls of models that have no price.
    """

    cost: float = 0.0
    last: int = 0
    unpriced: int = 0

    def copy(self) -> Self:
        return type(self)(self.cost, self.last, self.unpriced)


@dataclass(frozen=True, slots=True)
class CostBudget:
    """The model calls of a run cost more than it stated itself, or than the policy states. Coming near is noted once.

    Prices are stated in the section ``models`` of the policy, per million tokens; calls of models without a price cost
    nothing, and the finding says how many there were.

    Attributes:
        mode: observe or act.
        max_cost: in the currency of the prices, for runs that state none; 0 = no budget.
        warn_share: share of the budget, 0 to 1, at which it is noted.
        models: section ``models`` of the policy.
    """

    name: ClassVar[str] = "cost_budget"
    failure_types: ClassVar[tuple[str, ...]] = ("cost_budget",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    max_cost: float = 0.0
    warn_share: float = 0.8
    models: Mapping[str, ModelPolicy] = field(default_factory=lambda: NOTHING, metadata=SECTION)

    @property
    def wanted(self) -> frozenset[Kind]:
        """Nothing, where no model has a price."""
        return self.kinds if any(model.input or model.output for model in self.models.values()) else _NONE

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        stated = step.extra.get("max_cost") if step.extra else None
        limit = float(stated) if isinstance(stated, int | float) and stated > 0 else self.max_cost
        notes = run.memory.notes
        spent = notes.get(self.name)
        if not isinstance(spent, Spent):
            spent = notes[self.name] = Spent()
        before = spent.cost
        if step.index > spent.last:
            self._count(step, spent)
        if not limit or spent.cost < self.warn_share * limit:
            return None
        facts: dict[str, str | int | float] = {"count": round(spent.cost, 6), "limit": limit}
        if spent.unpriced:
            facts["unpriced_calls"] = spent.unpriced
        message = f"{spent.cost:.4g} spent of {limit:.4g}"
        if spent.cost > limit:
            return finding(self, step, run, message, facts=facts)
        if before >= self.warn_share * limit:
            return None
        return finding(self, step, run, message, severity="warning", facts=facts)._replace(mode="observe")

    def _count(self, step: Step, spent: Spent) -> None:
        spent.last = step.index
        model = known_model(self.models, step.model or step.action)
        if model is None:
            spent.unpriced += 1
        else:
            spent.cost += (step.input_tokens * model.input + step.output_tokens * model.output) / _MILLION
