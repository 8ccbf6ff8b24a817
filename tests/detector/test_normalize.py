"""Telling dialects apart, our own spans, the GenAI conventions with their log records, and runs of bare model calls."""

from __future__ import annotations

import json
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward import semconv as sc
from spanward.facts import AnswerFacts, ArgumentsFacts, ResultFacts, facts_from_attributes, facts_to_attributes
from spanward_detector.ingest import decode_logs
from spanward_detector.model import Kind, SpanRef, ToolCall
from spanward_detector.normalize import DIALECTS, Normalizer, dialect_of, messages, spanward

from tests.detector.otlp import TRACE_ID, log_request, normalize, one, parts, spans, text

GENAI = "opentelemetry.instrumentation.genai.openai"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


# --------------------------------------------------------------------------------------------- telling dialects apart


@pytest.mark.parametrize(
    ("scope", "attrs", "expected"),
    [
        ("openinference.instrumentation.langchain", {}, "openinference"),
        ("opentelemetry.instrumentation.genai.openai", {}, "genai"),
        ("opentelemetry.instrumentation.openai_v2", {}, "genai"),
        ("opentelemetry.util.genai.handler", {}, "genai"),
        ("opentelemetry.instrumentation.openai.v1", {}, "openllmetry"),
        ("opentelemetry.instrumentation.openai_agents", {}, "openllmetry"),
        ("opentelemetry.instrumentation.langchain", {}, "openllmetry"),
        ("pydantic-ai", {}, "pydantic_ai"),
        ("langsmith", {}, "langsmith"),
        ("ai", {}, "vercel"),
        ("gen_ai", {}, "vercel"),
        ("strands.telemetry.tracer", {}, "strands"),
        ("gcp.vertex.agent", {}, "adk"),
        # The scope decides, whatever the attributes look like.
        (
            "openinference.instrumentation.x",
            {"gen_ai.operation.name": "chat", "traceloop.span.kind": "tool"},
            "openinference",
        ),
        # Without a known scope the most particular marker decides.
        ("mine", {"openinference.span.kind": "LLM", "gen_ai.operation.name": "chat"}, "openinference"),
        ("mine", {"traceloop.span.kind": "tool", "gen_ai.operation.name": "chat"}, "openllmetry"),
        ("mine", {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat"}, "langsmith"),
        ("mine", {"ai.operationId": "ai.toolCall", "gen_ai.operation.name": "chat"}, "vercel"),
        ("mine", {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool"}, "mcp"),
        ("mine", {"gen_ai.operation.name": "chat"}, "genai"),
        ("aiohttp", {}, None),
        ("mine", {"gen_ai.system": "openai"}, None),
        ("mine", {"db.system": "sqlite"}, None),
    ],
)
def test_the_dialect_is_told_by_scope_then_by_marker(
    scope: str, attrs: dict[str, object], expected: str | None
) -> None:
    """Scope names first, per span; then marker attributes; never the mere presence of ``gen_ai.*``."""
    (span,) = spans([{"attrs": attrs}], scope=scope)
    module = dialect_of(span)
    assert (module.DIALECT if module else None) == expected


def test_dialect_names_are_unique_and_tables_are_there() -> None:
    """Each module of a dialect names itself and says by what it is told."""
    assert len({module.DIALECT for module in DIALECTS}) == len(DIALECTS)
    assert all(module.SCOPES or module.MARKERS for module in DIALECTS)


def test_spans_of_no_agent_give_no_step_and_are_known_as_parents() -> None:
    """A database call is no step, yet what lies in it can be traced to the step above."""
    normalizer = Normalizer()
    assert normalize([{"id": "0b" * 8, "parent": "0a" * 8, "attrs": {"db.system": "x"}}], "db", normalizer) == []
    assert normalizer.parents.get(SpanRef(TRACE_ID, "0b" * 8)) == "0a" * 8
    assert normalizer.step(spans([{"attrs": {"db.system": "x"}}])[0]) is None


# --------------------------------------------------------------------------------------------------------------- ours

result_facts = st.builds(
    ResultFacts, size=st.integers(0, 2**40), empty=st.booleans(), is_json=st.none() | st.booleans(),
    json_expected=st.booleans(), schema=st.sampled_from(["", "type:/a"]), error=st.sampled_from(["text", "field"]),
    signature=st.text(max_size=12), exit_code=st.none() | st.integers(-1, 9), status=st.none() | st.integers(400, 599),
)  # fmt: skip
arguments_facts = st.builds(
    ArgumentsFacts, form=st.sampled_from(sc.ARGUMENT_FORMS), schema=st.sampled_from(["", "required:/city"]),
    repairs=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)  # fmt: skip
answer_facts = st.builds(
    AnswerFacts, size=st.integers(0, 9999), empty=st.booleans(), is_json=st.none() | st.booleans(),
    json_expected=st.booleans(), admits_failure=st.booleans(),
)  # fmt: skip


@given(result_facts, arguments_facts, answer_facts)
def test_facts_of_the_gate_arrive_as_they_left(
    result: ResultFacts, arguments: ArgumentsFacts, answer: AnswerFacts
) -> None:
    """Facts written by the gate are read as the pure library reads them, tool and model call alike."""
    attrs = facts_to_attributes(result, arguments, answer)
    expected = facts_from_attributes(attrs.get)
    tool = one({sc.STEP_KIND: "tool", **attrs}, sc.SCOPE)
    llm = one({sc.STEP_KIND: "llm", **attrs}, sc.SCOPE)
    assert (tool.result_facts, tool.arguments_facts) == (expected.result, expected.arguments) == (result, arguments)
    assert llm.answer_facts == expected.answer == answer


@pytest.mark.parametrize("scope", [sc.SCOPE, "somebody else's"])
def test_our_tool_step(scope: str) -> None:
    """All that the gate tells of a tool call arrives, by our scope or by our marker under another."""
    step = one(
        {
            sc.OPERATION_NAME: "execute_tool", sc.STEP_KIND: "tool", sc.RUN_ID: "run-1", sc.STEP_INDEX: 300,
            sc.AGENT_NAME: "bot", sc.AGENT_ID: "a1", sc.CONVERSATION_ID: "c1", sc.ACTION: "search", sc.ATTEMPT: 2,
            sc.STEP_REASON: "because", sc.HOLD: True, sc.TOOL_CALL_ID: "call_1", sc.SIDE_EFFECT: "read",
            sc.PAYLOAD_DIGEST: "sha256:" + "a" * 64, sc.RESULT_DIGEST: "raw:" + "b" * 64, sc.TOOL_IDEMPOTENT: False,
            sc.TOOL_HAS_FALLBACK: True, sc.TOOL_TIMEOUT_S: 10, sc.OUTCOME_UNKNOWN: True,
            sc.ERROR_TYPE: "x.TimeoutError",
        },
        scope, name="execute_tool search", status=2, parent="0c" * 8,
    )  # fmt: skip
    assert step.kind is Kind.TOOL
    assert (step.run_id, step.index, step.agent, step.agent_id, step.conversation_id) == (
        "run-1",
        300,
        "bot",
        "a1",
        "c1",
    )
    assert (step.action, step.attempt, step.reason, step.held, step.call_id) == ("search", 2, "because", True, "call_1")
    assert (step.arguments_digest, step.result_digest) == ("sha256:" + "a" * 64, "raw:" + "b" * 64)
    assert (step.side_effect, step.idempotent, step.has_fallback, step.timeout_s) == ("read", False, True, 10.0)
    assert (step.failed, step.error_type, step.timed_out, step.outcome_unknown) == (True, "x.TimeoutError", True, True)
    assert (step.service, step.parent_id, step.arguments, step.result) == ("svc", "0c" * 8, None, None)


def test_our_model_step() -> None:
    """Calls are told by facts; their arguments are there only when content is on."""
    attrs = {
        sc.STEP_KIND: "llm", sc.REQUEST_MODEL: "m", sc.FINISH_REASONS: ["tool_calls"], sc.INPUT_TOKENS: 1000,
        sc.OUTPUT_TOKENS: 5, sc.REQUEST_MAX_TOKENS: 50, sc.FACT_CALLS: 2, sc.FACT_CALLS_NAMES: ["a", "b"],
        sc.FACT_CALLS_IDS: ["1", "2"], sc.FACT_CALLS_FORM: ["ok", "schema"], sc.FACT_CALLS_UNKNOWN: ["b"],
    }  # fmt: skip
    step = one(attrs, sc.SCOPE)
    assert step.calls == (ToolCall("1", "a", None, "ok"), ToolCall("2", "b", None, "schema"))
    assert (step.n_calls, step.unknown_tools, step.finish_reason, step.action) == (2, ("b",), "tool_calls", "m")
    assert (step.input_tokens, step.output_tokens, step.max_tokens, step.answer) == (1000, 5, 50, None)
    reply = parts("assistant", {"type": "tool_call", "id": "1", "name": "a", "arguments": '{"x": 1}'})
    asked = [parts("user", text("hello")), parts("tool", {"type": "tool_call_response", "id": "0", "response": "r"})]
    step = one({**attrs, sc.OUTPUT_MESSAGES: json.dumps([reply]), sc.INPUT_MESSAGES: json.dumps(asked)}, sc.SCOPE)
    assert [call.arguments for call in step.calls] == ['{"x": 1}', None]
    assert (step.user_input, step.tool_messages) == ("hello", (("0", "r"),))


def test_our_run_and_decision_steps() -> None:
    """The run's own span is the root, ends the run and states its limits; a decision is numbered."""
    root = one({sc.OPERATION_NAME: "invoke_agent", sc.RUN_ENDED: "completed", sc.RUN_LIMITS[0]: 15}, sc.SCOPE)
    assert (root.kind, root.is_root, root.run_ended, root.stated_max_steps) == (Kind.AGENT, True, "completed", 15)
    plan = one({sc.STEP_KIND: "decision", sc.ACTION: "next", sc.PAYLOAD_DIGEST: "sha256:1"}, sc.SCOPE)
    assert (plan.kind, plan.action, plan.arguments_digest) == (Kind.DECISION, "next", "sha256:1")
    assert normalize([{"attrs": {"a": 1}}], sc.SCOPE) == []


def test_attributes_of_the_wrong_type_count_as_absent() -> None:
    """A number where a name belongs becomes text; a text where a number or flag belongs is no number and no flag."""
    step = one(
        {sc.STEP_KIND: "tool", sc.AGENT_NAME: 7, sc.STEP_INDEX: "seven", sc.HOLD: "yes", sc.RUN_ID: True}, sc.SCOPE
    )
    assert (step.agent, step.index, step.held, step.run_id) == ("7", 0, False, "true")


def test_the_memory_of_pairs_is_bounded() -> None:
    """Run ids without end do not grow the memory of known pairs without end."""
    for start in range(0, 20_000, 1000):
        normalize([{"attrs": {sc.STEP_KIND: "tool", sc.RUN_ID: f"run-{start + n}"}} for n in range(1000)], sc.SCOPE)
    assert len(spanward._memo) <= spanward._MEMO_SIZE


# -------------------------------------------------------------------------------------------------------------- GenAI


def test_lost_call_shows_as_a_malformed_one() -> None:
    """Finish reason says tool calls, content is recorded and no call is there: one call that nobody could parse."""
    asked = json.dumps([parts("user", text("q"))])
    step = one({"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"],
                "gen_ai.input.messages": asked}, GENAI)  # fmt: skip
    assert (step.n_calls, step.calls) == (1, (ToolCall("", "", None, "malformed"),))
    blind = one({"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_calls"]}, GENAI)
    assert (blind.n_calls, blind.calls) == (None, ())


def test_older_names_are_aliases() -> None:
    """Token counts and the session are found under their earlier names too, and each pair is read once."""
    step = one({"gen_ai.operation.name": "chat", "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 3,
                "gen_ai.usage.input_tokens": 9, "session.id": "s"}, GENAI)  # fmt: skip
    assert (step.input_tokens, step.output_tokens, step.conversation_id) == (9, 3, "s")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("tool-calls", "tool_calls"), ("tool_use", "tool_calls"), ("STOP", "stop"), ("end_turn", "stop"), ("", ""),
     ("MAX_TOKENS", "length"), ("length", "length"), ("content-filter", "content_filter"), ("weird", "")],
)  # fmt: skip
def test_finish_reasons_have_one_spelling(raw: str, expected: str) -> None:
    """Every provider's spelling becomes one of four words, or nothing."""
    assert messages.finish_reason(raw) == expected


def test_a_stop_that_comes_with_calls_is_a_tool_turn() -> None:
    """Some say stop whatever the model did; the calls are right."""
    reply = json.dumps([parts("assistant", {"type": "tool_call", "id": "1", "name": "a", "arguments": {}})])
    step = one({"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"],
                "gen_ai.output.messages": reply}, "gcp.vertex.agent")  # fmt: skip
    assert (step.finish_reason, step.answer) == ("tool_calls", None)


def test_calls_are_judged_by_the_declared_tools() -> None:
    """Unknown names and broken schemas are seen; malformed arguments survive; both forms of declaration are read."""
    calls = [
        {"type": "tool_call", "id": "1", "name": "weather", "arguments": '{"city": "Par'},
        {"type": "tool_call", "id": "2", "name": "weather", "arguments": {"town": 5}},
        {"type": "tool_call", "id": "3", "name": "wether", "arguments": {"city": "Paris"}},
    ]
    for definition in (
        {"name": "weather", "parameters": SCHEMA},
        {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}},
    ):
        step = one({"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([parts("assistant", *calls)]),
                    "gen_ai.tool.definitions": json.dumps([definition])}, GENAI)  # fmt: skip
        assert [call.form for call in step.calls] == ["truncated", "schema", "ok"]
        assert step.calls[0].arguments == '{"city": "Par'
        assert step.unknown_tools == ("wether",)


def test_an_empty_reply_is_told_from_an_unrecorded_one() -> None:
    """A reply that is recorded and says nothing is an empty answer; one that is not recorded is no answer."""
    empty = one({"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([parts("assistant")])}, GENAI)
    assert (empty.answer, empty.answer_facts and empty.answer_facts.empty, empty.n_calls) == ("", True, 0)
    unrecorded = one({"gen_ai.operation.name": "chat"}, GENAI)
    assert (unrecorded.answer, unrecorded.answer_facts, unrecorded.n_calls) == (None, None, None)


def test_an_exception_event_alone_is_a_failure() -> None:
    """Status unset with an exception event failed; status OK with one was handled; the event's message is preferred."""
    events = [("exception", {"exception.type": "a.b.ReadTimeout", "exception.message": "late"})]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    step = one(tool, GENAI, events=events)
    assert (step.failed, step.error_type, step.error_text, step.timed_out) == (True, "a.b.ReadTimeout", "late", True)
    assert step.result_facts is not None
    assert step.result_facts.error == "exception"
    assert not one(tool, GENAI, events=events, status=1).failed
    assert one(tool, GENAI, events=events, status=2, message="late\nTraceback ...").error_text == "late"
    assert one({**tool, "error.type": "langgraph.errors.GraphInterrupt"}, GENAI, status=2).control_flow


# -------------------------------------------------------------------------------------------------------- log records


def _choice(**message: object) -> dict[str, object]:
    return {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}


@pytest.mark.parametrize("logs_first", [False, True])
def test_log_records_complete_a_model_call_in_either_order(logs_first: bool) -> None:
    """Content that travels as log records is joined to its span, whichever comes first, once each."""
    call = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}
    records = decode_logs(
        log_request(
            [
                {"span": "0b" * 8, "event": "gen_ai.choice", "ts": 50, "body": _choice(content="done")},
                {"span": "0b" * 8, "event": "gen_ai.tool.message", "ts": 30, "body": {"id": "c1", "content": "r"}},
                {"span": "0b" * 8, "event": "gen_ai.user.message", "ts": 10, "body": {"content": "q"}},
                {"span": "0b" * 8, "event": "gen_ai.assistant.message", "ts": 20, "body": {"tool_calls": [call]}},
                {"span": "0b" * 8, "event": "gen_ai.user.message", "ts": 10, "body": {"content": "q"}},
                {"span": "0b" * 8, "event": "something.else", "ts": 10, "body": "x"},
            ]
        )
    )
    (span,) = spans(
        [{"id": "0b" * 8, "attrs": {"gen_ai.operation.name": "chat"}}], scope="opentelemetry.instrumentation.openai_v2"
    )
    normalizer = Normalizer()
    if logs_first:
        assert normalizer.logs(records) == []
        llm, tool = normalizer.steps(span)
    else:
        assert normalizer.step(span) is not None
        llm, tool = normalizer.logs(records)
    assert (llm.user_input, llm.answer, llm.tool_messages, llm.extra["revision"]) == ("q", "done", (("c1", "r"),), 4)
    assert (tool.action, tool.arguments, tool.result, tool.extra["sighting"]) == ("t", '{"a": 1}', "r", "message")
    assert normalizer.log(records[0]) is not None


def test_stripped_records_tell_names_and_ids() -> None:
    """By default bodies carry no content: names and ids are read, and nothing is called empty or malformed."""
    call = {"id": "c1", "type": "function", "function": {"name": "t"}}
    records = decode_logs(
        log_request(
            [
                {"span": "0b" * 8, "event": "gen_ai.user.message", "ts": 1},
                {"span": "0b" * 8, "event": "gen_ai.assistant.message", "ts": 2, "body": {"tool_calls": [call]}},
                {"span": "0b" * 8, "event": "gen_ai.tool.message", "ts": 3, "body": {"id": "c1"}},
                {"span": "0b" * 8, "event": "gen_ai.choice", "ts": 4, "body": _choice()},
            ]
        )
    )
    normalizer = Normalizer()
    (span,) = spans([{"id": "0b" * 8, "attrs": {"gen_ai.operation.name": "chat"}}], scope=GENAI)
    normalizer.step(span)
    llm, tool = normalizer.logs(records)
    assert (llm.answer, llm.answer_facts, llm.n_calls, llm.tool_messages) == (None, None, 0, ())
    assert (tool.action, tool.call_id, tool.arguments, tool.result, tool.result_facts) == ("t", "c1", None, None, None)


def test_a_result_that_was_not_the_last_message_is_taken_back() -> None:
    """Records that come one by one may show a result at the end that is not the end; its step is withdrawn."""
    first = {"id": "c1", "type": "function", "function": {"name": "t"}}
    second = {"id": "c2", "type": "function", "function": {"name": "t"}}
    told = [
        {"span": "0b" * 8, "event": "gen_ai.assistant.message", "ts": 2, "body": {"tool_calls": [first]}},
        {"span": "0b" * 8, "event": "gen_ai.tool.message", "ts": 3, "body": {"id": "c1", "content": "one"}},
        {"span": "0b" * 8, "event": "gen_ai.choice", "ts": 9, "body": _choice(content="done")},
    ]
    late = [
        {"span": "0b" * 8, "event": "gen_ai.assistant.message", "ts": 4, "body": {"tool_calls": [second]}},
        {"span": "0b" * 8, "event": "gen_ai.tool.message", "ts": 5, "body": {"id": "c2", "content": "two"}},
    ]
    normalizer = Normalizer()
    (span,) = spans([{"id": "0b" * 8, "attrs": {"gen_ai.operation.name": "chat"}}], scope=GENAI)
    normalizer.step(span)
    _, early = normalizer.logs(decode_logs(log_request(told)))
    _, right, gone = normalizer.logs(decode_logs(log_request(late)))
    assert (early.call_id, right.call_id, right.result) == ("c1", "c2", "two")
    assert (gone.ref, gone.extra["sighting"], gone.result) == (early.ref, "withdrawn", None)
    assert normalizer.superseded(gone)
    assert not normalizer.superseded(right)


# -------------------------------------------------------------------------------------- runs made of bare model calls


def _turn(number: int, history: list[dict[str, object]], reply: dict[str, object]) -> dict[str, object]:
    return {
        "trace": f"{number:032x}", "id": f"{number:016x}",
        "attrs": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(history),
                  "gen_ai.output.messages": json.dumps([reply])},
    }  # fmt: skip


def test_histories_contain_one_another() -> None:
    """A call that continues another has its history and its reply as the beginning of its own, and no stranger has."""
    call = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {"a": 1}}
    asked = [parts("system", text("be kind")), parts("user", text("q"))]
    reply = parts("assistant", call, finish_reason="tool_call")
    answered = [
        *asked,
        parts("assistant", call),
        parts("tool", {"type": "tool_call_response", "id": "c1", "response": "r"}),
    ]
    first, second, tool = normalize(
        [_turn(1, asked, reply), _turn(2, answered, parts("assistant", text("done")))], GENAI
    )
    assert first.extra["history"] + (first.extra["reply"],) == second.extra["history"][:3]  # type: ignore[operator,index]
    other = parts("assistant", {**call, "id": "c9"})
    (stranger, *_) = normalize([_turn(3, [*answered[:2], other], parts("assistant"))], GENAI)
    assert stranger.extra["history"][:2] == second.extra["history"][:2]  # type: ignore[index]
    assert stranger.extra["history"][2] != first.extra["reply"]  # type: ignore[index]
    assert (tool.action, tool.arguments, tool.result, tool.ref.trace_id) == ("t", '{"a":1}', "r", f"{2:032x}")
    assert tool.start_ns < second.start_ns
    assert len(tool.ref.span_id) == 16
    assert int(tool.ref.span_id, 16)


def test_the_id_of_a_sighted_call_is_always_the_same() -> None:
    """The same call in the same trace has the same id, in this process and in any other."""
    history = [parts("assistant", {"type": "tool_call", "id": "c1", "name": "t", "arguments": {}}),
               parts("tool", {"type": "tool_call_response", "id": "c1", "result": {"ok": True}})]  # fmt: skip
    steps = [normalize([_turn(1, history, parts("assistant", text("x")))], GENAI)[1] for _ in range(2)]
    assert steps[0].ref == steps[1].ref
    assert steps[0].result == '{"ok":true}'
    assert steps[0].ref.span_id == "83c2b57e589ff76a"


def test_a_span_of_a_tool_supersedes_what_messages_show() -> None:
    """Once a tool of the trace has a span, calls read from messages do not count; in either order."""
    chat = {"id": "0c" * 8, "attrs": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(
        [parts("tool", {"type": "tool_call_response", "id": "c1", "response": "r"})])}}  # fmt: skip
    tool = {"id": "0d" * 8, "attrs": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}}
    for given_spans in ([chat, tool], [tool, chat]):
        assert sorted(step.kind for step in normalize(given_spans, GENAI)) == [Kind.LLM, Kind.TOOL]
    ours = {"id": "0e" * 8, "attrs": {sc.STEP_KIND: "tool", sc.ACTION: "t"}}
    normalizer = Normalizer()
    foreign = normalizer.steps(spans([tool], scope=GENAI)[0])[0]
    assert not normalizer.superseded(foreign)
    mine = normalizer.steps(spans([ours], scope=sc.SCOPE)[0])[0]
    assert (normalizer.superseded(foreign), normalizer.superseded(mine)) == (True, False)


DEEP: object = "end"
for _ in range(1010):
    DEEP = [DEEP]


@pytest.mark.parametrize("odd", [{"a": 1}, ["x"], 5, True, DEEP], ids=["object", "list", "number", "bool", "deep"])
def test_what_stands_where_a_word_should_is_no_word(odd: object) -> None:
    """Types, roles, ids, names and reasons of messages may be anything in hostile telemetry."""
    call = {"id": odd, "function": {"name": odd, "arguments": odd}}
    parts_ = [{"type": odd, "text": "x"}, {"type": "tool_result", "tool_use_id": odd, "content": odd}]
    hostile = [
        {"role": odd, "content": parts_, "tool_calls": [call], "finish_reason": odd, "tool_call_id": odd},
        {"role": "tool", "content": odd, "tool_call_id": odd},
        {"type": "function_call_output", "call_id": odd, "output": odd},
    ]
    found = messages.from_value(hostile) or []

    assert found
    assert all(
        isinstance(part, str) for m in found for part in (m.role, m.call_id, m.finish, *(c.name for c in m.calls))
    )
    assert [messages.digest(m) for m in found] == [messages.digest(m) for m in found]


DEEP_TEXT = "[" * 1010 + "]" * 1010
DEEP_STATE = f'{{"messages": [{{"type": "tool", "content": {DEEP_TEXT}, "tool_call_id": {DEEP_TEXT}}}]}}'


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.DIALECT)
@pytest.mark.parametrize("content", [DEEP_TEXT, DEEP_STATE], ids=["list", "state"])
def test_deep_json_in_spans_is_read(dialect: ModuleType, content: str) -> None:
    """As deep as the parser takes it, wherever it stands; what is made of it is text."""
    keys = (
        *dialect.MARKERS, "gen_ai.input.messages", "gen_ai.output.messages", "input.value", "output.value",
        "llm.invocation_parameters", "gen_ai.tool.call.result", "gen_ai.tool.call.arguments",
        "gcp.vertex.agent.tool_response", "traceloop.entity.input", "traceloop.entity.output",
    )  # fmt: skip
    for operation in ("execute_tool", "chat", "invoke_agent"):
        attrs = {**dict.fromkeys(keys, content), "gen_ai.operation.name": operation, "openinference.span.kind": "TOOL"}
        for step in normalize([{"attrs": attrs}], scope=dialect.SCOPES[0].rstrip("\0") if dialect.SCOPES else ""):
            assert step.result is None or isinstance(step.result, str)
