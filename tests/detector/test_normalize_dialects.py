"""The traps of the foreign dialects, HTTP requests below steps, and the memory of normalization."""

from __future__ import annotations

import json

import pytest
from spanward import semconv as sc
from spanward_detector.model import Kind, ToolCall
from spanward_detector.normalize import Normalizer
from spanward_detector.normalize.context import Generations

from tests.detector.otlp import normalize, one, parts, spans

OI = "openinference.instrumentation.x"
STRANDS = "strands.telemetry.tracer"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


# ------------------------------------------------------------------------------------------------------ OpenInference


def _oi(kind: str, **attrs: object) -> dict[str, object]:
    return {"openinference.span.kind": kind, **{key.replace("__", "."): value for key, value in attrs.items()}}


def test_a_bare_argument_gets_its_name_from_the_call() -> None:
    """LangChain writes the only argument bare: it is an object all the same, and named once the call is known."""
    call = _oi("LLM") | {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Paris"}',
    }
    tool = {"attrs": _oi("TOOL", tool__name="weather", input__value="Paris")}
    (alone,) = normalize([tool], OI)
    assert (alone.arguments, alone.arguments_facts) == ('{"input":"Paris"}', None)
    for given_spans in ([{"attrs": call}, tool], [tool, {"attrs": call}]):
        found = next(step for step in normalize(given_spans, OI) if step.kind is Kind.TOOL)
        assert found.arguments == '{"city": "Paris"}'
        assert found.arguments_facts is not None
        assert found.arguments_facts.form == "ok"


@pytest.mark.parametrize(
    ("attrs", "arguments", "result", "call_id", "error"),
    [
        (
            {"input.value": '{"a": 1}', "input.mime_type": "application/json", "output.value": 5},
            '{"a": 1}',
            "5",
            "",
            "",
        ),
        ({"input.value": '{"args":[],"sanitize_inputs_outputs":true,"kwargs":{"a":1}}'}, '{"a":1}', None, "", ""),
        (
            {"input.value": '{"args":["{\\"a\\": 1"],"sanitize_inputs_outputs":true,"kwargs":{}}'},
            '{"a": 1',
            None,
            "",
            "",
        ),
        (
            {"output.value": '{"type":"tool","data":{"content":"x","tool_call_id":"c","status":"success"}}'},
            None,
            "x",
            "c",
            "",
        ),
        (
            {"output.value": '{"lc":1,"kwargs":{"content":"x","tool_call_id":"c","status":"error"}}'},
            None,
            "x",
            "c",
            "flag",
        ),
        ({"output.value": '{"error": "not found"}'}, None, '{"error": "not found"}', "", "field"),
        ({"output.value": "__REDACTED__", "input.value": "__REDACTED__"}, None, None, "", ""),
    ],
)
def test_arguments_and_results_are_unwrapped(
    attrs: dict[str, object], arguments: str | None, result: str | None, call_id: str, error: str | None
) -> None:
    """Each framework's wrapping is taken off, and what is inside is judged."""
    step = one(_oi("TOOL", tool__name="t") | attrs, OI)
    assert (step.arguments, step.result, step.call_id) == (arguments, result, call_id)
    assert (step.result_facts.error if step.result_facts else "") == error


def test_message_indices_may_have_gaps() -> None:
    """The Responses API starts at 1; contents may be lists; order is by number, not by text."""
    attrs = _oi("LLM", llm__finish_reason="stop") | {
        "llm.input_messages.10.message.role": "user",
        "llm.input_messages.10.message.content": "last",
        "llm.input_messages.2.message.role": "user",
        "llm.input_messages.2.message.contents.0.message_content.text": "fir",
        "llm.input_messages.2.message.contents.1.message_content.text": "st",
        "llm.output_messages.1.message.role": "assistant",
        "llm.output_messages.1.message.content": "hi",
    }
    step = one(attrs, OI)
    assert (step.user_input, step.answer, len(step.extra["history"])) == ("last", "hi", 2)  # type: ignore[arg-type]


def test_calls_that_langchain_could_not_parse_are_found_in_the_raw_output() -> None:
    """The message shows no call; the raw output keeps it with its arguments as the model wrote them."""
    lost = [{"id": "c1", "name": "t", "args": '{"a": '}]
    message = {"kwargs": {"type": "ai", "content": "", "invalid_tool_calls": lost}}
    raw = {"generations": [[{"generation_info": {"finish_reason": "tool_calls"}, "message": message}]]}
    step = one(_oi("LLM", llm__finish_reason="tool_calls", output__value=json.dumps(raw)) | {
        "llm.output_messages.0.message.role": "assistant"}, OI)  # fmt: skip
    assert step.calls == (ToolCall("c1", "t", '{"a": ', "truncated"),)


def test_agents_nodes_and_runs_are_told_apart() -> None:
    """The outermost agent is the run; a node inside lends nobody its name; a named agent does, handoffs included."""
    run = {"id": "0a" * 8, "name": "support", "attrs": _oi("AGENT")}
    node = {"id": "0b" * 8, "parent": "0a" * 8, "name": "agent", "attrs": _oi("AGENT")}
    named = {"id": "0c" * 8, "parent": "0a" * 8, "name": "x", "attrs": _oi("AGENT", agent__name="billing")}
    in_node = {"id": "0d" * 8, "parent": "0b" * 8, "attrs": _oi("TOOL", tool__name="t")}
    in_named = {"id": "0e" * 8, "parent": "0c" * 8, "attrs": _oi("LLM", llm__model_name="m")}
    for given_spans in ([run, node, named, in_node, in_named], [in_named, in_node, named, node, run]):
        found = {step.ref.span_id[:2]: step for step in normalize(given_spans, OI)}
        assert {key: step.agent for key, step in found.items()} == {
            "0a": "support", "0b": "support", "0c": "billing", "0d": "support", "0e": "billing",
        }  # fmt: skip
        assert [key for key, step in found.items() if step.is_root] == ["0a"]
        assert found["0a"].run_ended == "completed"


def test_an_agent_below_a_foreign_parent_is_the_root_once_all_is_settled() -> None:
    """A run inside a request handler has a parent that never comes; when nothing is awaited it is the root."""
    normalizer = Normalizer()
    (span,) = spans([{"parent": "0f" * 8, "attrs": _oi("AGENT"), "status": 2}], scope=OI)
    step = normalizer.step(span)
    assert step is not None
    assert (step.is_root, normalizer.complete(step), step.run_ended) == (False, False, "")
    assert (normalizer.complete(step, settled=True), step.is_root, step.run_ended) == (True, True, "Exception")
    assert not normalizer.complete(step, settled=True)


def test_smolagents_ends_with_an_answer_not_with_an_act() -> None:
    """The tool ``final_answer`` is the agent's answer, and the agent's limit of steps is stated."""
    step = one(_oi("TOOL", tool__name="final_answer", output__value="42"), OI)
    assert (step.kind, step.action, step.answer) == (Kind.DECISION, "final_answer", "42")
    agent = one(_oi("AGENT", input__value='{"task": "why?"}', smolagents__max_steps=8), OI, name="bot.run")
    assert (agent.agent, agent.user_input, agent.stated_max_steps) == ("bot", "why?", 8)


# ----------------------------------------------------------------------------------------------------- other dialects


def test_openllmetry_unwraps_langchains_envelope() -> None:
    """Step number and run ids in the envelope differ at each call; the arguments inside do not."""
    digests = set()
    for step_number in (1, 2):
        for inner in ({"inputs": {"a": 1}}, {"input_str": "{'a': 1}"}):
            envelope = {**inner, "metadata": {"langgraph_step": step_number}, "kwargs": {"tool_call_id": "c1"}}
            output = {"output": {"lc": 1, "kwargs": {"content": "r", "tool_call_id": "c1", "status": "error"}}}
            step = one(
                {
                    "traceloop.span.kind": "tool",
                    "traceloop.entity.name": "t",
                    "traceloop.entity.input": json.dumps(envelope),
                    "traceloop.entity.output": json.dumps(output),
                }
            )
            digests.add(step.arguments_digest)
            assert (step.action, step.call_id, step.result) == ("t", "c1", "r")
            assert step.result_facts is not None
            assert step.result_facts.error == "flag"
    assert len(digests) == 1


def test_openllmetry_flat_messages() -> None:
    """0.40 flattens messages, calls and functions into numbered attributes, and encodes an empty content twice."""
    step = one(
        {
            "llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "q",
            "gen_ai.completion.0.role": "unknown", "gen_ai.completion.0.content": '""',
            "gen_ai.completion.0.finish_reason": "tool_calls", "gen_ai.completion.0.tool_calls.0.name": "t",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"city": 5}', "llm.request.functions.0.name": "t",
            "llm.request.functions.0.parameters": json.dumps(SCHEMA), "gen_ai.usage.prompt_tokens": 4,
        }
    )  # fmt: skip
    assert step.calls == (ToolCall("", "t", '{"city": 5}', "schema"),)
    assert (step.user_input, step.finish_reason, step.input_tokens, step.answer) == ("q", "tool_calls", 4, None)


@pytest.mark.parametrize("wrapped", [{"INVALID_JSON": '{"a": '}, {"_raw": '{"a": '}])
def test_unparsed_arguments_come_out_of_their_wrapper(wrapped: dict[str, str]) -> None:
    """PydanticAI and others wrap what they cannot parse; what the model wrote is inside."""
    tool = one({"gen_ai.operation.name": "execute_tool", "tool_arguments": json.dumps(wrapped), "gen_ai.tool.name": "t",
                "pydantic_ai.tool.retry.attempt": 3}, "pydantic-ai")  # fmt: skip
    assert (tool.arguments, tool.arguments_facts and tool.arguments_facts.form, tool.attempt) == (
        '{"a": ',
        "truncated",
        3,
    )
    reply = json.dumps([parts("assistant", {"type": "tool_call", "id": "1", "name": "t", "arguments": wrapped})])
    llm = one({"gen_ai.operation.name": "chat", "gen_ai.output.messages": reply}, "pydantic-ai")
    assert llm.calls[0].arguments == '{"a": '


def test_pending_spans_are_start_markers() -> None:
    """Logfire's pending span says that a call has started: no step of its own, and never counted twice."""
    step = one({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "logfire.span_type": "pending_span"},
               "pydantic-ai", parent="0b" * 8)  # fmt: skip
    assert (step.kind, step.action, step.extra["pending"], step.extra["pending_kind"]) == (
        Kind.OTHER,
        "t",
        "0b" * 8,
        "tool",
    )


def test_langsmith_reads_error_class_and_session() -> None:
    """The event's type is always Exception; project names are no sessions; a tool that raised has no result."""
    step = one(
        {"langsmith.span.kind": "tool", "gen_ai.tool.name": "t", "gen_ai.prompt": '{"a":1}', "gen_ai.completion": "{}",
         "langsmith.trace.session_name": "project", "langsmith.metadata.thread_id": "s1"},
        "langsmith", status=2, parent="0a" * 8,
        events=[("exception", {"exception.type": "Exception",
                               "exception.message": "ValueError('bad id')Traceback (most recent call last):\n x"})],
    )  # fmt: skip
    assert (step.error_type, step.error_text, step.result, step.conversation_id) == ("ValueError", "bad id", None, "s1")
    assert one({"langsmith.span.kind": "chain"}, "langsmith", parent="0a" * 8).kind is Kind.OTHER
    assert one({"langsmith.span.kind": "chain", "langsmith.trace.name": "bot"}, "langsmith").agent == "bot"


def test_vercel_results_lose_their_second_encoding() -> None:
    """A text result is written with its quotes; an object is not; the run's own tokens are not counted again."""
    for encoded, plain in (('"ok"', "ok"), ('{"a":1}', '{"a":1}'), ('"open', '"open')):
        legacy = one({"ai.operationId": "ai.toolCall", "ai.toolCall.name": "t", "ai.toolCall.result": encoded}, "ai")
        assert legacy.result == plain
        assert (
            one({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": encoded}, "gen_ai").result == plain
        )
    root = one(
        {"ai.operationId": "ai.generateText", "ai.usage.inputTokens": 500, "ai.telemetry.functionId": "bot"}, "ai"
    )
    assert (root.kind, root.agent, root.input_tokens) == (Kind.AGENT, "bot", 0)
    call = one(
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.usage.promptTokens": 5,
            "ai.response.finishReason": "tool-calls",
            "ai.response.toolCalls": '[{"toolCallId":"1","toolName":"t","input":"{\\"a\\""}]',
        },
        "ai",
    )
    assert (call.input_tokens, call.finish_reason, call.calls) == (
        5,
        "tool_calls",
        (ToolCall("1", "t", '{"a"', "truncated"),),
    )


def test_strands_content_is_in_events() -> None:
    """Arguments, result, calls and finish reason stand in events of the span; two names of one count are read once."""
    tool = one(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.status": "error"},
        STRANDS,
        events=[
            ("gen_ai.tool.message", {"content": '{"a": 1}', "id": "c"}),
            ("gen_ai.choice", {"message": '[{"text": "no"}]'}),
        ],
    )  # fmt: skip
    assert (tool.arguments, tool.result, tool.result_facts and tool.result_facts.error) == ('{"a": 1}', "no", "flag")
    use = {"toolUseId": "1", "name": "t", "input": {}}
    llm = one(
        {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.prompt_tokens": 5},
        STRANDS,
        events=[
            ("gen_ai.user.message", {"content": '[{"text": "q"}]'}),
            ("gen_ai.choice", {"finish_reason": "tool_use", "message": json.dumps([{"toolUse": use}])}),
        ],
    )  # fmt: skip
    assert (llm.user_input, llm.finish_reason, llm.input_tokens, llm.calls) == (
        "q",
        "tool_calls",
        5,
        (ToolCall("1", "t", "{}", "ok"),),
    )


def test_adk_wrappers_and_names() -> None:
    """Results that are no objects are wrapped, errors stand inside the result, and an unnamed call has no id."""
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "<not specified>"}
    fine = one({**tool, "gen_ai.tool.call.result": '{"result": "ok"}'}, "gcp.vertex.agent")
    assert (fine.result, fine.call_id) == ("ok", "")
    failed = one({**tool, "gen_ai.tool.call.result": '{"error": "no such id"}', "error.type": "TOOL_ERROR"},
                 "gcp.vertex.agent", status=2)  # fmt: skip
    assert (failed.failed, failed.error_text) == (True, "no such id")


def test_adk_failures_that_a_plugin_hides_are_seen() -> None:
    """A plug-in that catches the tool's exception leaves the status unset; equal failures are equal all the same."""
    steps = [
        one(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "t",
                "gen_ai.tool.call.result": json.dumps(
                    {
                        "response_type": "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN",
                        "error_type": "RuntimeError",
                        "error_details": "service is down",
                        "retry_count": count,
                        "reflection_guidance": f"This is attempt {count} ...",
                    }
                ),
            },
            "gcp.vertex.agent",
        )
        for count in (1, 2)
    ]
    assert [(step.failed, step.error_type, step.error_text, step.attempt) for step in steps] == [
        (True, "RuntimeError", "service is down", 1),
        (True, "RuntimeError", "service is down", 2),
    ]
    assert steps[0].result_digest == steps[1].result_digest


def test_one_step_for_an_mcp_call_inside_a_tool() -> None:
    """A protocol span inside the span of the same tool is superseded; alone it is the step; the server's never is."""
    mcp = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "t"}
    outer = {"id": "0a" * 8, "attrs": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}}
    client = {"id": "0b" * 8, "parent": "0a" * 8, "kind": 3, "attrs": mcp}
    server = {"id": "0c" * 8, "parent": "0b" * 8, "kind": 2, "attrs": mcp}
    for given_spans in ([outer, client, server], [server, client, outer]):
        assert [step.ref.span_id[:2] for step in normalize(given_spans) if step.kind is Kind.TOOL] == ["0a"]
    assert [step.ref.span_id[:2] for step in normalize([client, server]) if step.kind is Kind.TOOL] == ["0b"]
    assert one({**mcp, "error.type": "tool_error"}, kind=3).result_facts is not None


# --------------------------------------------------------------------------------------------------------------- HTTP


@pytest.mark.parametrize(
    ("attrs", "status", "retry_after"),
    [
        ({sc.HTTP_STATUS: 429, sc.HTTP_RETRY_AFTER: ["7"]}, 429, 7000),
        ({sc.HTTP_STATUS_OLD: 503, sc.HTTP_RETRY_AFTER: ["Fri, 10 Oct 2025 00:00:00 GMT"]}, 503, 55_600_000),
        ({sc.HTTP_STATUS: 503, sc.HTTP_RETRY_AFTER: ["Thu, 09 Oct 2025 08:54:00 GMT"]}, 503, 1_240_000),
        ({sc.HTTP_STATUS: 503, sc.HTTP_RETRY_AFTER: ["Wed, 01 Jan 2020 00:00:00 GMT"]}, 503, 0),
        ({sc.HTTP_STATUS: 200, sc.RETRY_AFTER_MS: 250}, 200, 250),
        ({sc.HTTP_STATUS: 500, sc.HTTP_RETRY_AFTER: ["soon"]}, 500, None),
        ({}, 0, None),
    ],
)  # fmt: skip
def test_http_requests_are_attempts_below_a_step(
    attrs: dict[str, object], status: int, retry_after: int | None
) -> None:
    """Status codes under either name, and Retry-After as seconds or date, counted from the answer and bounded."""
    start = 1_759_998_800_000_000_000
    step = one({"http.request.method": "GET", **attrs}, "opentelemetry.instrumentation.httpx", kind=3, parent="0a" * 8,
               start=start, end=start)  # fmt: skip
    assert (step.kind, step.parent_id, step.action, step.failed) == (Kind.HTTP, "0a" * 8, "GET", status >= 400)
    (attempt,) = step.http
    assert (attempt.status, attempt.retry_after_ms) == (status, retry_after)


def test_a_server_span_is_no_attempt() -> None:
    """Requests that this process answers are not requests that it makes."""
    assert normalize([{"kind": 2, "attrs": {"http.request.method": "GET"}}]) == []


# ------------------------------------------------------------------------------------------------------------- memory


def test_memory_is_bounded() -> None:
    """Traces, parents, contents and calls without end are forgotten, the oldest first."""
    normalizer = Normalizer(max_spans=100, max_traces=10)
    for number in range(1, 2000):
        normalize([{"trace": f"{number:032x}", "attrs": _oi("AGENT")}], OI, normalizer)
    assert len(normalizer.parents) <= 200
    assert len(normalizer._traces) <= 20


def test_generations_forget_what_is_not_touched() -> None:
    """What is read stays; what is not read goes after two generations; removal works in both."""
    kept: Generations[int, int] = Generations(10)
    for number in range(100):
        kept.put(number, number)
        kept.get(0)
    assert (kept.get(0), kept.get(99), kept.get(50)) == (0, 99, None)
    assert len(kept) <= 20
    assert (kept.pop(99), kept.pop(99), kept.pop(0)) == (99, None, 0)
