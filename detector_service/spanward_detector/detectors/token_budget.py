"""More tokens than a run may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """A run uses more tokens than it stated itself, or than the policy states. Coming near is noted once.

    Attributes:
        mode: observe or act.
        max_tokens: input and output together, for runs that state none; 0 = no budget.
        warn_share: share of the budget, 0 to 1, at which it is noted.
    """

    name: ClassVar[str] = "token_budget"
    failure_types: ClassVar[tuple[str, ...]] = ("token_budget",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    max_tokens: int = 0
    warn_share: float = 0.8

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        limit = run.max_tokens or self.max_tokens
        if not limit:
            return None
        used = run.memory.input_tokens + run.memory.output_tokens
        facts: dict[str, str | int | float] = {"count": used, "limit": limit}
        if used > limit:
            return finding(self, step, run, f"{used} tokens used of {limit}", facts=facts)
        near = self.warn_share * limit
        if used < near or used - step.input_tokens - step.output_tokens >= near:
            return None
        return finding(self, step, run, f"{used} tokens used of {limit}", severity="info", facts=facts)
