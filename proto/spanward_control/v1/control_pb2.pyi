from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Capability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CAPABILITY_UNSPECIFIED: _ClassVar[Capability]
    CAPABILITY_HOLD: _ClassVar[Capability]
    CAPABILITY_INTERRUPT_CALL: _ClassVar[Capability]
    CAPABILITY_SCENE: _ClassVar[Capability]
    CAPABILITY_RUN_TOOL: _ClassVar[Capability]
    CAPABILITY_ASK_MODEL: _ClassVar[Capability]
    CAPABILITY_ROLLBACK: _ClassVar[Capability]
    CAPABILITY_LOCAL_POLICY: _ClassVar[Capability]

class RunPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_PHASE_UNSPECIFIED: _ClassVar[RunPhase]
    RUN_PHASE_IDLE: _ClassVar[RunPhase]
    RUN_PHASE_RUNNING: _ClassVar[RunPhase]
    RUN_PHASE_WAITING_VALIDATION: _ClassVar[RunPhase]
    RUN_PHASE_PAUSED: _ClassVar[RunPhase]
    RUN_PHASE_ROLLING_BACK: _ClassVar[RunPhase]
    RUN_PHASE_AWAITING_HUMAN: _ClassVar[RunPhase]
    RUN_PHASE_DONE: _ClassVar[RunPhase]
    RUN_PHASE_FAILED: _ClassVar[RunPhase]

class DirectiveKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTIVE_KIND_UNSPECIFIED: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_RETRY: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_REPAIR_ARGUMENTS: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_FEEDBACK: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_FALLBACK: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_TERMINATE: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_PAUSE: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_RESUME: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_ROLLBACK: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_HANDOVER: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_RUN_TOOL: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_APPROVE: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_DENY: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_INTERRUPT_CALL: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_COMPACT_CONTEXT: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_ASK: _ClassVar[DirectiveKind]

class Level(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEVEL_UNSPECIFIED: _ClassVar[Level]
    LEVEL_L0: _ClassVar[Level]
    LEVEL_L1: _ClassVar[Level]
    LEVEL_L2: _ClassVar[Level]
    LEVEL_L3: _ClassVar[Level]
    LEVEL_L4: _ClassVar[Level]

class BreakerPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BREAKER_PHASE_UNSPECIFIED: _ClassVar[BreakerPhase]
    BREAKER_PHASE_CLOSED: _ClassVar[BreakerPhase]
    BREAKER_PHASE_OPEN: _ClassVar[BreakerPhase]
    BREAKER_PHASE_HALF_OPEN: _ClassVar[BreakerPhase]
CAPABILITY_UNSPECIFIED: Capability
CAPABILITY_HOLD: Capability
CAPABILITY_INTERRUPT_CALL: Capability
CAPABILITY_SCENE: Capability
CAPABILITY_RUN_TOOL: Capability
CAPABILITY_ASK_MODEL: Capability
CAPABILITY_ROLLBACK: Capability
CAPABILITY_LOCAL_POLICY: Capability
RUN_PHASE_UNSPECIFIED: RunPhase
RUN_PHASE_IDLE: RunPhase
RUN_PHASE_RUNNING: RunPhase
RUN_PHASE_WAITING_VALIDATION: RunPhase
RUN_PHASE_PAUSED: RunPhase
RUN_PHASE_ROLLING_BACK: RunPhase
RUN_PHASE_AWAITING_HUMAN: RunPhase
RUN_PHASE_DONE: RunPhase
RUN_PHASE_FAILED: RunPhase
DIRECTIVE_KIND_UNSPECIFIED: DirectiveKind
DIRECTIVE_KIND_RETRY: DirectiveKind
DIRECTIVE_KIND_REPAIR_ARGUMENTS: DirectiveKind
DIRECTIVE_KIND_FEEDBACK: DirectiveKind
DIRECTIVE_KIND_FALLBACK: DirectiveKind
DIRECTIVE_KIND_TERMINATE: DirectiveKind
DIRECTIVE_KIND_PAUSE: DirectiveKind
DIRECTIVE_KIND_RESUME: DirectiveKind
DIRECTIVE_KIND_ROLLBACK: DirectiveKind
DIRECTIVE_KIND_HANDOVER: DirectiveKind
DIRECTIVE_KIND_RUN_TOOL: DirectiveKind
DIRECTIVE_KIND_APPROVE: DirectiveKind
DIRECTIVE_KIND_DENY: DirectiveKind
DIRECTIVE_KIND_INTERRUPT_CALL: DirectiveKind
DIRECTIVE_KIND_COMPACT_CONTEXT: DirectiveKind
DIRECTIVE_KIND_ASK: DirectiveKind
LEVEL_UNSPECIFIED: Level
LEVEL_L0: Level
LEVEL_L1: Level
LEVEL_L2: Level
LEVEL_L3: Level
LEVEL_L4: Level
BREAKER_PHASE_UNSPECIFIED: BreakerPhase
BREAKER_PHASE_CLOSED: BreakerPhase
BREAKER_PHASE_OPEN: BreakerPhase
BREAKER_PHASE_HALF_OPEN: BreakerPhase

class AgentToDetector(_message.Message):
    __slots__ = ("seq", "hello", "heartbeat", "run_update", "directive_status", "full_state", "scene", "tool_result", "model_answer", "policy_status", "goodbye", "spans")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    RUN_UPDATE_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_STATUS_FIELD_NUMBER: _ClassVar[int]
    FULL_STATE_FIELD_NUMBER: _ClassVar[int]
    SCENE_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    MODEL_ANSWER_FIELD_NUMBER: _ClassVar[int]
    POLICY_STATUS_FIELD_NUMBER: _ClassVar[int]
    GOODBYE_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    hello: Hello
    heartbeat: Heartbeat
    run_update: RunUpdate
    directive_status: DirectiveStatus
    full_state: FullState
    scene: Scene
    tool_result: ToolResult
    model_answer: ModelAnswer
    policy_status: PolicyStatus
    goodbye: Goodbye
    spans: Spans
    def __init__(self, seq: _Optional[int] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., run_update: _Optional[_Union[RunUpdate, _Mapping]] = ..., directive_status: _Optional[_Union[DirectiveStatus, _Mapping]] = ..., full_state: _Optional[_Union[FullState, _Mapping]] = ..., scene: _Optional[_Union[Scene, _Mapping]] = ..., tool_result: _Optional[_Union[ToolResult, _Mapping]] = ..., model_answer: _Optional[_Union[ModelAnswer, _Mapping]] = ..., policy_status: _Optional[_Union[PolicyStatus, _Mapping]] = ..., goodbye: _Optional[_Union[Goodbye, _Mapping]] = ..., spans: _Optional[_Union[Spans, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("instance_id", "service_name", "sdk_version", "capabilities", "accepts", "policy_version", "runs", "last_epoch")
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    SDK_VERSION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    LAST_EPOCH_FIELD_NUMBER: _ClassVar[int]
    instance_id: str
    service_name: str
    sdk_version: str
    capabilities: _containers.RepeatedScalarFieldContainer[Capability]
    accepts: _containers.RepeatedScalarFieldContainer[DirectiveKind]
    policy_version: str
    runs: _containers.RepeatedCompositeFieldContainer[RunState]
    last_epoch: int
    def __init__(self, instance_id: _Optional[str] = ..., service_name: _Optional[str] = ..., sdk_version: _Optional[str] = ..., capabilities: _Optional[_Iterable[_Union[Capability, str]]] = ..., accepts: _Optional[_Iterable[_Union[DirectiveKind, str]]] = ..., policy_version: _Optional[str] = ..., runs: _Optional[_Iterable[_Union[RunState, _Mapping]]] = ..., last_epoch: _Optional[int] = ...) -> None: ...

class RunState(_message.Message):
    __slots__ = ("run_id", "agent", "conversation_id", "trace_id", "phase", "started_unix_nano", "steps", "limits", "tools")
    class ToolsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ToolSpec
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ToolSpec, _Mapping]] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STARTED_UNIX_NANO_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    agent: str
    conversation_id: str
    trace_id: bytes
    phase: RunPhase
    started_unix_nano: int
    steps: int
    limits: RunLimits
    tools: _containers.MessageMap[str, ToolSpec]
    def __init__(self, run_id: _Optional[str] = ..., agent: _Optional[str] = ..., conversation_id: _Optional[str] = ..., trace_id: _Optional[bytes] = ..., phase: _Optional[_Union[RunPhase, str]] = ..., started_unix_nano: _Optional[int] = ..., steps: _Optional[int] = ..., limits: _Optional[_Union[RunLimits, _Mapping]] = ..., tools: _Optional[_Mapping[str, ToolSpec]] = ...) -> None: ...

class RunLimits(_message.Message):
    __slots__ = ("max_steps", "max_tokens", "max_seconds")
    MAX_STEPS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_SECONDS_FIELD_NUMBER: _ClassVar[int]
    max_steps: int
    max_tokens: int
    max_seconds: float
    def __init__(self, max_steps: _Optional[int] = ..., max_tokens: _Optional[int] = ..., max_seconds: _Optional[float] = ...) -> None: ...

class ToolSpec(_message.Message):
    __slots__ = ("side_effect", "timeout_s", "has_fallback", "idempotent", "interruptible")
    SIDE_EFFECT_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    HAS_FALLBACK_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTIBLE_FIELD_NUMBER: _ClassVar[int]
    side_effect: str
    timeout_s: float
    has_fallback: bool
    idempotent: bool
    interruptible: bool
    def __init__(self, side_effect: _Optional[str] = ..., timeout_s: _Optional[float] = ..., has_fallback: bool = ..., idempotent: bool = ..., interruptible: bool = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("in_flight", "runs", "counters")
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    in_flight: _containers.RepeatedCompositeFieldContainer[CallInFlight]
    runs: _containers.RepeatedCompositeFieldContainer[RunProgress]
    counters: GateCounters
    def __init__(self, in_flight: _Optional[_Iterable[_Union[CallInFlight, _Mapping]]] = ..., runs: _Optional[_Iterable[_Union[RunProgress, _Mapping]]] = ..., counters: _Optional[_Union[GateCounters, _Mapping]] = ...) -> None: ...

class CallInFlight(_message.Message):
    __slots__ = ("run_id", "trace_id", "span_id", "kind", "action", "age_ms", "timeout_s", "interruptible", "stack")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTIBLE_FIELD_NUMBER: _ClassVar[int]
    STACK_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    trace_id: bytes
    span_id: bytes
    kind: str
    action: str
    age_ms: int
    timeout_s: float
    interruptible: bool
    stack: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., trace_id: _Optional[bytes] = ..., span_id: _Optional[bytes] = ..., kind: _Optional[str] = ..., action: _Optional[str] = ..., age_ms: _Optional[int] = ..., timeout_s: _Optional[float] = ..., interruptible: bool = ..., stack: _Optional[_Iterable[str]] = ...) -> None: ...

class RunProgress(_message.Message):
    __slots__ = ("run_id", "steps", "idle_ms", "phase", "stack")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    IDLE_MS_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STACK_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    steps: int
    idle_ms: int
    phase: RunPhase
    stack: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., steps: _Optional[int] = ..., idle_ms: _Optional[int] = ..., phase: _Optional[_Union[RunPhase, str]] = ..., stack: _Optional[_Iterable[str]] = ...) -> None: ...

class GateCounters(_message.Message):
    __slots__ = ("holds", "holds_answered", "fail_open_timeout", "fail_open_disconnected", "hold_skipped_loop", "hold_skipped_suspended", "spans_dropped", "late_rejected")
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    HOLDS_ANSWERED_FIELD_NUMBER: _ClassVar[int]
    FAIL_OPEN_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    FAIL_OPEN_DISCONNECTED_FIELD_NUMBER: _ClassVar[int]
    HOLD_SKIPPED_LOOP_FIELD_NUMBER: _ClassVar[int]
    HOLD_SKIPPED_SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    SPANS_DROPPED_FIELD_NUMBER: _ClassVar[int]
    LATE_REJECTED_FIELD_NUMBER: _ClassVar[int]
    holds: int
    holds_answered: int
    fail_open_timeout: int
    fail_open_disconnected: int
    hold_skipped_loop: int
    hold_skipped_suspended: int
    spans_dropped: int
    late_rejected: int
    def __init__(self, holds: _Optional[int] = ..., holds_answered: _Optional[int] = ..., fail_open_timeout: _Optional[int] = ..., fail_open_disconnected: _Optional[int] = ..., hold_skipped_loop: _Optional[int] = ..., hold_skipped_suspended: _Optional[int] = ..., spans_dropped: _Optional[int] = ..., late_rejected: _Optional[int] = ...) -> None: ...

class RunUpdate(_message.Message):
    __slots__ = ("run", "started", "ended", "end_reason")
    RUN_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    END_REASON_FIELD_NUMBER: _ClassVar[int]
    run: RunState
    started: bool
    ended: bool
    end_reason: str
    def __init__(self, run: _Optional[_Union[RunState, _Mapping]] = ..., started: bool = ..., ended: bool = ..., end_reason: _Optional[str] = ...) -> None: ...

class DirectiveStatus(_message.Message):
    __slots__ = ("directive_id", "state", "reason", "before_digest", "after_digest", "diff", "apply_ms")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[DirectiveStatus.State]
        STATE_RECEIVED: _ClassVar[DirectiveStatus.State]
        STATE_APPLIED: _ClassVar[DirectiveStatus.State]
        STATE_REJECTED: _ClassVar[DirectiveStatus.State]
        STATE_EXPIRED: _ClassVar[DirectiveStatus.State]
        STATE_FAILED: _ClassVar[DirectiveStatus.State]
    STATE_UNSPECIFIED: DirectiveStatus.State
    STATE_RECEIVED: DirectiveStatus.State
    STATE_APPLIED: DirectiveStatus.State
    STATE_REJECTED: DirectiveStatus.State
    STATE_EXPIRED: DirectiveStatus.State
    STATE_FAILED: DirectiveStatus.State
    DIRECTIVE_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BEFORE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    AFTER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    DIFF_FIELD_NUMBER: _ClassVar[int]
    APPLY_MS_FIELD_NUMBER: _ClassVar[int]
    directive_id: str
    state: DirectiveStatus.State
    reason: str
    before_digest: str
    after_digest: str
    diff: str
    apply_ms: float
    def __init__(self, directive_id: _Optional[str] = ..., state: _Optional[_Union[DirectiveStatus.State, str]] = ..., reason: _Optional[str] = ..., before_digest: _Optional[str] = ..., after_digest: _Optional[str] = ..., diff: _Optional[str] = ..., apply_ms: _Optional[float] = ...) -> None: ...

class FullState(_message.Message):
    __slots__ = ("runs", "in_flight", "directives")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVES_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[RunState]
    in_flight: _containers.RepeatedCompositeFieldContainer[CallInFlight]
    directives: _containers.RepeatedCompositeFieldContainer[DirectiveStatus]
    def __init__(self, runs: _Optional[_Iterable[_Union[RunState, _Mapping]]] = ..., in_flight: _Optional[_Iterable[_Union[CallInFlight, _Mapping]]] = ..., directives: _Optional[_Iterable[_Union[DirectiveStatus, _Mapping]]] = ...) -> None: ...

class Scene(_message.Message):
    __slots__ = ("request_id", "run_id", "items", "stack", "error")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    STACK_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run_id: str
    items: _containers.RepeatedCompositeFieldContainer[SceneItem]
    stack: _containers.RepeatedScalarFieldContainer[str]
    error: str
    def __init__(self, request_id: _Optional[str] = ..., run_id: _Optional[str] = ..., items: _Optional[_Iterable[_Union[SceneItem, _Mapping]]] = ..., stack: _Optional[_Iterable[str]] = ..., error: _Optional[str] = ...) -> None: ...

class SceneItem(_message.Message):
    __slots__ = ("role", "label", "text", "span_id")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    role: str
    label: str
    text: str
    span_id: bytes
    def __init__(self, role: _Optional[str] = ..., label: _Optional[str] = ..., text: _Optional[str] = ..., span_id: _Optional[bytes] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("request_id", "result", "error")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    result: str
    error: str
    def __init__(self, request_id: _Optional[str] = ..., result: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class ModelAnswer(_message.Message):
    __slots__ = ("request_id", "text", "error")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    text: str
    error: str
    def __init__(self, request_id: _Optional[str] = ..., text: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class PolicyStatus(_message.Message):
    __slots__ = ("version", "state", "error")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[PolicyStatus.State]
        STATE_APPLIED: _ClassVar[PolicyStatus.State]
        STATE_FAILED: _ClassVar[PolicyStatus.State]
    STATE_UNSPECIFIED: PolicyStatus.State
    STATE_APPLIED: PolicyStatus.State
    STATE_FAILED: PolicyStatus.State
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    version: str
    state: PolicyStatus.State
    error: str
    def __init__(self, version: _Optional[str] = ..., state: _Optional[_Union[PolicyStatus.State, str]] = ..., error: _Optional[str] = ...) -> None: ...

class Spans(_message.Message):
    __slots__ = ("request", "runs")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    request: bytes
    runs: _containers.RepeatedCompositeFieldContainer[RunUpdate]
    def __init__(self, request: _Optional[bytes] = ..., runs: _Optional[_Iterable[_Union[RunUpdate, _Mapping]]] = ...) -> None: ...

class Goodbye(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class DetectorToAgent(_message.Message):
    __slots__ = ("seq", "taken", "welcome", "refused", "hold_answer", "directive", "breaker", "policy", "request_full_state", "scene_request", "ask_model", "run_tool", "transition", "reconnect")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    HOLD_ANSWER_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    BREAKER_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FULL_STATE_FIELD_NUMBER: _ClassVar[int]
    SCENE_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ASK_MODEL_FIELD_NUMBER: _ClassVar[int]
    RUN_TOOL_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    RECONNECT_FIELD_NUMBER: _ClassVar[int]
    seq: int
    taken: int
    welcome: Welcome
    refused: Refused
    hold_answer: HoldAnswer
    directive: Directive
    breaker: BreakerState
    policy: Policy
    request_full_state: RequestFullState
    scene_request: SceneRequest
    ask_model: AskModel
    run_tool: RunTool
    transition: Transition
    reconnect: Reconnect
    def __init__(self, seq: _Optional[int] = ..., taken: _Optional[int] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ..., refused: _Optional[_Union[Refused, _Mapping]] = ..., hold_answer: _Optional[_Union[HoldAnswer, _Mapping]] = ..., directive: _Optional[_Union[Directive, _Mapping]] = ..., breaker: _Optional[_Union[BreakerState, _Mapping]] = ..., policy: _Optional[_Union[Policy, _Mapping]] = ..., request_full_state: _Optional[_Union[RequestFullState, _Mapping]] = ..., scene_request: _Optional[_Union[SceneRequest, _Mapping]] = ..., ask_model: _Optional[_Union[AskModel, _Mapping]] = ..., run_tool: _Optional[_Union[RunTool, _Mapping]] = ..., transition: _Optional[_Union[Transition, _Mapping]] = ..., reconnect: _Optional[_Union[Reconnect, _Mapping]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("epoch", "heartbeat_ms", "policy", "detector_id", "takes_spans")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    DETECTOR_ID_FIELD_NUMBER: _ClassVar[int]
    TAKES_SPANS_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    heartbeat_ms: int
    policy: Policy
    detector_id: str
    takes_spans: bool
    def __init__(self, epoch: _Optional[int] = ..., heartbeat_ms: _Optional[int] = ..., policy: _Optional[_Union[Policy, _Mapping]] = ..., detector_id: _Optional[str] = ..., takes_spans: bool = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("reason", "message", "retry_after_ms")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    reason: str
    message: str
    retry_after_ms: int
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class HoldAnswer(_message.Message):
    __slots__ = ("trace_id", "span_id", "directive")
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    trace_id: bytes
    span_id: bytes
    directive: Directive
    def __init__(self, trace_id: _Optional[bytes] = ..., span_id: _Optional[bytes] = ..., directive: _Optional[_Union[Directive, _Mapping]] = ...) -> None: ...

class Directive(_message.Message):
    __slots__ = ("id", "run_id", "kind", "level", "epoch", "expires_in_ms", "trace_id", "span_id", "failure_type", "rule", "target_digest", "answers_hold", "retry", "repair_arguments", "feedback", "fallback", "terminate", "pause", "rollback", "interrupt_call", "approval", "ask")
    ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_MS_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    FAILURE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    TARGET_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_HOLD_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    REPAIR_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    TERMINATE_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    ROLLBACK_FIELD_NUMBER: _ClassVar[int]
    INTERRUPT_CALL_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    id: str
    run_id: str
    kind: DirectiveKind
    level: Level
    epoch: int
    expires_in_ms: int
    trace_id: bytes
    span_id: bytes
    failure_type: str
    rule: str
    target_digest: str
    answers_hold: bool
    retry: Retry
    repair_arguments: RepairArguments
    feedback: Feedback
    fallback: Fallback
    terminate: Terminate
    pause: Pause
    rollback: Rollback
    interrupt_call: InterruptCall
    approval: Approval
    ask: Ask
    def __init__(self, id: _Optional[str] = ..., run_id: _Optional[str] = ..., kind: _Optional[_Union[DirectiveKind, str]] = ..., level: _Optional[_Union[Level, str]] = ..., epoch: _Optional[int] = ..., expires_in_ms: _Optional[int] = ..., trace_id: _Optional[bytes] = ..., span_id: _Optional[bytes] = ..., failure_type: _Optional[str] = ..., rule: _Optional[str] = ..., target_digest: _Optional[str] = ..., answers_hold: bool = ..., retry: _Optional[_Union[Retry, _Mapping]] = ..., repair_arguments: _Optional[_Union[RepairArguments, _Mapping]] = ..., feedback: _Optional[_Union[Feedback, _Mapping]] = ..., fallback: _Optional[_Union[Fallback, _Mapping]] = ..., terminate: _Optional[_Union[Terminate, _Mapping]] = ..., pause: _Optional[_Union[Pause, _Mapping]] = ..., rollback: _Optional[_Union[Rollback, _Mapping]] = ..., interrupt_call: _Optional[_Union[InterruptCall, _Mapping]] = ..., approval: _Optional[_Union[Approval, _Mapping]] = ..., ask: _Optional[_Union[Ask, _Mapping]] = ...) -> None: ...

class Retry(_message.Message):
    __slots__ = ("delay_ms", "attempt")
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    delay_ms: int
    attempt: int
    def __init__(self, delay_ms: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class RepairArguments(_message.Message):
    __slots__ = ("repairs",)
    REPAIRS_FIELD_NUMBER: _ClassVar[int]
    repairs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, repairs: _Optional[_Iterable[str]] = ...) -> None: ...

class Feedback(_message.Message):
    __slots__ = ("template", "slots")
    class SlotsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    template: str
    slots: _containers.ScalarMap[str, str]
    def __init__(self, template: _Optional[str] = ..., slots: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Fallback(_message.Message):
    __slots__ = ("strategy", "tool")
    class Strategy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STRATEGY_UNSPECIFIED: _ClassVar[Fallback.Strategy]
        STRATEGY_TOOL_FALLBACK: _ClassVar[Fallback.Strategy]
        STRATEGY_DEGRADED: _ClassVar[Fallback.Strategy]
        STRATEGY_REPLAN: _ClassVar[Fallback.Strategy]
    STRATEGY_UNSPECIFIED: Fallback.Strategy
    STRATEGY_TOOL_FALLBACK: Fallback.Strategy
    STRATEGY_DEGRADED: Fallback.Strategy
    STRATEGY_REPLAN: Fallback.Strategy
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    strategy: Fallback.Strategy
    tool: str
    def __init__(self, strategy: _Optional[_Union[Fallback.Strategy, str]] = ..., tool: _Optional[str] = ...) -> None: ...

class Terminate(_message.Message):
    __slots__ = ("reason", "user_message")
    REASON_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    reason: str
    user_message: str
    def __init__(self, reason: _Optional[str] = ..., user_message: _Optional[str] = ...) -> None: ...

class Pause(_message.Message):
    __slots__ = ("lease_ms", "reason")
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    lease_ms: int
    reason: str
    def __init__(self, lease_ms: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Rollback(_message.Message):
    __slots__ = ("checkpoint",)
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    checkpoint: str
    def __init__(self, checkpoint: _Optional[str] = ...) -> None: ...

class InterruptCall(_message.Message):
    __slots__ = ("span_id", "call_id")
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    span_id: bytes
    call_id: str
    def __init__(self, span_id: _Optional[bytes] = ..., call_id: _Optional[str] = ...) -> None: ...

class Approval(_message.Message):
    __slots__ = ("action_digest",)
    ACTION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    action_digest: str
    def __init__(self, action_digest: _Optional[str] = ...) -> None: ...

class Ask(_message.Message):
    __slots__ = ("question", "slots")
    class SlotsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    question: str
    slots: _containers.ScalarMap[str, str]
    def __init__(self, question: _Optional[str] = ..., slots: _Optional[_Mapping[str, str]] = ...) -> None: ...

class BreakerState(_message.Message):
    __slots__ = ("tool", "phase", "open_for_ms")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    OPEN_FOR_MS_FIELD_NUMBER: _ClassVar[int]
    tool: str
    phase: BreakerPhase
    open_for_ms: int
    def __init__(self, tool: _Optional[str] = ..., phase: _Optional[_Union[BreakerPhase, str]] = ..., open_for_ms: _Optional[int] = ...) -> None: ...

class Policy(_message.Message):
    __slots__ = ("version", "hard_limits", "tools", "fail_closed_tools", "allowed_tools", "arguments")
    class ToolsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ToolSpec
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ToolSpec, _Mapping]] = ...) -> None: ...
    class ArgumentsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ArgumentRules
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ArgumentRules, _Mapping]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HARD_LIMITS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    FAIL_CLOSED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    version: str
    hard_limits: RunLimits
    tools: _containers.MessageMap[str, ToolSpec]
    fail_closed_tools: _containers.RepeatedScalarFieldContainer[str]
    allowed_tools: _containers.RepeatedScalarFieldContainer[str]
    arguments: _containers.MessageMap[str, ArgumentRules]
    def __init__(self, version: _Optional[str] = ..., hard_limits: _Optional[_Union[RunLimits, _Mapping]] = ..., tools: _Optional[_Mapping[str, ToolSpec]] = ..., fail_closed_tools: _Optional[_Iterable[str]] = ..., allowed_tools: _Optional[_Iterable[str]] = ..., arguments: _Optional[_Mapping[str, ArgumentRules]] = ...) -> None: ...

class ArgumentRules(_message.Message):
    __slots__ = ("rules",)
    class RulesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ArgumentRule
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ArgumentRule, _Mapping]] = ...) -> None: ...
    RULES_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.MessageMap[str, ArgumentRule]
    def __init__(self, rules: _Optional[_Mapping[str, ArgumentRule]] = ...) -> None: ...

class ArgumentRule(_message.Message):
    __slots__ = ("allow", "deny")
    ALLOW_FIELD_NUMBER: _ClassVar[int]
    DENY_FIELD_NUMBER: _ClassVar[int]
    allow: _containers.RepeatedScalarFieldContainer[str]
    deny: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, allow: _Optional[_Iterable[str]] = ..., deny: _Optional[_Iterable[str]] = ...) -> None: ...

class RequestFullState(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SceneRequest(_message.Message):
    __slots__ = ("request_id", "run_id")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run_id: str
    def __init__(self, request_id: _Optional[str] = ..., run_id: _Optional[str] = ...) -> None: ...

class AskModel(_message.Message):
    __slots__ = ("request_id", "run_id", "template", "slots")
    class SlotsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run_id: str
    template: str
    slots: _containers.ScalarMap[str, str]
    def __init__(self, request_id: _Optional[str] = ..., run_id: _Optional[str] = ..., template: _Optional[str] = ..., slots: _Optional[_Mapping[str, str]] = ...) -> None: ...

class RunTool(_message.Message):
    __slots__ = ("request_id", "run_id", "tool", "arguments_json", "directive_id")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_ID_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    run_id: str
    tool: str
    arguments_json: str
    directive_id: str
    def __init__(self, request_id: _Optional[str] = ..., run_id: _Optional[str] = ..., tool: _Optional[str] = ..., arguments_json: _Optional[str] = ..., directive_id: _Optional[str] = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("run_id", "to", "reason")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    to: RunPhase
    reason: str
    def __init__(self, run_id: _Optional[str] = ..., to: _Optional[_Union[RunPhase, str]] = ..., reason: _Optional[str] = ..., **kwargs) -> None: ...

class Reconnect(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...
