"""Batches of agent spans as a busy service sends them: some 14 attributes and 3.2 kB a span, nothing wrong in them."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from spanward import semconv
from spanward.facts import facts_to_attributes, result_facts

_WORDS = (
    "alpha", "beta", "gamma", "delta", "search", "query", "file", "read", "write", "config", "user", "order", "invoice",
    "status", "retry", "path", "value", "list", "item", "token", "model", "agent", "step", "plan", "tool", "page",
    "route", "ledger", "bucket", "north", "south",
)  # fmt: skip
_SECOND = 1_000_000_000
_BATCHES_PER_RUN = 5
Attributes = Mapping[str, str | int | bool]


def batch(size: int, seed: int, runs: int = 10, *, foreign: bool = False) -> bytes:
    """One ExportTraceServiceRequest with ``size`` healthy tool spans of ``runs`` runs, content captured.

    Args:
        size: spans.
        seed: other seeds give other runs.
        runs: that the spans belong to.
        foreign: spans of OTel's own instrumentation, which carry no facts; else those of our gate.
    """
    rnd = random.Random(seed)
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    for key, value in (("service.name", "bench"), ("telemetry.sdk.language", "python")):
        resource_spans.resource.attributes.add(key=key).value.string_value = value
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "opentelemetry.instrumentation.genai.langchain" if foreign else semconv.SCOPE
    group = random.Random(seed // _BATCHES_PER_RUN)  # a run goes on for some batches
    traces = [group.randbytes(16) for _ in range(runs)]
    make = _foreign if foreign else _ours
    for n in range(size):
        trace = traces[n % runs]
        span = scope_spans.spans.add(trace_id=trace, span_id=rnd.randbytes(8), parent_span_id=trace[:8], kind=1)
        span.name = "execute_tool search_files"
        span.start_time_unix_nano = 1_760_000_000 * _SECOND + (seed * size + n) * _SECOND
        span.end_time_unix_nano = span.start_time_unix_nano + _SECOND // 5
        arguments = {"query": _text(rnd, 120), "path": "srv/" + _text(rnd, 30), "limit": rnd.randint(1, 99)}
        arguments["note"] = _text(rnd, 240)
        for key, value in make(rnd, trace.hex(), n // runs + 1, json.dumps(arguments), _text(rnd, 2000)).items():
            pair = span.attributes.add(key=key)
            if isinstance(value, bool):
                pair.value.bool_value = value
            elif isinstance(value, int):
                pair.value.int_value = value
            else:
                pair.value.string_value = value
    return request.SerializeToString()


def _text(rnd: random.Random, size: int) -> str:
    words = []
    while size > 0:
        words.append(rnd.choice(_WORDS))
        size -= len(words[-1]) + 1
    return " ".join(words)


def _sha(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _ours(rnd: random.Random, run: str, index: int, arguments: str, result: str) -> Attributes:
    return {
        semconv.OPERATION_NAME: semconv.OP_EXECUTE_TOOL,
        semconv.RUN_ID: run,
        semconv.AGENT_NAME: "support-agent",
        semconv.STEP_INDEX: index,
        semconv.STEP_KIND: "tool",
        semconv.ACTION: "search_files",
        semconv.TOOL_NAME: "search_files",
        semconv.TOOL_CALL_ID: "call_" + rnd.randbytes(12).hex(),
        semconv.SIDE_EFFECT: "read",
        semconv.ATTEMPT: 1,
        semconv.TOOL_ARGUMENTS: arguments,
        semconv.PAYLOAD_DIGEST: _sha(arguments),
        semconv.TOOL_RESULT: result,
        semconv.RESULT_DIGEST: _sha(result),
        **{
            key: value
            for key, value in facts_to_attributes(result_facts(result)).items()
            if not isinstance(value, list)
        },
    }


def _foreign(rnd: random.Random, run: str, index: int, arguments: str, result: str) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "support-agent",
        "gen_ai.agent.id": f"agent-{index % 50:04}",
        "gen_ai.conversation.id": run,
        "gen_ai.tool.name": "search_files",
        "gen_ai.tool.call.id": "call_" + rnd.randbytes(12).hex(),
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
        "gen_ai.request.model": "gpt-4o-2024-11-20",
        "gen_ai.usage.input_tokens": rnd.randint(100, 9000),
        "gen_ai.usage.output_tokens": rnd.randint(10, 900),
        "gen_ai.tool.type": "function",
        "app.tenant": rnd.randbytes(16).hex(),
        "app.request": rnd.randbytes(16).hex(),
    }
