"""A run that ended without what it should have done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

_ENDED_WELL: Final = frozenset({"", "completed", "incomplete"})
"""How runs end that are judged by their checks, not by their end."""
_ORDERED: Final = frozenset({"AgentTerminated", "AgentPaused"})
_STOPPED: Final = frozenset({"KeyboardInterrupt", "CancelledError", "GeneratorExit", "SystemExit"})


@dataclass(frozen=True, slots=True)
class Incomplete:
    """An item of the run's checklist does not hold at its end, or the run ended by an exception.

    The checks run at the gate, where the agent's files are; here only their facts are read. A soft item is worth a
    warning that orders nothing. A run that we ended ourselves is information, for the order says why; one that somebody
    stopped is a warning.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "incomplete"
    failure_types: ClassVar[tuple[str, ...]] = ("incomplete",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.VALIDATION, Kind.TICK})
    on: ClassVar[On] = "any"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.kind is Kind.VALIDATION:
            return self._unmet(step, run)
        return self._broken_off(step, run) if step.tick is not None and not step.tick.run_open else None

    def _unmet(self, step: Step, run: Run) -> Finding | None:
        told = step.extra
        if not told.get("closing") or told.get("passed"):
            return None
        hard = bool(told.get("hard"))
        unknown = told.get("passed") is None
        severity: Severity = "error" if hard else "info" if unknown else "warning"
        found = finding(
            self,
            step,
            run,
            f"{step.action}: {'could not be told' if unknown else 'does not hold'}",
            severity=severity,
            facts={"missing": step.action, "why": str(told.get("why") or ""), "check": str(told["check"])},
        )
        return found if hard else found._replace(mode="observe")

    def _broken_off(self, step: Step, run: Run) -> Finding | None:
        failed = [agent for agent in run.agents if agent.is_root and agent.failed and not agent.control_flow]
        outermost = min(failed, key=lambda agent: agent.start_ns, default=None)
        if outermost is None:
            return None
        how = run.ended or outermost.error_type.rpartition(".")[2]
        if run.ended and how in _ENDED_WELL:
            return None
        severity: Severity = "info" if how in _ORDERED else "warning" if how in _STOPPED else "error"
        return finding(
            self,
            step,
            run,
            f"the run was broken off by {how or 'an error'}",
            severity=severity,
            facts={"missing": "the end", "why": "exception", "error_type": how},
            ref=outermost.ref,
            action=outermost.action,
        )
