"""The model's input comes near to all that it can read."""

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

_NONE: Final[frozenset[Kind]] = frozenset()


@dataclass(slots=True)
class Near:
    """Agents whose last input was near the limit: they have been warned of."""

    agents: set[str] = field(default_factory=set)

    def copy(self) -> Self:
        return type(self)(self.agents.copy())


@dataclass(frozen=True, slots=True)
class ContextBudget:
    """The input of a model call takes up most of its context window: noted before it overflows, once per agent.

    Windows are stated in the section ``models`` of the policy. After the input has become small again, for it was
    compacted, it is noted anew.

    Attributes:
        mode: observe or act.
        warn_share: share of the window, 0 to 1, at which it is noted.
        models: section ``models`` of the policy.
    """

    name: ClassVar[str] = "context_budget"
    failure_types: ClassVar[tuple[str, ...]] = ("context_overflow",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"
    warn_share: float = 0.8
    models: Mapping[str, ModelPolicy] = field(default_factory=lambda: NOTHING, metadata=SECTION)

    @property
    def wanted(self) -> frozenset[Kind]:
        """Nothing, where no window is known."""
        return self.kinds if any(model.context for model in self.models.values()) else _NONE

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        model = known_model(self.models, step.model or step.action)
        if model is None or not model.context or not step.input_tokens:
            return None
        notes = run.memory.notes
        near = notes.get(self.name)
        if not isinstance(near, Near):
            near = notes[self.name] = Near()
        if step.input_tokens < self.warn_share * model.context:
            near.agents.discard(step.agent)
            return None
        if step.agent in near.agents:
            return None
        near.agents.add(step.agent)
        return finding(
            self,
            step,
            run,
            f"the input takes {step.input_tokens} of {model.context} tokens that {step.action} can read",
            severity="warning",
            facts={"count": step.input_tokens, "limit": model.context},
        )
