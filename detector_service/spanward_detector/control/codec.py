"""Between the control protocol and plain Python. With :mod:`.service` the only place that knows the messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from google.protobuf.message import Message
from spanward_control.v1 import control_pb2 as pb

from spanward_detector.model import Directive, DirectiveState, InFlight
from spanward_detector.policy import Policy
from spanward_detector.states import State

MAX_ID: Final = 128
MAX_STACK_LINES: Final = 100
MAX_LINE: Final = 300
MAX_CALLS: Final = 1_000
MAX_RUNS: Final = 10_000

_STATUS: Final[Mapping[int, DirectiveState]] = {
    pb.DirectiveStatus.STATE_RECEIVED: "received",
    pb.DirectiveStatus.STATE_APPLIED: "applied",
    pb.DirectiveStatus.STATE_REJECTED: "rejected",
    pb.DirectiveStatus.STATE_EXPIRED: "expired",
    pb.DirectiveStatus.STATE_FAILED: "failed",
}
_PHASES: Final = {pb.RunPhase.Value(f"RUN_PHASE_{state}"): state for state in State}


class AgentRun(NamedTuple):
    """A run as its own process tells it.

    Attributes:
        trace_id: hex, or "".
        state: where the gate believes that the run is; None = it does not say.
        steps: that have ended so far.
    """

    run_id: str
    agent: str
    conversation_id: str
    trace_id: str
    state: State | None
    started_ns: int
    steps: int
    max_steps: int
    max_tokens: int
    max_seconds: float
    tools: Mapping[str, Tool]


class Tool(NamedTuple):
    """A tool as its own process tells it."""

    side_effect: str
    timeout_s: float
    has_fallback: bool
    idempotent: bool
    interruptible: bool


class Ack(NamedTuple):
    """What an agent says of a directive."""

    directive_id: str
    state: DirectiveState
    reason: str
    before: str
    after: str
    apply_ms: float


class Progress(NamedTuple):
    """What a heartbeat says of one run."""

    run_id: str
    idle_ms: int
    stack: tuple[str, ...]


# ---------------------------------------------------------------------------------------------------------- from agents


def agent_run(message: pb.RunState) -> AgentRun | None:
    """None when it has no usable id."""
    run_id = message.run_id
    if not run_id or len(run_id) > MAX_ID:
        return None
    limits = message.limits
    return AgentRun(
        run_id=run_id,
        agent=message.agent[:MAX_LINE],
        conversation_id=message.conversation_id[:MAX_LINE],
        trace_id=message.trace_id.hex() if len(message.trace_id) == 16 else "",
        state=_PHASES.get(message.phase),
        started_ns=message.started_unix_nano,
        steps=message.steps,
        max_steps=limits.max_steps,
        max_tokens=limits.max_tokens,
        max_seconds=limits.max_seconds,
        tools={
            name: Tool(t.side_effect, t.timeout_s, t.has_fallback, t.idempotent, t.interruptible)
            for name, t in message.tools.items()
        },
    )


def agent_runs(messages: Iterable[pb.RunState]) -> list[AgentRun]:
    """Those that have a usable id, at most :data:`MAX_RUNS`."""
    runs = [run for message in messages if (run := agent_run(message)) is not None]
    return runs[:MAX_RUNS]


def ack(message: pb.DirectiveStatus) -> Ack | None:
    """None for a state that this release does not know."""
    state = _STATUS.get(message.state)
    if state is None or not message.directive_id:
        return None
    return Ack(
        message.directive_id,
        state,
        message.reason[:MAX_LINE],
        message.before_digest[:MAX_LINE],
        message.after_digest[:MAX_LINE],
        max(0.0, message.apply_ms),
    )


def in_flight(messages: Iterable[pb.CallInFlight]) -> dict[str, tuple[InFlight, ...]]:
    """Calls in flight by run id, at most :data:`MAX_CALLS`."""
    by_run: dict[str, tuple[InFlight, ...]] = {}
    for count, call in enumerate(messages):
        if count >= MAX_CALLS:
            break
        if len(call.span_id) != 8:
            continue
        entry = InFlight(
            span_id=call.span_id.hex(),
            kind=call.kind[:MAX_LINE],
            action=call.action[:MAX_LINE],
            age_ms=call.age_ms,
            timeout_s=call.timeout_s,
            interruptible=call.interruptible,
            stack=_stack(call.stack),
        )
        by_run[call.run_id] = (*by_run.get(call.run_id, ()), entry)
    return by_run


def progress(messages: Iterable[pb.RunProgress]) -> list[Progress]:
    """What a heartbeat says of its runs."""
    return [Progress(m.run_id, m.idle_ms, _stack(m.stack)) for m in messages if m.run_id][:MAX_RUNS]


def _stack(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line[:MAX_LINE] for line in lines)[-MAX_STACK_LINES:]


def accepted_kinds(values: Iterable[int]) -> frozenset[str]:
    """Names of directive kinds; values that this release does not know are left out."""
    known = pb.DirectiveKind.values()
    return frozenset(
        pb.DirectiveKind.Name(value).removeprefix("DIRECTIVE_KIND_").lower() for value in values if value in known
    )


def fail_open(message: pb.GateCounters) -> dict[str, int]:
    """A gate's own counters by the reasons of :data:`spanward_detector.metrics.FAIL_OPEN`."""
    return {
        "timeout": message.fail_open_timeout,
        "disconnected": message.fail_open_disconnected,
        "event_loop": message.hold_skipped_loop,
        "suspended": message.hold_skipped_suspended,
        "spans_dropped": message.spans_dropped,
    }


# ------------------------------------------------------------------------------------------------------------ to agents


def hold_answer(trace_id: str, span_id: str, directive: pb.Directive | None = None) -> pb.DetectorToAgent:
    """The answer to a hold; without a directive: go on."""
    answer = pb.HoldAnswer(trace_id=bytes.fromhex(trace_id), span_id=bytes.fromhex(span_id), directive=directive)
    return pb.DetectorToAgent(hold_answer=answer)


def directive(order: Directive, epoch: int, expires_in_ms: int) -> pb.Directive:
    """A directive as it is sent now: this start's epoch, and the time that is left of its own."""
    message = pb.Directive(
        id=order.id,
        run_id=order.run_id,
        kind=f"DIRECTIVE_KIND_{order.kind.upper()}",
        level=f"LEVEL_{order.level or 'UNSPECIFIED'}",
        epoch=epoch,
        expires_in_ms=expires_in_ms,
        trace_id=_bytes(order.ref.trace_id),
        span_id=_bytes(order.ref.span_id),
        failure_type=order.failure_type,
        rule=order.rule,
        target_digest=order.target_digest,
        answers_hold=order.answers_hold,
    )
    if (payload := _PAYLOADS.get(order.kind)) is not None:
        payload(message, order.payload)
    return message


def envelope(order: pb.Directive) -> pb.DetectorToAgent:
    """A directive that answers no hold, or no longer does."""
    return pb.DetectorToAgent(directive=order)


def _bytes(value: object) -> bytes:
    try:
        return bytes.fromhex(str(value or ""))
    except ValueError:
        return b""


def _plain(field: str, *, text: tuple[str, ...] = (), whole: tuple[str, ...] = ()) -> _Fill:
    """Fills a payload whose fields are texts and whole numbers."""

    def fill(message: pb.Directive, payload: Mapping[str, object]) -> None:
        part: Message = getattr(message, field)
        part.SetInParent()
        for name in text:
            setattr(part, name, str(payload.get(name) or ""))
        for name in whole:
            setattr(part, name, max(0, min(int(str(payload.get(name) or 0)), 2**32 - 1)))

    return fill


def _slots(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}


def _repair(message: pb.Directive, payload: Mapping[str, object]) -> None:
    repairs = payload.get("repairs")
    message.repair_arguments.SetInParent()
    if isinstance(repairs, (list, tuple)):
        message.repair_arguments.repairs.extend(str(name) for name in repairs)


def _feedback(message: pb.Directive, payload: Mapping[str, object]) -> None:
    message.feedback.template = str(payload.get("template") or "")
    message.feedback.slots.update(_slots(payload.get("slots")))


def _fallback(message: pb.Directive, payload: Mapping[str, object]) -> None:
    name = f"STRATEGY_{str(payload.get('strategy') or 'unspecified').upper()}"
    known = pb.Fallback.Strategy.keys()
    strategy = name if name in known else "STRATEGY_UNSPECIFIED"
    message.fallback.CopyFrom(pb.Fallback(strategy=strategy, tool=str(payload.get("tool") or "")))


def _interrupt(message: pb.Directive, payload: Mapping[str, object]) -> None:
    message.interrupt_call.span_id = _bytes(payload.get("span_id"))
    message.interrupt_call.call_id = str(payload.get("call_id") or "")


def _ask(message: pb.Directive, payload: Mapping[str, object]) -> None:
    message.ask.question = str(payload.get("question") or "")
    message.ask.slots.update(_slots(payload.get("slots")))


_Fill = Callable[[pb.Directive, Mapping[str, object]], None]
_PAUSE: Final = _plain("pause", text=("reason",), whole=("lease_ms",))
_APPROVAL: Final = _plain("approval", text=("action_digest",))
_PAYLOADS: Final[Mapping[str, _Fill]] = {
    "retry": _plain("retry", whole=("delay_ms", "attempt")),
    "repair_arguments": _repair,
    "feedback": _feedback,
    "fallback": _fallback,
    "terminate": _plain("terminate", text=("reason", "user_message")),
    "pause": _PAUSE,
    "handover": _PAUSE,
    "rollback": _plain("rollback", text=("checkpoint",)),
    "interrupt_call": _interrupt,
    "approve": _APPROVAL,
    "deny": _APPROVAL,
    "ask": _ask,
}


def policy(source: Policy) -> pb.Policy:
    """The part of a policy that a gate enforces by itself.

    Who lets ``unsafe_action`` observe wants to be told of calls outside of the lists, not to have them refused.
    """
    message = pb.Policy(version=source.version)
    message.hard_limits.max_steps = source.limits.max_steps
    message.hard_limits.max_tokens = source.limits.max_tokens
    message.hard_limits.max_seconds = source.limits.max_seconds
    for name, tool in source.tools.items():
        spec = message.tools[name]
        spec.side_effect = tool.side_effect or ""
        spec.timeout_s = tool.timeout
        spec.idempotent = bool(tool.idempotent)
        if tool.fail_closed:
            message.fail_closed_tools.append(name)
    if source.rules.get("unsafe_action", {}).get("mode") != "observe":
        _lists(message, source)
    return message


def _lists(message: pb.Policy, source: Policy) -> None:
    message.allowed_tools.extend(source.allowed_tools)
    for tool, stated in source.tools.items():
        for name, rule in stated.arguments.items():
            message.arguments[tool].rules[name].CopyFrom(pb.ArgumentRule(allow=rule.allow, deny=rule.deny))


def welcome(epoch: int, heartbeat_ms: int, detector_id: str, policy: pb.Policy | None) -> pb.DetectorToAgent:
    """The first answer to a stream that is accepted."""
    return pb.DetectorToAgent(
        welcome=pb.Welcome(
            epoch=epoch, heartbeat_ms=heartbeat_ms, detector_id=detector_id, policy=policy, takes_spans=True
        )
    )


def refused(reason: str, message: str, retry_after_ms: int = 0) -> pb.DetectorToAgent:
    """The only answer to a stream that is not."""
    return pb.DetectorToAgent(refused=pb.Refused(reason=reason, message=message, retry_after_ms=retry_after_ms))


def transition(run_id: str, from_state: State, to_state: State, reason: str) -> pb.DetectorToAgent:
    """A move of a run, for its gate to mirror."""
    move = pb.Transition(run_id=run_id, to=f"RUN_PHASE_{to_state}", reason=reason)
    setattr(move, "from", pb.RunPhase.Value(f"RUN_PHASE_{from_state}"))  # a keyword in Python
    return pb.DetectorToAgent(transition=move)


def breaker(tool: str, phase: str, open_for_ms: int) -> pb.DetectorToAgent:
    """Where the breaker of a tool is."""
    state = pb.BreakerState(tool=tool, phase=f"BREAKER_PHASE_{phase.upper()}", open_for_ms=open_for_ms)
    return pb.DetectorToAgent(breaker=state)


def request_full_state() -> pb.DetectorToAgent:
    """A message was missed: tell everything again."""
    return pb.DetectorToAgent(request_full_state=pb.RequestFullState())


def reconnect(reason: str) -> pb.DetectorToAgent:
    """The stream is about to end on purpose."""
    return pb.DetectorToAgent(reconnect=pb.Reconnect(reason=reason))
