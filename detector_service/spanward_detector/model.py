"""What flows through the pipeline: steps, findings, directives. No protobuf here, no I/O, no dialect.

Times are integers in nanoseconds since the Unix epoch unless a name says otherwise; ids are lower-case hex.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from spanward.facts import AnswerFacts, ArgumentsFacts, ResultFacts

    from spanward_detector.failures import Mode, Severity


class Kind(StrEnum):
    """What a step is. ``AGENT``, ``HTTP`` and ``TICK`` carry structure and time; only the others are numbered."""

    DECISION = "decision"
    LLM = "llm"
    TOOL = "tool"
    VALIDATION = "validation"
    REPAIR = "repair"
    AGENT = "agent"
    HTTP = "http"
    TICK = "tick"
    OTHER = "other"


NUMBERED = frozenset({Kind.DECISION, Kind.LLM, Kind.TOOL, Kind.VALIDATION, Kind.REPAIR})
"""Kinds that count as steps of a run."""


class SpanRef(NamedTuple):
    """Key of a span: the detector is idempotent on it."""

    trace_id: str
    span_id: str


class HttpAttempt(NamedTuple):
    """One HTTP request below a step."""

    status: int  # 0: no answer
    retry_after_ms: int | None
    span_id: str
    start_ns: int
    error: str | None


class ToolCall(NamedTuple):
    """A tool call as the model wrote it.

    Attributes:
        id: the provider's call id, or "".
        name: as the model spelt it.
        arguments: raw text as the model wrote it; None when the telemetry does not carry it.
        form: one of :data:`spanward.semconv.ARGUMENT_FORMS`, or "schema"; None when unknown.
    """

    id: str
    name: str
    arguments: str | None = None
    form: str | None = None


class InFlight(NamedTuple):
    """A call that has started and not ended, as heartbeats tell it."""

    span_id: str
    kind: str
    action: str
    age_ms: int
    timeout_s: float
    interruptible: bool
    stack: tuple[str, ...]


@dataclass(slots=True)
class Tick:
    """Time as a step: what is known of a run between spans.

    Attributes:
        now_ns: the detector's clock, or in replay the spans' own.
        in_flight: calls that have started and not ended.
        idle_ms: since anything happened in the run; None when unknown.
        heartbeat_age_ms: since the agent was last heard; None when it has no control stream.
        run_open: the agent says that the run has not ended.
        stack: of the run's own thread or task, when it has been idle for long.
    """

    now_ns: int
    in_flight: tuple[InFlight, ...] = ()
    idle_ms: int | None = None
    heartbeat_age_ms: int | None = None
    run_open: bool = True
    stack: tuple[str, ...] = ()


@dataclass(slots=True)
class Step:
    """One observed act, the same whatever dialect its span was in.

    Content fields (``arguments``, ``result``, ``answer``, ``messages``) are None when the telemetry does not carry
    them; the facts beside them are then those computed at the gate, or None.
    """

    kind: Kind
    ref: SpanRef
    parent_id: str | None
    run_id: str
    start_ns: int
    end_ns: int
    dialect: str
    scope: str
    name: str  # of the span
    agent: str = ""
    agent_id: str = ""
    conversation_id: str = ""
    service: str = ""
    action: str = ""  # tool name, model name, decision name
    index: int = 0  # 1-based in the run; 0 until the run has numbered it
    attempt: int = 1
    reason: str = ""
    held: bool = False  # the gate waits for an answer
    # outcome as the telemetry states it
    failed: bool = False  # span status ERROR, error.type, or an exception event
    error_type: str = ""
    error_text: str | None = None
    outcome_unknown: bool = False
    control_flow: bool = False
    timed_out: bool = False
    # tools
    call_id: str = ""
    arguments: str | None = None  # unwrapped text
    arguments_digest: str = ""
    arguments_facts: ArgumentsFacts | None = None
    result: str | None = None  # unwrapped text
    result_digest: str = ""
    result_facts: ResultFacts | None = None
    side_effect: str = ""  # "" = nobody said
    idempotent: bool | None = None
    timeout_s: float = 0.0
    has_fallback: bool = False
    http: tuple[HttpAttempt, ...] = ()
    # model calls
    calls: tuple[ToolCall, ...] = ()
    n_calls: int | None = None  # number of calls in the reply; None when unknown
    unknown_tools: tuple[str, ...] = ()
    declared_tools: Mapping[str, object] | None = None  # name -> JSON Schema or None; None when not told
    finish_reason: str = ""  # normalised: stop | tool_calls | length | content_filter | ""
    input_tokens: int = 0
    output_tokens: int = 0
    max_tokens: int = 0
    model: str = ""
    answer: str | None = None  # last text of the reply
    answer_facts: AnswerFacts | None = None
    user_input: str | None = None
    tool_messages: tuple[tuple[str, str], ...] = ()  # (call id, content) at the end of the request
    said: tuple[tuple[str, str], ...] = ()  # (role, content) of the request's system and user messages
    lost: str = ""  # "attributes" were dropped or "values" cut by the limits of the agent's SDK
    # structure and time
    run_ended: str = ""  # on the run's own span: "completed" or the exception's class
    is_root: bool = False
    tick: Tick | None = None
    stated_max_steps: int = 0
    stated_max_tokens: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def duration_ms(self) -> float:
        """Never negative, whatever the clocks say."""
        return max(0, self.end_ns - self.start_ns) / 1e6

    def content(self) -> int:
        """Characters of content that it holds, roughly: what it costs to keep."""
        size = len(self.arguments or "") + len(self.result or "") + len(self.answer or "")
        if self.said or self.tool_messages or self.calls:
            texts = (text for pairs in (self.said, self.tool_messages) for _, text in pairs)
            size += sum(map(len, texts)) + sum(len(call.arguments or "") for call in self.calls)
        return size


class Finding(NamedTuple):
    """What a detector saw. Not an action.

    Attributes:
        rule: name of the detector.
        failure_type: one of :data:`spanward_detector.failures.FAILURE_TYPES`.
        severity: info | warning | error.
        mode: observe | act.
        message: for a person, without content of arguments, results or messages unless the telemetry carried it.
        ref: the offending span.
        step: its 1-based number in the run; 0 when it has none.
        evidence: span ids that show it, the offending one last.
        facts: numbers and codes for the feedback's slots; never content.
        stack: of a hung or stalled agent.
    """

    rule: str
    failure_type: str
    severity: Severity
    mode: Mode
    message: str
    ref: SpanRef
    step: int
    agent: str
    action: str
    evidence: tuple[str, ...] = ()
    facts: Mapping[str, str | int | float] = {}
    stack: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, SpanRef]:
        """Identity: the set of keys of a settled run does not depend on the order of arrival."""
        return (self.rule, self.failure_type, self.ref)


DirectiveKind = Literal[
    "retry", "repair_arguments", "feedback", "fallback", "terminate", "pause", "resume", "rollback", "handover",
    "run_tool", "approve", "deny", "interrupt_call", "compact_context", "ask",
]  # fmt: skip
DirectiveState = Literal[
    "pending", "sent", "received", "applied", "rejected", "expired", "failed", "observe_only", "verified", "unverified",
]  # fmt: skip
"""``pending`` is committed and not sent; ``observe_only`` is recorded and never sent; ``verified`` and ``unverified``
(applied, and the failure came back) follow ``applied``."""

LEVELS: Mapping[str, str] = {
    "retry": "L0", "repair_arguments": "L1", "feedback": "L2", "fallback": "L3", "terminate": "L4",
}  # fmt: skip
"""Level of each kind on the ladder; the others have none ("")."""


@dataclass(frozen=True, slots=True)
class Directive:
    """An order to one run. Carries templates, slots and names, never text made from content.

    Attributes:
        id: UUIDv7.
        payload: keys and values of the kind's own message in control.proto (``delay_ms``, ``template``, ...).
        expires_in_ms: on the receiver's clock; 0 = no limit.
    """

    id: str
    run_id: str
    kind: DirectiveKind
    level: str
    ref: SpanRef
    failure_type: str
    rule: str
    payload: Mapping[str, object]
    expires_in_ms: int = 30_000
    target_digest: str = ""
    epoch: int = 0
    answers_hold: bool = False
    state: DirectiveState = "pending"
    created_ns: int = 0

    def with_state(self, state: DirectiveState) -> Directive:
        """The same directive in another state."""
        return replace(self, state=state)
