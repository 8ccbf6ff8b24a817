"""From findings to at most one directive: the worst finding, and the next rung of its ladder that is right here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from spanward.semconv import SIDE_EFFECTS
from uuid_utils import uuid7

from spanward_detector.directives import REPAIRS, Episode, RepairLedger
from spanward_detector.model import LEVELS, Directive, Finding, Kind, Step
from spanward_detector.policy.model import Policy, Rung

if TYPE_CHECKING:
    from spanward_detector.model import DirectiveKind
    from spanward_detector.runs import Run

TRANSIENT_STATUS: Final = frozenset({0, 408, 425, 429, 500, 502, 503, 504, 529})
TRANSIENT_ERRORS: Final = ("timeout", "connection", "unavailable", "temporar", "toomanyrequests", "ratelimit", "reset")
"""Parts of an exception's class name (lower case) that say that trying again may help."""

COUNTED: Final = REPAIRS | {"interrupt_call"}
"""Kinds of which there are only so many tries; the others end the ladder."""

_SEVERITY: Final = {"info": 0, "warning": 1, "error": 2}
_URGENT: Final = {
    "unsafe_action": 9, "secret_leak": 9, "duplicate_side_effect": 8, "prompt_injection": 8, "token_budget": 7,
    "cost_budget": 7, "loop": 6, "hung": 6, "step_limit": 5, "polling_runaway": 5, "consecutive_errors": 4,
}  # fmt: skip
"""Who speaks when several findings of equal severity come from one step; the others have 0."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Where ids, times and jitter come from, so that tests and replay are repeatable."""

    now_ns: Callable[[], int] = time.time_ns
    new_id: Callable[[], str] = lambda: str(uuid7())
    random: Callable[[], float] = lambda: 0.5


def decide(
    policy: Policy, run: Run, step: Step, findings: Sequence[Finding], clock: Clock = Clock()
) -> Directive | None:
    """The order that follows from what was found at one step.

    At most one directive a step: the worst finding speaks. Observing findings order nothing. The rung is found by
    counting what was already ordered for the same failure at the same action; rungs that would be wrong for this step
    are passed over. When the run's budget is spent, the only answer left is a hand-over.

    Returns:
        The directive, state ``pending``, already entered in ``run.repair``; or None.
    """
    acting = [f for f in findings if f.mode == "act"]
    if not acting:
        return None
    ledger: RepairLedger = run.repair
    if ledger.stopped == "terminate":
        return None  # the latch is set; nothing is left to order
    acting.sort(key=lambda f: (_SEVERITY[f.severity], _URGENT.get(f.failure_type, 0)), reverse=True)
    for finding in acting:
        ladder = policy.ladder(finding.failure_type, finding.action, finding.rule)
        episode = Episode(finding.failure_type, finding.action)
        rung = _next_rung(policy, ledger, ladder, episode, _Case(policy, step, finding))
        if rung is None:
            continue
        if rung.kind in REPAIRS and _spent(policy, ledger, clock):
            rung = Rung("handover")
        if rung.kind == "alert" or ledger.stopped:
            return None
        directive = _directive(policy, run.id, step, finding, rung.kind, clock)
        ledger.issued(directive, episode, step)
        return directive
    return None


def _next_rung(
    policy: Policy, ledger: RepairLedger, ladder: tuple[Rung, ...], episode: Episode, case: _Case
) -> Rung | None:
    for rung in ladder:
        tried = ledger.climbed[episode, rung.kind] if rung.kind in COUNTED else 0
        strategy = policy.strategies.get(rung.kind)
        used_up = strategy is not None and ledger.used[rung.kind, episode.failure_type] >= strategy.max
        if tried < rung.times and not used_up and case.allows(rung.kind):
            return rung
    return None


def _spent(policy: Policy, ledger: RepairLedger, clock: Clock) -> bool:
    budget = policy.budget
    return (
        ledger.repairs >= budget.repairs
        or ledger.tokens >= budget.tokens
        or bool(ledger.first_ns and clock.now_ns() - ledger.first_ns > budget.seconds * 1e9)
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """Whether a directive would be right for this step."""

    policy: Policy
    step: Step
    finding: Finding

    def allows(self, kind: str) -> bool:
        check = _ALLOWED.get(kind)
        return check is None or check(self)

    @property
    def side_effect(self) -> str:
        """What the policy says, else the agent; the stricter where both do. A tool of which nobody says is a write."""
        stated = [e for e in (self.policy.tool(self.finding.action).side_effect, self.step.side_effect) if e]
        return max(stated, key=SIDE_EFFECTS.index) if stated else "write"

    @property
    def repeatable(self) -> bool:
        """A second execution can do no harm."""
        if self.side_effect in ("read", "scratch"):
            return True
        stated = self.policy.tool(self.finding.action).idempotent
        return self.side_effect == "write" and bool(self.step.idempotent if stated is None else stated)

    @property
    def transient(self) -> bool:
        """The failure may pass by itself."""
        step = self.step
        if self.finding.failure_type in ("rate_limited", "timeout", "circuit_open"):
            return True
        if step.http:
            return step.http[-1].status in TRANSIENT_STATUS
        if step.result_facts is not None and step.result_facts.status is not None:
            return step.result_facts.status in TRANSIENT_STATUS
        return any(part in step.error_type.lower() for part in TRANSIENT_ERRORS)

    def retry(self) -> bool:
        step = self.step
        if step.kind is Kind.TOOL:
            return self.repeatable and self.transient
        return step.kind is Kind.LLM and self.transient

    def repair_arguments(self) -> bool:
        step = self.step
        if step.kind is Kind.TOOL:
            facts = step.arguments_facts
            return facts is not None and bool(facts.repairs) and facts.form != "truncated"
        repairs = self.finding.facts.get("repairs")
        return step.kind is Kind.LLM and bool(repairs)

    def feedback(self) -> bool:
        step = self.step
        return step.kind in (Kind.TOOL, Kind.LLM) or (step.kind is Kind.VALIDATION and step.held)

    def goes_on(self) -> bool:
        """There is a run left to be steered: it has not ended, and this is not the check at its end."""
        step = self.step
        return not step.extra.get("closing") and (step.tick is None or step.tick.run_open)

    def fallback(self) -> bool:
        # A degraded answer in place of a write would let the model believe that it happened.
        if self.step.kind is Kind.TOOL:
            return self.step.has_fallback or self.side_effect in ("read", "scratch")
        return self.step.kind is Kind.LLM

    def interrupt_call(self) -> bool:
        tick = self.step.tick
        return tick is not None and any(
            call.interruptible and call.span_id == self.finding.ref.span_id for call in tick.in_flight
        )


_ALLOWED: Final[Mapping[str, Callable[[_Case], bool]]] = {
    "retry": _Case.retry,
    "repair_arguments": _Case.repair_arguments,
    "feedback": _Case.feedback,
    "fallback": _Case.fallback,
    "interrupt_call": _Case.interrupt_call,
    "pause": _Case.goes_on,
    "handover": _Case.goes_on,
}


def _directive(policy: Policy, run_id: str, step: Step, finding: Finding, kind: str, clock: Clock) -> Directive:
    strategy = policy.strategy(kind)
    tick = step.kind is Kind.TICK
    return Directive(
        id=clock.new_id(),
        run_id=run_id,
        kind=_kind(kind),
        level=LEVELS.get(kind, ""),
        ref=finding.ref,
        failure_type=finding.failure_type,
        rule=finding.rule,
        payload=_PAYLOADS[kind](_Order(policy, step, finding, clock)) if kind in _PAYLOADS else {},
        expires_in_ms=int(strategy.expires_s * 1000),
        target_digest=step.arguments_digest if kind == "repair_arguments" and step.kind is Kind.TOOL else "",
        answers_hold=step.held and not tick,
        created_ns=clock.now_ns(),
    )


def _kind(kind: str) -> DirectiveKind:
    return kind  # type: ignore[return-value]  # rung kinds are directive kinds but for "alert", which never comes here


class _Order(NamedTuple):
    """What a payload is made from."""

    policy: Policy
    step: Step
    finding: Finding
    clock: Clock


def _retry(order: _Order) -> dict[str, object]:
    strategy = order.policy.strategy("retry")
    asked = order.step.http[-1].retry_after_ms if order.step.http else None
    tried = max(1, order.step.attempt)
    delay = strategy.delay_s * tried * (1 + strategy.jitter * (2 * order.clock.random() - 1))
    # Retry-After is the server's own word: a shorter wait would only be refused again.
    return {"delay_ms": max(int(delay * 1000), asked or 0), "attempt": tried + 1}


def _feedback(order: _Order) -> dict[str, object]:
    slots = {key: str(value) for key, value in order.finding.facts.items()}
    slots.setdefault("tool", order.finding.action)
    if order.step.error_type:
        slots.setdefault("error_type", order.step.error_type)
    return {"template": order.finding.failure_type, "slots": slots}


def _fallback(order: _Order) -> dict[str, object]:
    return {"strategy": "tool_fallback" if order.step.has_fallback else "degraded", "tool": order.finding.action}


def _repairs(order: _Order) -> dict[str, object]:
    if order.step.arguments_facts is not None and order.step.arguments_facts.repairs:
        return {"repairs": tuple(order.step.arguments_facts.repairs)}
    return {"repairs": tuple(str(order.finding.facts.get("repairs", "")).split(","))}


def _terminate(order: _Order) -> dict[str, object]:
    return {"reason": order.finding.failure_type, "user_message": "terminated"}


def _pause(order: _Order) -> dict[str, object]:
    return {"lease_ms": int(order.policy.pause.lease_s * 1000), "reason": order.finding.failure_type}


def _interrupt(order: _Order) -> dict[str, object]:
    return {"span_id": order.finding.ref.span_id}


_PAYLOADS: Final[Mapping[str, Callable[[_Order], dict[str, object]]]] = {
    "retry": _retry,
    "repair_arguments": _repairs,
    "feedback": _feedback,
    "fallback": _fallback,
    "terminate": _terminate,
    "pause": _pause,
    "handover": _pause,
    "interrupt_call": _interrupt,
}
