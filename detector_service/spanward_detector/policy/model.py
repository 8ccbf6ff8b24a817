"""A policy as frozen data. Every field is a key of the policy file; the YAML loader is driven by these classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from spanward.facts.allow import ArgumentRule, limits_of
from spanward.semconv import SideEffect

from spanward_detector.sections import (
    CustomRule,
    JudgePolicy,
    Ladder,
    ModelPolicy,
    OrderRule,
    Rung,
    ScopePolicy,
    SemanticPolicy,
)

__all__ = [
    "RUNG_KINDS", "Breaker", "Budget", "Ladder", "Limits", "Pause", "Policy", "Rung", "Strategy", "ToolPolicy",
]  # fmt: skip

RUNG_KINDS: Final = (
    "alert", "retry", "repair_arguments", "feedback", "fallback", "interrupt_call", "pause", "handover", "rollback",
    "terminate",
)  # fmt: skip
"""What may stand on a ladder. ``alert`` is recorded and shown, and orders nothing."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Limits of one directive kind.

    Attributes:
        max: how often per run and failure type.
        delay_s: before a retry, times the attempt.
        jitter: share of the delay that is random, 0 to 1.
        expires_s: how long the directive is good for.
    """

    max: int = 2
    delay_s: float = 0.0
    jitter: float = 0.0
    expires_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Budget:
    """What all repairs of one run may cost together. Spent means: hand over, never another try."""

    repairs: int = 10
    seconds: float = 600.0
    tokens: int = 200_000


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """What the policy says of a tool. It wins over what the agent says, where it is stated.

    Attributes:
        side_effect: read, scratch, write or high_risk; "" = not stated. A tool of which nobody says is a write.
        timeout: seconds after which a call counts as hung; 0 = not stated.
        idempotent: a write that may be repeated; None = not stated.
        fail_closed: refused while the detector is away.
        ladders: ladders for this tool alone, per failure type.
        arguments: what its arguments may be, by name.
    """

    side_effect: SideEffect | None = None
    timeout: float = 0.0
    idempotent: bool | None = None
    fail_closed: bool = False
    ladders: Mapping[str, Ladder] = field(default_factory=lambda: MappingProxyType({}))
    arguments: Mapping[str, ArgumentRule] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits that the gate keeps by itself while the detector is away. 0 = none."""

    max_steps: int = 0
    max_tokens: int = 0
    max_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """Circuit breaker of a tool across all runs."""

    failures: int = 5
    open_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Pause:
    """How long a paused run waits for a person.

    Attributes:
        lease_s: the gate gives the run up after this long; 0 = the gate's own limit.
        escalate_s: an unattended pause is escalated after this long.
    """

    lease_s: float = 0.0
    escalate_s: float = 1800.0


_EMPTY: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy, whole and validated.

    Attributes:
        version: sha256 of the source text, hex.
        rules: thresholds and mode per rule, keyed by the rule's name; keyword arguments of its detector.
        ladders: per failure type.
        strategies: per directive kind.
        tools: per tool name.
        allowed_tools: the only tools that may be called; empty = any.
        order: which tool has to come before which.
        scope: what every run may touch.
        models: prices and context windows by model name.
        custom: rules of the user's own.
        judge: a model that is asked for its opinion.
        semantic: a model that holds answers against requests and results by meaning.
    """

    version: str = ""
    rules: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    ladders: Mapping[str, Ladder] = field(default_factory=dict)
    strategies: Mapping[str, Strategy] = field(default_factory=dict)
    budget: Budget = Budget()
    tools: Mapping[str, ToolPolicy] = field(default_factory=dict)
    limits: Limits = Limits()
    breaker: Breaker = Breaker()
    pause: Pause = Pause()
    allowed_tools: tuple[str, ...] = ()
    order: tuple[OrderRule, ...] = ()
    scope: ScopePolicy = field(default_factory=ScopePolicy)
    models: Mapping[str, ModelPolicy] = field(default_factory=dict)
    custom: tuple[CustomRule, ...] = ()
    judge: JudgePolicy = field(default_factory=JudgePolicy)
    semantic: SemanticPolicy = field(default_factory=SemanticPolicy)

    def configured(self) -> Mapping[str, Mapping[str, object]]:
        """Keyword arguments of every rule: its thresholds, and the sections that it is made of."""
        limited = {name: limits_of(tool.arguments) for name, tool in self.tools.items() if tool.arguments}
        scope = {"scope": self.scope} if self.scope.stated() else {}
        sections: Mapping[str, dict[str, object]] = {
            "unsafe_action": {"allowed_tools": self.allowed_tools, "arguments": limited, **scope},
            "order_violation": {"order": self.order},
            "cost_budget": {"models": self.models},
            "context_budget": {"models": self.models},
            "custom": {"rules": self.custom},
        }
        filled = {rule: {**self.rules.get(rule, {}), **given} for rule, given in sections.items()}
        return {**self.rules, **filled}

    def with_model(self, folder: str) -> Policy:
        """The same with a folder for ``semantic.model`` where the policy names none."""
        if not folder or self.semantic.model:
            return self
        return replace(self, semantic=replace(self.semantic, model=folder))

    def tool(self, name: str) -> ToolPolicy:
        """What is stated of a tool; an empty statement when nothing is."""
        return self.tools.get(name, _NO_TOOL)

    def ladder(self, failure_type: str, tool: str = "", rule: str = "") -> Ladder:
        """The ladder of the user's own rule, else the tool's, else the general one, else empty."""
        if rule.startswith("custom."):
            own_rule = next((r for r in self.custom if r.ladder and rule == f"custom.{r.name}"), None)
            if own_rule is not None:
                return own_rule.ladder
        if (own := self.tool(tool).ladders.get(failure_type)) is not None:
            return own
        return self.ladders.get(failure_type, ())

    def strategy(self, kind: str) -> Strategy:
        return self.strategies.get(kind, _NO_STRATEGY)


_NO_TOOL: Final = ToolPolicy()
_NO_STRATEGY: Final = Strategy()
