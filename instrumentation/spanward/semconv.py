"""Attribute keys, operation names and value sets, each spelled once.

OpenTelemetry GenAI names are reused wherever one exists (OTel semantic conventions for GenAI, development status);
what the conventions lack lives under ``spanward.``, never under ``gen_ai.``. Pure: no imports but the standard library.
"""

from typing import Final, Literal

# --- scopes ---------------------------------------------------------------------------------------------------------
SCOPE: Final = "spanward"
"""Instrumentation scope of the step spans that the gate makes."""
DETECTOR_SCOPE: Final = "spanward.detector"
"""Scope of the spans that the detector itself exports; the Collector never sends them back to it."""

# --- OTel GenAI -----------------------------------------------------------------------------------------------------
OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
ERROR_TYPE: Final = "error.type"
EVALUATION_EVENT: Final = "gen_ai.evaluation.result"

OP_CHAT: Final = "chat"
OP_EXECUTE_TOOL: Final = "execute_tool"
OP_INVOKE_AGENT: Final = "invoke_agent"
OP_PLAN: Final = "plan"

# --- HTTP (stable conventions; the older spellings are read, never written) -------------------------------------------
HTTP_STATUS: Final = "http.response.status_code"
HTTP_STATUS_OLD: Final = "http.status_code"
HTTP_METHOD: Final = "http.request.method"
HTTP_METHOD_OLD: Final = "http.method"
HTTP_RETRY_AFTER: Final = "http.response.header.retry-after"
"""Array of header values, or our integer seconds under :data:`RETRY_AFTER_MS`."""
HTTP_RESEND_COUNT: Final = "http.request.resend_count"

# --- ours: the step -------------------------------------------------------------------------------------------------
RUN_ID: Final = "spanward.run.id"
"""Id of the run (UUIDv7 where the gate made it), on every span of the run."""
STEP_INDEX: Final = "spanward.step.index"
"""Integer, 1-based: order of start within the run."""
STEP_KIND: Final = "spanward.step.kind"
"""One of :data:`STEP_KINDS`."""
STEP_REASON: Final = "spanward.step.reason"
"""Why the agent says it does this, where it says so; part of what makes two steps equal."""
ACTION: Final = "spanward.action"
"""What the agent chose: name of a tool, a model or a decision. Low cardinality."""
PAYLOAD_DIGEST: Final = "spanward.payload.digest"
"""``sha256:<hex>``, or ``hmac-sha256:<hex>`` with a key, of the canonical JSON of the unwrapped arguments;
``raw:<hex>`` of the bytes of what is not JSON."""
RESULT_DIGEST: Final = "spanward.result.digest"
"""The same of the result."""
ATTEMPT: Final = "spanward.attempt"
"""Integer, 1-based: attempt of the same call."""
SIDE_EFFECT: Final = "spanward.tool.side_effect"
"""One of :data:`SIDE_EFFECTS`; absent when nobody said."""
TOOL_TIMEOUT_S: Final = "spanward.tool.timeout_s"
"""Seconds after which the gate gives a call up; absent when none is stated."""
TOOL_IDEMPOTENT: Final = "spanward.tool.idempotent"
"""True: a second equal call has no second effect."""
TOOL_HAS_FALLBACK: Final = "spanward.tool.has_fallback"
"""True: the tool names what to do instead when it fails."""
HOLD: Final = "spanward.hold"
"""True: the agent waits for a verdict on this span."""
RUN_ENDED: Final = "spanward.run.ended"
"""On the run's own ``invoke_agent`` span: "completed" or the exception's class name."""
RUN_LIMITS: Final = ("spanward.run.max_steps", "spanward.run.max_tokens", "spanward.run.max_seconds")
"""On the run's own span: the limits that it stated itself, each only when stated."""
RUN_MAX_COST: Final = "spanward.run.max_cost"
"""On every span of a run that stated it: what its model calls may cost together, in the policy's currency."""
RUN_SCOPE: Final = ("spanward.run.scope.paths", "spanward.run.scope.hosts", "spanward.run.scope.tables")
"""Arrays on every span of a run that stated what it may touch; only where content capture is on."""
CHECK_KIND: Final = "spanward.check.kind"
"""On a validation step: what was checked, one of :data:`CHECK_KINDS`."""
CHECK_PASSED: Final = "spanward.check.passed"
"""Whether it holds. Absent when that could not be told."""
CHECK_HARD: Final = "spanward.check.hard"
"""False: that it does not hold is worth a word and no more."""
CHECK_REASON: Final = "spanward.check.reason"
"""Code of why it does not hold, or could not be told: one of :data:`CHECK_REASONS`."""
GATE_REFUSED: Final = "spanward.gate.refused"
"""The gate did not make this call; one of :data:`REFUSALS`."""
APPROVAL_OF: Final = "spanward.approval.of"
"""On a validation step: digest of the action that somebody has to approve."""
GATE_OUTSIDE: Final = "spanward.gate.outside"
"""What of the run's scope a call that was refused for it would have left: paths, hosts or tables. Or what of it the
policy's lists do not allow: ``tool``, or ``argument`` and its name."""
OUTCOME_UNKNOWN: Final = "spanward.outcome.unknown"
"""True: the call was abandoned; whether it had its effect is not known."""
CONTROL_FLOW: Final = "spanward.control_flow"
"""True: the exception is the framework's way to pause, defer or hand over, not an error."""
FORWARDED: Final = "spanward.forwarded"
"""On the resource of a copy of one of the user's own spans: the detector's alone, since they export it themselves."""
RETRY_AFTER_MS: Final = "spanward.http.retry_after_ms"
"""Integer: milliseconds that the server asked to wait."""

# --- ours: facts, computed where the content is (see :mod:`spanward.facts`) -------------------------------------------
FACT_RESULT_SIZE: Final = "spanward.facts.result.size"
"""Bytes of the result's text in UTF-8."""
FACT_RESULT_EMPTY: Final = "spanward.facts.result.empty"
"""True when nothing is in it, in whatever way nothing is written."""
FACT_RESULT_JSON: Final = "spanward.facts.result.json"
"""True when the result parses as JSON, false when not. Absent for results that are not text."""
FACT_RESULT_JSON_EXPECTED: Final = "spanward.facts.result.json_expected"
"""True when a schema or a media type says that the result should be JSON."""
FACT_RESULT_SCHEMA: Final = "spanward.facts.result.schema"
"""Violation of the tool's result schema as ``keyword:/json/pointer``. Absent when there is none."""
FACT_RESULT_ERROR: Final = "spanward.facts.result.error"
"""How the result says that it failed: one of :data:`ERROR_SIGNS`. Absent when it does not."""
FACT_RESULT_SIGNATURE: Final = "spanward.facts.result.signature"
"""Normalised class of the error text, hashed: equal for the same error with other ids, numbers and quotes."""
FACT_RESULT_EXIT_CODE: Final = "spanward.facts.result.exit_code"
"""Exit code that the result names."""
FACT_RESULT_STATUS: Final = "spanward.facts.result.status"
"""HTTP-like status that the result itself names."""
FACT_RESULT_INJECTION: Final = "spanward.facts.result.injection"
"""How the result reads like instructions to the model: one of :data:`INJECTION_SIGNS`. Absent when it does not."""
FACT_RESULT_SECRET: Final = "spanward.facts.result.secret"  # noqa: S105
"""Kind of a secret in the result: one of :data:`SECRET_KINDS`. Absent when none is seen."""
FACT_ARGUMENTS_FORM: Final = "spanward.facts.arguments.form"
"""One of :data:`ARGUMENT_FORMS`."""
FACT_ARGUMENTS_REPAIRS: Final = "spanward.facts.arguments.repairs"
"""Repairs of :mod:`spanward.repair` that would make them valid, in order. Absent: none would."""
FACT_ARGUMENTS_SCHEMA: Final = "spanward.facts.arguments.schema"
"""First violation of the tool's schema as ``keyword:/json/pointer``; names of undeclared parameters are left out."""
FACT_ARGUMENTS_SECRET: Final = "spanward.facts.arguments.secret"  # noqa: S105
"""Kind of a secret in the arguments: one of :data:`SECRET_KINDS`. Absent when none is seen."""
FACT_ANSWER_JSON: Final = "spanward.facts.answer.json"
"""True when the model's answer is JSON as a whole, false when not. Absent when it is empty."""
FACT_ANSWER_JSON_EXPECTED: Final = "spanward.facts.answer.json_expected"
"""True when the request asked for JSON."""
FACT_ANSWER_EMPTY: Final = "spanward.facts.answer.empty"
"""True when the answer has no text."""
FACT_ANSWER_SIZE: Final = "spanward.facts.answer.size"
"""Bytes of the answer in UTF-8."""
FACT_ANSWER_ADMITS: Final = "spanward.facts.answer.admits_failure"
"""True when the model's answer speaks of a failure itself: then it does not ignore one."""
FACT_ANSWER_CLAIMS: Final = "spanward.facts.answer.claims"
"""Array, what the answer says of the work: of :data:`CLAIMS`."""
FACT_CALLS: Final = "spanward.facts.calls"
"""Number of tool calls in the model's reply."""
FACT_CALLS_UNKNOWN: Final = "spanward.facts.calls.unknown"
"""Array of the called tool names that were not declared in the request."""
FACT_CALLS_FORM: Final = "spanward.facts.calls.form"
"""Array, one per call: as :data:`FACT_ARGUMENTS_FORM`, or ``schema`` where well-formed arguments break the schema."""
FACT_CALLS_NAMES: Final = "spanward.facts.calls.names"
"""Array, one per call: names of the called tools."""
FACT_CALLS_IDS: Final = "spanward.facts.calls.ids"
"""Array, one per call: the provider's call ids."""
FACT_TOOLS_DECLARED: Final = "spanward.facts.tools.declared"
"""Number of tools declared in the request."""

StepKind = Literal["decision", "llm", "tool", "validation", "repair"]
STEP_KINDS: Final[tuple[StepKind, ...]] = ("decision", "llm", "tool", "validation", "repair")

SideEffect = Literal["read", "scratch", "write", "high_risk"]
SIDE_EFFECTS: Final[tuple[SideEffect, ...]] = ("read", "scratch", "write", "high_risk")

ErrorSign = Literal["flag", "field", "status", "exit_code", "text", "page", "exception"]
ERROR_SIGNS: Final[tuple[ErrorSign, ...]] = ("flag", "field", "status", "exit_code", "text", "page", "exception")
"""Why a tool counts as failed, in the order in which it is looked at: error flag, top-level JSON field, top-level JSON
status, exit code, text (only for tools that cannot return foreign text), block or login page; or it raised."""

ArgumentForm = Literal["ok", "empty", "malformed", "truncated", "double_encoded", "not_object", "non_finite"]
ARGUMENT_FORMS: Final[tuple[ArgumentForm, ...]] = (
    "ok", "empty", "malformed", "truncated", "double_encoded", "not_object", "non_finite",
)  # fmt: skip

InjectionSign = Literal[
    "override", "new_role", "addressed", "takeover", "reveal_prompt", "concealment", "forged_markup", "hidden_text",
]  # fmt: skip
INJECTION_SIGNS: Final[tuple[InjectionSign, ...]] = (
    "override", "new_role", "addressed", "takeover", "reveal_prompt", "concealment", "forged_markup", "hidden_text",
)  # fmt: skip

SecretKind = Literal[
    "aws_access_key", "github_token", "npm_token", "gitlab_token", "slack_token", "slack_webhook", "openai_key",
    "anthropic_key", "google_api_key", "stripe_key", "huggingface_token", "sendgrid_key", "jwt", "private_key",
    "pypi_token", "telegram_token", "azure_key", "service_token", "unproven_token",
    "payment_card",
]  # fmt: skip
SECRET_KINDS: Final[tuple[SecretKind, ...]] = (
    "aws_access_key", "github_token", "npm_token", "gitlab_token", "slack_token", "slack_webhook", "openai_key",
    "anthropic_key", "google_api_key", "stripe_key", "huggingface_token", "sendgrid_key", "jwt", "private_key",
    "pypi_token", "telegram_token", "azure_key", "service_token", "unproven_token",
    "payment_card",
)  # fmt: skip
"""``payment_card`` is looked for in arguments only; ``unproven_token`` has the form of a token and a wrong checksum."""

Claim = Literal["standby", "announced", "done", "tested", "complete", "written", "reported", "tried"]
CLAIMS: Final[tuple[Claim, ...]] = (
    "standby", "announced", "done", "tested", "complete", "written", "reported", "tried",
)  # fmt: skip
"""The answer waits to be told what to do; it ends by saying what it does next; it has had an effect on the world; tests
pass or a build succeeds; all there was to do is done; it wrote a file that it names; something was done, by whomever;
it tried something, or quotes a tool's error."""

Refusal = Literal[
    "paused", "breaker", "not_allowed", "scope", "schema", "not_approved", "no_run", "detector_away", "internal",
]  # fmt: skip
REFUSALS: Final[tuple[Refusal, ...]] = (
    "paused", "breaker", "not_allowed", "scope", "schema", "not_approved", "no_run", "detector_away", "internal",
)  # fmt: skip

CheckKind = Literal["called", "artefact", "answer", "field", "callable", "cross_check"]
CHECK_KINDS: Final[tuple[CheckKind, ...]] = ("called", "artefact", "answer", "field", "callable", "cross_check")
CheckReason = Literal[
    "not_called", "missing", "size", "checksum", "stale", "no_answer", "not_json", "schema", "value", "false",
    "unknown", "raised", "timeout",
]  # fmt: skip
CHECK_REASONS: Final[tuple[CheckReason, ...]] = (
    "not_called", "missing", "size", "checksum", "stale", "no_answer", "not_json", "schema", "value", "false",
    "unknown", "raised", "timeout",
)  # fmt: skip

# --- ours: findings, directives and transitions as spans of the same trace --------------------------------------------
FINDING_RULE: Final = "spanward.finding.rule"
"""Name of the rule that found it."""
FINDING_SEVERITY: Final = "spanward.finding.severity"
"""``info``, ``warning`` or ``error``."""
FINDING_MODE: Final = "spanward.finding.mode"
"""``observe`` (recorded) or ``act`` (a directive may follow)."""
FAILURE_TYPE: Final = "spanward.failure_type"
"""One of the failure types of the rules."""
FAILURE_CAUSE: Final = "spanward.failure.cause"
"""``perception``, ``reasoning``, ``action`` or ``environment``."""
FAILURE_LAYER: Final = "spanward.failure.layer"
"""``syntax``, ``runtime`` or ``semantic``."""
DIRECTIVE_ID: Final = "spanward.directive.id"
"""Id of the directive (UUIDv7)."""
DIRECTIVE_KIND: Final = "spanward.directive.kind"
"""What is ordered: retry, feedback, terminate, ..."""
DIRECTIVE_LEVEL: Final = "spanward.directive.level"
"""``L0`` to ``L4``; absent for kinds that are not on the ladder."""
DIRECTIVE_STATE: Final = "spanward.directive.state"
"""What became of it: sent, received, applied, rejected, expired, failed, verified, ..."""
DIRECTIVE_REASON: Final = "spanward.directive.reason"
"""Code that goes with the last state: late, queue_full, process_gone, ..."""
DIRECTIVE_BEFORE: Final = "spanward.directive.before.digest"
"""Digest of what the directive changed, before."""
DIRECTIVE_AFTER: Final = "spanward.directive.after.digest"
"""Digest of the same, after."""
DIRECTIVE_RECOVERED_BY: Final = "spanward.directive.recovered_by"
"""What made the failure go away: the change, or mere repetition."""
RUN_STATE: Final = "spanward.run.state"
"""State that the run moved to."""
RUN_STATE_FROM: Final = "spanward.run.state.from"
"""State that it moved from."""
RUN_REASON: Final = "spanward.run.reason"
"""Why a run moved: completed, the class of an exception, a directive's kind, ..."""
