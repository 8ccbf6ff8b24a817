"""How a run moves through its states. Pure: events in, moves out; the table itself is in :mod:`.states`.

A run is DONE only when the detector has seen all of it and nothing that it failed at is left open. A run that ended
while nobody looked stays in WAITING_VALIDATION.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spanward_detector.model import NUMBERED, DirectiveKind, Finding, Kind, SpanRef, Step
from spanward_detector.states import OPEN, State, path

COMPLETED: Final = "completed"
"""End reason of a run that ended without an exception."""

_MAX_TRACES: Final = 64
_MAX_SPANS: Final = 100_000
_AFTER: Final[dict[DirectiveKind, State]] = {
    "pause": State.PAUSED,
    "handover": State.AWAITING_HUMAN,
    "resume": State.RUNNING,
    "terminate": State.FAILED,
    "rollback": State.ROLLING_BACK,
}
"""Where a directive takes a run once its gate has applied it."""


class Move(NamedTuple):
    """One transition of a run."""

    run_id: str
    from_state: State
    to_state: State
    reason: str
    at_ns: int


class _Failure(NamedTuple):
    kind: Kind
    action: str
    start_ns: int


@dataclass(slots=True)
class Life:
    """What the detector knows of the course of one run, beside the detectors' own memory.

    Attributes:
        instance_id: of the process that registered it; "" for spans that nobody registered.
        steps_told: steps that have ended, as the agent says.
        ended: the agent, or the run's own span, said that it is over.
        end_reason: :data:`COMPLETED` or the class of an exception.
        root_seen: the run's own span has come.
        findings: number of findings that stand.
        open: failures that nothing since has made good, by failure type and span.
        last_ref: the last span seen; None before the first.
    """

    run_id: str
    agent: str = ""
    service: str = ""
    conversation_id: str = ""
    instance_id: str = ""
    state: State = State.IDLE
    started_ns: int = 0
    ended_ns: int = 0
    updated_ns: int = 0
    steps_told: int = 0
    ended: bool = False
    end_reason: str = ""
    root_seen: bool = False
    findings: int = 0
    trace_ids: dict[str, None] = field(default_factory=dict)
    open: dict[tuple[str, SpanRef], _Failure] = field(default_factory=dict)
    spans: set[str] = field(default_factory=set)
    last_ref: SpanRef | None = None

    @property
    def steps(self) -> int:
        """Numbered steps that were seen, or told by the agent where those are more."""
        return max(len(self.spans), self.steps_told)

    @property
    def seen_whole(self) -> bool:
        """Every step that the agent told of was seen, or at least its own span when it told of none."""
        return len(self.spans) >= self.steps_told and (bool(self.spans) or self.root_seen)

    def joins(self, trace_id: str) -> None:
        """The run continues in this trace."""
        if trace_id and len(self.trace_ids) < _MAX_TRACES:
            self.trace_ids[trace_id] = None


def started(life: Life, at_ns: int, state: State | None = None) -> list[Move]:
    """The agent says that the run is open. ``state``: where its gate mirrors it, which is all there is after a loss."""
    life.started_ns = life.started_ns or at_ns
    if life.state is State.IDLE:
        if state in (None, State.IDLE, State.RUNNING, State.DONE):
            return _go(life, State.RUNNING, "started", at_ns)
        life.state = state
    elif life.state is State.WAITING_VALIDATION and not life.ended:
        return _go(life, State.RUNNING, "back", at_ns)  # it was given up too early
    return []


def observed(
    life: Life, step: Step, findings: Iterable[Finding], withdrawn: Iterable[Finding], at_ns: int
) -> list[Move]:
    """A step was judged: keeps the account of failures; a run that nobody registered lives by its spans."""
    life.updated_ns = at_ns
    if step.ref.span_id:
        life.joins(step.ref.trace_id)
        life.last_ref = step.ref
    if step.kind in NUMBERED and len(life.spans) < _MAX_SPANS:
        life.spans.add(step.ref.span_id)
    if step.kind is Kind.AGENT and (step.run_ended or step.is_root):
        life.root_seen = True
    # A finding that late telemetry gave another name is the same failure: made good before, it stays made good.
    gone = list(withdrawn)
    life.findings -= len(gone)
    renamed = {f.ref: life.open.pop((f.failure_type, f.ref), None) for f in gone}
    failed = False
    for finding in findings:
        life.findings += 1
        if finding.mode != "act" or finding.severity != "error":
            continue
        failed = failed or finding.ref == step.ref
        if finding.ref == step.ref:
            failure: _Failure | None = _Failure(step.kind, finding.action, step.start_ns)
        elif finding.ref in renamed:
            failure = renamed[finding.ref]
        else:  # of an earlier step, or of time: any later success of its kind makes it good
            failure = _Failure(Kind.LLM if "model" in finding.facts else Kind.TOOL, finding.action, 0)
        if failure is not None:
            life.open[finding.failure_type, finding.ref] = failure
    if not failed and step.kind in (Kind.TOOL, Kind.LLM):
        _make_good(life, step)
    moves = []
    if life.state is State.IDLE:
        life.started_ns = step.start_ns or at_ns
        moves = _go(life, State.RUNNING, "first span", at_ns)
    if not life.instance_id and step.kind is Kind.AGENT and (step.run_ended or step.is_root) and not life.ended:
        moves += ended(life, step.run_ended or step.error_type or (COMPLETED if not step.failed else "error"), at_ns)
    return moves


def _make_good(life: Life, step: Step) -> None:
    """A step that worked makes good what failed before it at the same kind; a clean last answer, everything.

    Whether an answer may stand over a failed tool is for the rules to say: had it ignored the failure, it would have a
    finding of its own and not be clean.
    """
    if not life.open:
        return
    answer = step.kind is Kind.LLM and not step.calls and not step.n_calls and not step.failed
    for key, failure in list(life.open.items()):
        if failure.start_ns <= step.start_ns and (answer or (failure.kind is step.kind and not step.failed)):
            del life.open[key]


def applied(life: Life, kind: DirectiveKind, ref: SpanRef, action: str, at_ns: int) -> list[Move]:
    """The gate carried out a directive."""
    if kind == "fallback":  # another result stands in for the one that failed
        for key, failure in list(life.open.items()):
            if key[1] == ref or (action and failure.action == action):
                del life.open[key]
    to = _AFTER.get(kind)
    return _go(life, to, kind, at_ns) if to is not None else []


def ended(life: Life, reason: str, at_ns: int) -> list[Move]:
    """The run is over. Whether it is DONE is seen once its last spans are in (:func:`judged`)."""
    life.ended = True
    life.ended_ns = at_ns
    life.end_reason = reason
    if reason != COMPLETED:
        return _go(life, State.FAILED, reason or "error", at_ns)
    if life.state in (State.AWAITING_HUMAN, State.ROLLING_BACK):
        return []  # a person has it
    return _go(life, State.WAITING_VALIDATION, COMPLETED, at_ns)


def unseen(life: Life, reason: str, at_ns: int) -> list[Move]:
    """The run's process is gone, or came back without it: nobody saw how it ended."""
    if life.state not in (State.RUNNING, State.IDLE):
        return []
    life.ended_ns = life.ended_ns or at_ns
    return _go(life, State.WAITING_VALIDATION, reason, at_ns)


def judged(life: Life, at_ns: int) -> list[Move]:
    """No span has come for a while since the run ended: the verdict, when all of it was seen."""
    if not life.ended or life.state is not State.WAITING_VALIDATION or not life.seen_whole:
        return []
    if life.open:
        types = ",".join(sorted({failure_type for failure_type, _ in life.open}))
        return _go(life, State.FAILED, types, at_ns)
    return _go(life, State.DONE, "validated", at_ns)


def _go(life: Life, to: State, reason: str, at_ns: int) -> list[Move]:
    """The moves to a state; none when the run is over or the table knows no way."""
    if life.state not in OPEN or (way := path(life.state, to)) is None:
        return []
    moves = []
    for state in way:
        moves.append(Move(life.run_id, life.state, state, reason, at_ns))
        life.state = state
    life.updated_ns = at_ns
    return moves
