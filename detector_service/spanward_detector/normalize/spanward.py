"""Our own step spans. The hottest path of the detector: every attribute is read once, by its encoded bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from spanward import semconv as sc
from spanward.facts import AnswerFacts, ArgumentsFacts, ResultFacts

from spanward_detector.ingest import RawSpan
from spanward_detector.ingest.attributes import OwnAttrs, as_text, decode_value, split_pair
from spanward_detector.model import Kind, SpanRef, Step, ToolCall
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.reading import CONTROL_FLOW, STATUS_ERROR, TIMEOUTS, class_name

DIALECT: Final = "spanward"
SCOPES: Final = (sc.SCOPE,)
MARKERS: Final = (sc.STEP_KIND, sc.RUN_ID)

# Decoded attributes of one span, by key; those that are read have the type that _TYPES gives them.
Values = Mapping[str, Any]

_KINDS: Final[dict[str, Kind]] = {kind: Kind(kind) for kind in sc.STEP_KINDS}
_OPERATIONS: Final = {
    sc.OP_INVOKE_AGENT: Kind.AGENT,
    sc.OP_CHAT: Kind.LLM,
    sc.OP_EXECUTE_TOOL: Kind.TOOL,
    sc.OP_PLAN: Kind.DECISION,
}
_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(
        (
            sc.RUN_ID, sc.AGENT_NAME, sc.AGENT_ID, sc.CONVERSATION_ID, sc.ACTION, sc.STEP_KIND, sc.STEP_REASON,
            sc.OPERATION_NAME, sc.ERROR_TYPE, sc.TOOL_NAME, sc.TOOL_CALL_ID, sc.TOOL_ARGUMENTS, sc.TOOL_RESULT,
            sc.PAYLOAD_DIGEST, sc.RESULT_DIGEST, sc.SIDE_EFFECT, sc.RUN_ENDED, sc.REQUEST_MODEL, sc.RESPONSE_MODEL,
            sc.FACT_RESULT_ERROR, sc.FACT_RESULT_SCHEMA, sc.FACT_RESULT_SIGNATURE,
            sc.FACT_ARGUMENTS_FORM, sc.FACT_ARGUMENTS_SCHEMA, sc.GATE_REFUSED, sc.APPROVAL_OF,
            sc.GATE_OUTSIDE, sc.CHECK_KIND, sc.CHECK_REASON,
            sc.FACT_RESULT_INJECTION, sc.FACT_RESULT_SECRET, sc.FACT_ARGUMENTS_SECRET,
        ),
        str,
    ),
    **dict.fromkeys(
        (
            sc.STEP_INDEX, sc.ATTEMPT, sc.INPUT_TOKENS, sc.OUTPUT_TOKENS, sc.REQUEST_MAX_TOKENS,
            sc.FACT_RESULT_SIZE, sc.FACT_RESULT_EXIT_CODE, sc.FACT_RESULT_STATUS, sc.FACT_ANSWER_SIZE, sc.FACT_CALLS,
            *sc.RUN_LIMITS[:2],
        ),
        int,
    ),
    **dict.fromkeys(
        (
            sc.CHECK_PASSED, sc.CHECK_HARD,
            sc.HOLD, sc.TOOL_IDEMPOTENT, sc.TOOL_HAS_FALLBACK, sc.OUTCOME_UNKNOWN, sc.CONTROL_FLOW,
            sc.FACT_RESULT_EMPTY, sc.FACT_RESULT_JSON, sc.FACT_RESULT_JSON_EXPECTED,
            sc.FACT_ANSWER_EMPTY, sc.FACT_ANSWER_JSON, sc.FACT_ANSWER_JSON_EXPECTED, sc.FACT_ANSWER_ADMITS,
        ),
        bool,
    ),
    sc.TOOL_TIMEOUT_S: float,
}  # fmt: skip
_PATHS, _HOSTS, _TABLES = sc.RUN_SCOPE
_UNIQUE: Final = frozenset({sc.TOOL_CALL_ID, sc.PAYLOAD_DIGEST, sc.RESULT_DIGEST, sc.RESPONSE_ID})
_MEMO_PAIR_BYTES: Final = 96
_MEMO_SIZE: Final = 8192

_KEYS: Final = {
    key.encode(): key for key in vars(sc).values() if isinstance(key, str) and "." in key and len(key) < 0x80
}
# Wire bytes: first byte of a pair's key and value, and of a string in a value; sizes that need one and two bytes.
_PAIR_KEY, _PAIR_VALUE, _STRING = 0x0A, 0x12, 0x0A
_ONE_BYTE: Final = 0x80
_TWO_BYTES: Final = 0x4000
_SMALLEST: Final = 5

# Most pairs of our spans come again and again (names, kinds, run ids, flags): one look-up by the bytes of the pair
# gives key and value at once. Emptied when full.
_memo: dict[bytes, tuple[str, object]] = {}
_headers: dict[bytes, tuple[str, int]] = {}
_arguments_memo: dict[tuple[str, tuple[str, ...], str, str], ArgumentsFacts] = {}


def _string_of(pair: bytes, at: int) -> str | None:
    """Text of the value at ``at`` when it is a plain string of less than 16 KiB that fills the pair; else None.

    All lengths follow from the length of the pair, so they are checked instead of decoded.
    """
    size = len(pair) - at - 2
    if size < 0x80:
        text = at + 4
        if size < 2 or pair[at + 1] != size or pair[at + 2] != _STRING or pair[at + 3] != size - 2:
            return None
    else:
        size -= 1
        if size >= _TWO_BYTES or pair[at + 1] != size & 0x7F | 0x80 or pair[at + 2] != size >> 7:
            return None
        if pair[at + 3] != _STRING:
            return None
        size -= 2
        text = at + 5
        if size >= 0x80:
            size -= 1
            text = at + 6
            if pair[at + 4] != size & 0x7F | 0x80 or pair[at + 5] != size >> 7:
                return None
        elif pair[at + 4] != size:
            return None
    try:
        return pair[text:].decode()
    except UnicodeDecodeError:
        return None


def _typed(key: str, value: object) -> object:
    """The value as its key promises it; None when it is of another type."""
    wanted = _TYPES.get(key)
    if wanted is None or type(value) is wanted:
        return value
    if wanted is str:
        return as_text(value)
    return float(value) if wanted is float and isinstance(value, int) else None


def _pair(pair: bytes) -> tuple[str, object]:
    """Key and value of an encoded pair, remembered when it is likely to recur."""
    at = 2 + pair[1] if len(pair) > _SMALLEST else 0
    # Ids and digests never recur, but the bytes before them do: key and lengths are equal for texts of equal length.
    start = at + 4
    header = _headers.get(pair[:start])
    if header is not None and header[1] == len(pair):
        try:
            return header[0], pair[start:].decode()
        except UnicodeDecodeError:
            pass  # the careful way repairs and counts it
    key = _KEYS.get(pair[2:at])
    if key is not None and len(pair) > at and pair[0] == _PAIR_KEY and pair[at] == _PAIR_VALUE:
        text = _string_of(pair, at)
        if text is not None and _TYPES.get(key, str) is str:
            if key in _UNIQUE:
                if len(pair) - start < _ONE_BYTE - 2 and len(_headers) < _MEMO_SIZE:
                    _headers[pair[:start]] = key, len(pair)
            elif len(pair) <= _MEMO_PAIR_BYTES:
                _remember(pair, key, text)
            return key, text
    name, raw = split_pair(pair)
    value = _typed(name, decode_value(raw))
    if value is None:
        name = ""  # as good as absent
    if len(pair) <= _MEMO_PAIR_BYTES:
        _remember(pair, name, value)
    return name, value


def _remember(pair: bytes, key: str, value: object) -> None:
    if len(_memo) >= _MEMO_SIZE:
        _memo.clear()
    _memo[pair] = key, value


def values_of(span: RawSpan) -> Values:
    """All attributes of a span, decoded."""
    attrs = span.attrs
    if isinstance(attrs, OwnAttrs):
        known = _memo.get
        return dict([known(pair) or _pair(pair) for pair in attrs.pairs])
    found = {key: _typed(key, value) for key, value in attrs.to_dict().items()}
    return {key: value for key, value in found.items() if value is not None}


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def result_facts_of(values: Values) -> ResultFacts | None:
    """Facts about a result from a span's attributes; None when the gate told none."""
    get = values.get
    size = get(sc.FACT_RESULT_SIZE)
    if size is None:
        return None
    return ResultFacts(
        size,
        get(sc.FACT_RESULT_EMPTY) is True,
        get(sc.FACT_RESULT_JSON),
        get(sc.FACT_RESULT_JSON_EXPECTED) is True,
        get(sc.FACT_RESULT_SCHEMA, ""),
        get(sc.FACT_RESULT_ERROR, ""),
        get(sc.FACT_RESULT_SIGNATURE, ""),
        get(sc.FACT_RESULT_EXIT_CODE),
        get(sc.FACT_RESULT_STATUS),
        get(sc.FACT_RESULT_INJECTION, ""),
        get(sc.FACT_RESULT_SECRET, ""),
    )


def arguments_facts_of(values: Values) -> ArgumentsFacts | None:
    """Facts about arguments from a span's attributes; None when the gate told none."""
    form = values.get(sc.FACT_ARGUMENTS_FORM)
    if form is None:
        return None
    get = values.get
    key = (
        form,
        _strings(get(sc.FACT_ARGUMENTS_REPAIRS)),
        get(sc.FACT_ARGUMENTS_SCHEMA, ""),
        get(sc.FACT_ARGUMENTS_SECRET, ""),
    )
    found = _arguments_memo.get(key)
    if found is None:
        found = ArgumentsFacts(*key)
        if len(_arguments_memo) >= _MEMO_SIZE:
            _arguments_memo.clear()
        _arguments_memo[key] = found
    return found


def answer_facts_of(values: Values) -> AnswerFacts | None:
    """Facts about a model's answer from a span's attributes; None when the gate told none."""
    get = values.get
    size = get(sc.FACT_ANSWER_SIZE)
    if size is None:
        return None
    return AnswerFacts(
        size,
        get(sc.FACT_ANSWER_EMPTY) is True,
        get(sc.FACT_ANSWER_JSON),
        get(sc.FACT_ANSWER_JSON_EXPECTED) is True,
        get(sc.FACT_ANSWER_ADMITS) is True,
        _strings(get(sc.FACT_ANSWER_CLAIMS)),
    )


def _calls(values: Values, reply: list[msg.Message] | None) -> tuple[ToolCall, ...]:
    """Calls of a reply: names, ids and forms from the facts, arguments from the content where it is there."""
    names = _strings(values.get(sc.FACT_CALLS_NAMES))
    if not names:
        return ()
    ids, forms = _strings(values.get(sc.FACT_CALLS_IDS)), _strings(values.get(sc.FACT_CALLS_FORM))
    written = [made for message in reply or () for made in message.calls]
    return tuple(
        ToolCall(
            id=ids[at] if at < len(ids) else "",
            name=name,
            arguments=written[at].arguments if at < len(written) and written[at].name == name else None,
            form=forms[at] if at < len(forms) else None,
        )
        for at, name in enumerate(names)
    )


def _tool(step: Step, values: Values) -> None:
    get = values.get
    step.call_id = get(sc.TOOL_CALL_ID, "")
    step.arguments_digest = get(sc.PAYLOAD_DIGEST, "")
    step.result_digest = get(sc.RESULT_DIGEST, "")
    step.side_effect = get(sc.SIDE_EFFECT, "")
    step.arguments_facts = arguments_facts_of(values)
    step.result_facts = result_facts_of(values)
    step.arguments = get(sc.TOOL_ARGUMENTS)
    step.result = get(sc.TOOL_RESULT)
    step.idempotent = get(sc.TOOL_IDEMPOTENT)
    step.has_fallback = get(sc.TOOL_HAS_FALLBACK) is True
    step.timeout_s = get(sc.TOOL_TIMEOUT_S, 0.0)


def _llm(step: Step, values: Values) -> None:
    get = values.get
    step.model = get(sc.RESPONSE_MODEL, "") or get(sc.REQUEST_MODEL, "")
    step.action = step.action or step.model
    step.finish_reason = msg.finish_reason(next(iter(_strings(get(sc.FINISH_REASONS))), ""))
    step.input_tokens = get(sc.INPUT_TOKENS, 0)
    step.output_tokens = get(sc.OUTPUT_TOKENS, 0)
    step.max_tokens = get(sc.REQUEST_MAX_TOKENS, 0)
    step.arguments_digest = get(sc.PAYLOAD_DIGEST, "")
    step.result_digest = get(sc.RESULT_DIGEST, "")
    step.answer_facts = answer_facts_of(values)
    step.arguments_facts = arguments_facts_of(values)  # of the first call that is not well-formed
    step.n_calls = get(sc.FACT_CALLS)
    step.unknown_tools = _strings(get(sc.FACT_CALLS_UNKNOWN))
    reply = msg.from_value(get(sc.OUTPUT_MESSAGES))
    step.calls = _calls(values, reply)
    if reply:
        step.answer = next((m.text for m in reversed(reply) if m.text is not None), None)
    request = msg.from_value(get(sc.INPUT_MESSAGES))
    if request:
        step.user_input = msg.user_input(request)
        step.tool_messages = msg.tool_messages(request)
        step.said = msg.said(request)
        if msg.called_before(request):
            step.extra = {**step.extra, "called_before": True}
    step.declared_tools = msg.declared(get(sc.TOOL_DEFINITIONS))


def _stated(values: Values) -> dict[str, object]:
    """What the run stated of its cost and its scope; a scope without content capture is not told."""
    told: dict[str, object] = {}
    if cost := values.get(sc.RUN_MAX_COST):
        told["max_cost"] = float(cost)
    aspects = zip(sc.RUN_SCOPE, ("paths", "hosts", "tables"), strict=True)
    if scope := {aspect: _strings(values[key]) for key, aspect in aspects if key in values}:
        told["scope"] = scope
    return told


def _validation(step: Step, values: Values) -> None:
    _decision(step, values)
    get = values.get
    if check := get(sc.CHECK_KIND):
        step.extra = {
            **step.extra,
            "check": check,
            "passed": get(sc.CHECK_PASSED),
            "hard": get(sc.CHECK_HARD) is not False,
            "why": get(sc.CHECK_REASON, ""),
            "closing": check != "cross_check",
        }
        step.side_effect = get(sc.SIDE_EFFECT, "")


def _agent(step: Step, values: Values) -> None:
    get = values.get
    step.run_ended = get(sc.RUN_ENDED, "")
    step.is_root = True
    step.stated_max_steps, step.stated_max_tokens = (get(key, 0) for key in sc.RUN_LIMITS[:2])
    request = msg.from_value(get(sc.INPUT_MESSAGES))
    step.user_input = msg.user_input(request) if request else None


def _decision(step: Step, values: Values) -> None:
    get = values.get
    step.arguments_digest = get(sc.PAYLOAD_DIGEST, "")
    step.result_digest = get(sc.RESULT_DIGEST, "")
    step.result_facts = result_facts_of(values)


_FILL: Final[dict[Kind, Callable[[Step, Values], None]]] = {
    Kind.TOOL: _tool,
    Kind.LLM: _llm,
    Kind.AGENT: _agent,
    Kind.DECISION: _decision,
    Kind.VALIDATION: _validation,
    Kind.REPAIR: _tool,
}


def step(span: RawSpan) -> Step | None:
    """The step of one of our own spans; None when it is none (a span that the user opened in our scope)."""
    values = values_of(span)
    get = values.get
    stated = get(sc.STEP_KIND)
    kind = _KINDS.get(stated) if isinstance(stated, str) else _OPERATIONS.get(get(sc.OPERATION_NAME, ""))
    if kind is None:
        return None
    made = Step(
        kind,
        SpanRef(span.trace_id, span.span_id),
        span.parent_id,
        get(sc.RUN_ID, "") or span.trace_id,
        span.start_ns,
        span.end_ns,
        DIALECT,
        span.scope,
        span.name,
        get(sc.AGENT_NAME, ""),
        get(sc.AGENT_ID, ""),
        get(sc.CONVERSATION_ID, ""),
        span.service,
        get(sc.ACTION, "") or get(sc.TOOL_NAME, ""),
        get(sc.STEP_INDEX, 0),
        get(sc.ATTEMPT, 1),
        get(sc.STEP_REASON, ""),
        get(sc.HOLD) is True,
    )
    error_type = get(sc.ERROR_TYPE)
    if error_type is not None or span.status == STATUS_ERROR:
        made.failed = True
        made.error_type = error_type or ""
        made.error_text = span.status_message or None
        name = class_name(made.error_type)
        made.control_flow = name in CONTROL_FLOW or get(sc.CONTROL_FLOW) is True
        made.timed_out = name in TIMEOUTS
    if sc.OUTCOME_UNKNOWN in values:
        made.outcome_unknown = get(sc.OUTCOME_UNKNOWN) is True
    if sc.GATE_REFUSED in values or sc.APPROVAL_OF in values:
        made.extra = {"refused": get(sc.GATE_REFUSED, ""), "approval_of": get(sc.APPROVAL_OF, "")}
        if sc.GATE_OUTSIDE in values:
            made.extra["outside"] = get(sc.GATE_OUTSIDE)
    if sc.RUN_MAX_COST in values or _PATHS in values or _HOSTS in values or _TABLES in values:
        made.extra = {**made.extra, **_stated(values)}
    _FILL[kind](made, values)
    return made
