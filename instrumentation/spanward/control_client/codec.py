"""Control messages to plain values and back. The rest of the package that sees protobuf asks here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from spanward_control.v1 import control_pb2 as pb

from spanward.facts.allow import ArgumentRule
from spanward.ports import (
    BreakerPhase,
    Counters,
    DirectiveKind,
    DirectiveOutcome,
    GateDirective,
    InFlightCall,
    Limits,
    PolicyUpdate,
    RunPhase,
    RunView,
    ToolFacts,
)

EXECUTABLE: Final[frozenset[DirectiveKind]] = frozenset({
    "retry", "repair_arguments", "feedback", "fallback", "terminate", "pause", "handover", "resume",
    "interrupt_call", "approve", "deny",
})  # fmt: skip
"""Kinds that the gate can carry out; the others are not offered in ``Hello``."""

CAPABILITIES: Final = (pb.CAPABILITY_HOLD, pb.CAPABILITY_INTERRUPT_CALL, pb.CAPABILITY_LOCAL_POLICY)


def _names(enum: Any, prefix: str) -> dict[int, str]:
    return {number: name.removeprefix(prefix).lower() for name, number in enum.items() if number}


KINDS: Final = _names(pb.DirectiveKind, "DIRECTIVE_KIND_")
PHASES: Final = _names(pb.RunPhase, "RUN_PHASE_")
BREAKER_PHASES: Final = _names(pb.BreakerPhase, "BREAKER_PHASE_")
LEVELS: Final = {number: name.upper() for number, name in _names(pb.Level, "LEVEL_").items()}
STRATEGIES: Final = _names(pb.Fallback.Strategy, "STRATEGY_")

_PAYLOADS: Final[Mapping[str, Callable[[Any], dict[str, object]]]] = {
    "retry": lambda m: {"delay_ms": m.delay_ms, "attempt": m.attempt},
    "repair_arguments": lambda m: {"repairs": tuple(m.repairs)},
    "feedback": lambda m: {"template": m.template, "slots": dict(m.slots)},
    "fallback": lambda m: {"strategy": STRATEGIES.get(m.strategy, "tool_fallback"), "tool": m.tool},
    "terminate": lambda m: {"reason": m.reason, "user_message": m.user_message},
    "pause": lambda m: {"lease_ms": m.lease_ms, "reason": m.reason},
    "rollback": lambda m: {"checkpoint": m.checkpoint},
    "interrupt_call": lambda m: {"span_id": m.span_id.hex(), "call_id": m.call_id},
    "approval": lambda m: {"action_digest": m.action_digest},
    "ask": lambda m: {"question": m.question, "slots": dict(m.slots)},
}


def directive(message: pb.Directive, now: float) -> GateDirective | None:
    """Decodes an order. None when its kind is unknown here: a newer detector's.

    Args:
        message: from the wire.
        now: ``time.monotonic()`` at its receipt, from which its expiry counts.
    """
    kind = KINDS.get(message.kind)
    if kind is None:
        return None
    payload = message.WhichOneof("payload")
    return GateDirective(
        id=message.id,
        run_id=message.run_id,
        kind=cast(DirectiveKind, kind),
        level=LEVELS.get(message.level, ""),
        epoch=message.epoch,
        trace_id=message.trace_id.hex(),
        span_id=message.span_id.hex(),
        failure_type=message.failure_type,
        rule=message.rule,
        expires_at=now + message.expires_in_ms / 1000 if message.expires_in_ms else 0.0,
        answers_hold=message.answers_hold,
        target_digest=message.target_digest,
        payload=_PAYLOADS[payload](getattr(message, payload)) if payload in _PAYLOADS else {},
    )


def policy(message: pb.Policy) -> PolicyUpdate:
    """Decodes the gate's part of a policy."""
    limits = message.hard_limits
    return PolicyUpdate(
        message.version,
        Limits(limits.max_steps, limits.max_tokens, limits.max_seconds),
        {
            name: ToolFacts(
                spec.side_effect or "write", spec.timeout_s, spec.has_fallback, spec.idempotent, spec.interruptible
            )
            for name, spec in message.tools.items()
        },
        frozenset(message.fail_closed_tools),
        frozenset(message.allowed_tools),
        {
            tool: {name: ArgumentRule(tuple(rule.allow), tuple(rule.deny)) for name, rule in limited.rules.items()}
            for tool, limited in message.arguments.items()
        },
    )


def phase(number: int) -> RunPhase | None:
    """Name of a run's phase; None when unknown."""
    return cast("RunPhase | None", PHASES.get(number))


def breaker_phase(number: int) -> BreakerPhase | None:
    """Name of a breaker's phase; None when unknown."""
    return cast("BreakerPhase | None", BREAKER_PHASES.get(number))


def hello(
    instance_id: str,
    service_name: str,
    sdk_version: str,
    allowed: Iterable[str],
    policy_version: str,
    runs: Iterable[RunView],
    last_epoch: int,
) -> pb.Hello:
    """The first message of a stream."""
    return pb.Hello(
        instance_id=instance_id,
        service_name=service_name,
        sdk_version=sdk_version,
        capabilities=CAPABILITIES,
        accepts=[f"DIRECTIVE_KIND_{kind.upper()}" for kind in sorted(EXECUTABLE.intersection(allowed))],
        policy_version=policy_version,
        runs=[run_state(run) for run in runs],
        last_epoch=last_epoch,
    )


def run_state(run: RunView) -> pb.RunState:
    """A run as it is now."""
    limits = run.limits
    return pb.RunState(
        run_id=run.id,
        agent=run.name,
        conversation_id=run.conversation_id,
        trace_id=_bytes(run.trace_id),
        phase=f"RUN_PHASE_{run.phase.upper()}",
        started_unix_nano=run.started_ns,
        steps=run.steps,
        limits=pb.RunLimits(
            max_steps=limits.max_steps or 0, max_tokens=limits.max_tokens or 0, max_seconds=limits.max_seconds or 0.0
        ),
        tools={name: pb.ToolSpec(**facts._asdict()) for name, facts in run.tools.items()},
    )


def run_update(run: RunView, *, started: bool, ended: bool, reason: str) -> pb.RunUpdate:
    """A run that began, changed or ended."""
    return pb.RunUpdate(run=run_state(run), started=started, ended=ended, end_reason=reason)


def status(outcome: DirectiveOutcome) -> pb.DirectiveStatus:
    """What became of a directive."""
    return pb.DirectiveStatus(
        directive_id=outcome.directive_id,
        state=f"STATE_{outcome.state.upper()}",
        reason=outcome.reason,
        before_digest=outcome.before,
        after_digest=outcome.after,
        apply_ms=outcome.apply_ms,
    )


def call_in_flight(call: InFlightCall, now: float, stack: Sequence[str]) -> pb.CallInFlight:
    """A call that has not ended."""
    return pb.CallInFlight(
        run_id=call.run_id,
        trace_id=_bytes(call.trace_id),
        span_id=_bytes(call.span_id),
        kind=call.kind,
        action=call.action,
        age_ms=_ms(now - call.started_at),
        timeout_s=call.timeout_s,
        interruptible=call.interruptible,
        stack=stack,
    )


def run_progress(run: RunView, now: float, stack: Sequence[str]) -> pb.RunProgress:
    """How far a run is, and since when it stands."""
    return pb.RunProgress(
        run_id=run.id,
        steps=run.steps,
        idle_ms=_ms(now - run.last_activity_at),
        phase=f"RUN_PHASE_{run.phase.upper()}",
        stack=stack,
    )


def counters(counted: Counters, spans_dropped: int) -> pb.GateCounters:
    """What the gate did by itself."""
    return pb.GateCounters(
        holds=counted.holds,
        holds_answered=counted.holds_answered,
        fail_open_timeout=counted.fail_open_timeout,
        fail_open_disconnected=counted.fail_open_disconnected,
        hold_skipped_loop=counted.hold_skipped_loop,
        hold_skipped_suspended=counted.hold_skipped_suspended,
        spans_dropped=spans_dropped,
        late_rejected=counted.late_rejected,
    )


def _bytes(hexadecimal: str) -> bytes:
    try:
        return bytes.fromhex(hexadecimal)
    except ValueError:
        return b""


def _ms(seconds: float) -> int:
    return max(0, int(seconds * 1000))
