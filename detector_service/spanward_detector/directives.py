"""What became of the directives of a run: rungs used, budget spent, and whether each repair helped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from spanward_detector.model import Directive, DirectiveState, Finding, Kind, Step

FINAL: frozenset[DirectiveState] = frozenset({
    "applied", "rejected", "expired", "failed", "observe_only", "verified", "unverified",
})  # fmt: skip
"""States after which the agent owes no acknowledgement."""

REPAIRS: frozenset[str] = frozenset({"retry", "repair_arguments", "feedback", "fallback"})
"""Kinds that try to mend the run, and so spend its budget."""

LASTING: frozenset[str] = frozenset({
    "loop", "no_progress", "polling_runaway", "step_limit", "consecutive_errors", "token_budget", "cost_budget", "hung",
})  # fmt: skip
"""Failures of the course of a run: one better step does not prove that they are over; their ladder is never reset."""

_TIME = frozenset({"interrupt_call"})
_MAX_OPEN = 64

RecoveredBy = Literal["change", "repetition", ""]


class Episode(NamedTuple):
    """A failure of one kind at one action: what a ladder is climbed for."""

    failure_type: str
    action: str


class Outcome(NamedTuple):
    """The end of one repair.

    Attributes:
        recovered_by: "change" when the agent then did something else, "repetition" when the same call simply worked;
            "" when the failure came back.
    """

    directive_id: str
    state: Literal["verified", "unverified"]
    recovered_by: RecoveredBy
    failure_type: str
    rule: str
    kind: str
    level: str
    steps: int
    tokens: int


@dataclass(slots=True)
class _OpenRepair:
    directive: Directive
    episode: Episode
    kind: Kind
    action: str
    arguments_digest: str
    applied: bool
    steps: int = 0
    tokens: int = 0


@dataclass(slots=True)
class RepairLedger:
    """Per run. Never rolled back with the detectors' memory: what was ordered stays ordered.

    Attributes:
        climbed: directives issued per (episode, kind); the rung is found by counting.
        used: directives issued per (kind, failure type); a repair that helped gives its try back.
        repairs: all repairs issued; one budget for the run.
        first_ns: when the first was issued; 0 = none yet.
        tokens: tokens used by steps while a repair was open.
    """

    climbed: Counter[tuple[Episode, str]] = field(default_factory=Counter)
    used: Counter[tuple[str, str]] = field(default_factory=Counter)
    repairs: int = 0
    first_ns: int = 0
    tokens: int = 0
    stopped: str = ""  # kind of the last directive that stopped the run; "" while it may go on
    _open: dict[str, _OpenRepair] = field(default_factory=dict)

    def issued(self, directive: Directive, episode: Episode, step: Step) -> None:
        """Count a directive and follow it until the next comparable step."""
        self.climbed[episode, directive.kind] += 1
        self.used[directive.kind, directive.failure_type] += 1
        if directive.kind in ("terminate", "pause", "handover"):
            self.stopped = directive.kind
        if directive.kind in REPAIRS:
            self.repairs += 1
            self.first_ns = self.first_ns or directive.created_ns
        if directive.kind in REPAIRS | _TIME:
            if len(self._open) >= _MAX_OPEN:
                self._open.pop(next(iter(self._open)))
            kind = Kind.TOOL if step.kind is Kind.TICK else step.kind
            self._open[directive.id] = _OpenRepair(
                directive, episode, kind, episode.action, step.arguments_digest, applied=False
            )

    def acknowledged(self, directive_id: str, state: DirectiveState) -> None:
        """Take the agent's word: a directive that was not applied has nothing to be verified."""
        if (repair := self._open.get(directive_id)) is None:
            return
        if state == "applied":
            repair.applied = True
        elif state in FINAL:
            del self._open[directive_id]

    def resumed(self) -> None:
        """A person let the run go on."""
        self.stopped = ""

    def follow(self, step: Step, findings: tuple[Finding, ...] | list[Finding]) -> list[Outcome]:
        """What this step proves about the repairs that are open.

        Comparable is the next step of the same kind and action, or for a model call the next model call. A repaired
        tool call that the model replaced by another tool is judged by that one.
        """
        if not self._open or step.kind not in (Kind.TOOL, Kind.LLM):
            return []
        spent = step.input_tokens + step.output_tokens
        self.tokens += spent
        outcomes = []
        for repair in list(self._open.values()):
            if repair.directive.ref == step.ref:
                continue
            repair.steps += 1
            repair.tokens += spent
            if step.kind is not repair.kind:
                continue
            came_back = any(f.failure_type == repair.directive.failure_type for f in findings)
            if not came_back and any(f.severity == "error" for f in findings):
                continue  # another failure says nothing about this repair
            same = step.action == repair.action and step.arguments_digest == repair.arguments_digest
            outcomes.append(
                Outcome(
                    repair.directive.id,
                    "unverified" if came_back else "verified",
                    "" if came_back else "repetition" if same else "change",
                    repair.directive.failure_type,
                    repair.directive.rule,
                    repair.directive.kind,
                    repair.directive.level,
                    repair.steps,
                    repair.tokens,
                )
            )
            del self._open[repair.directive.id]
            if not came_back and repair.directive.failure_type not in LASTING:
                self._forgive(repair)
        return outcomes

    def _forgive(self, repair: _OpenRepair) -> None:
        for key in [key for key in self.climbed if key[0] == repair.episode]:
            del self.climbed[key]
        self.used[repair.directive.kind, repair.directive.failure_type] -= 1

    @property
    def open(self) -> int:
        """Repairs whose effect is not known yet."""
        return len(self._open)
