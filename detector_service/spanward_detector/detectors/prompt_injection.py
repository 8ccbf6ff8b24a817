"""Instructions to the model inside a tool's result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class PromptInjection:
    """What a tool returned gives orders to the model: to drop its instructions, to hide something, or in hidden text.

    Patterns in several languages, forged chat markup, and invisible characters; see ``spanward.facts.injection``. They
    are matched where the result is, so content need not leave the agent.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "prompt_injection"
    failure_types: ClassVar[tuple[str, ...]] = ("prompt_injection",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "odd"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        facts = step.result_facts
        if facts is None or not facts.injection:
            return None
        return finding(
            self,
            step,
            run,
            f"what {step.action} returned reads like instructions to the model ({facts.injection})",
            severity="warning",
            facts={"pattern": facts.injection},
        )
