"""Batches of agent spans as a busy service sends them: 14 attributes, about 3.2 kB a span, nothing wrong in them."""

from __future__ import annotations

import json
import random

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_WORDS = (
    "alpha", "beta", "gamma", "delta", "search", "query", "file", "read", "write", "config", "user", "order", "invoice",
    "status", "retry", "path", "value", "list", "item", "token", "model", "agent", "step", "plan", "tool", "page",
    "route", "ledger", "bucket", "north", "south",
)  # fmt: skip


def batch(size: int, seed: int, runs: int = 10) -> bytes:
    """One ExportTraceServiceRequest with ``size`` tool spans of ``runs`` runs, in OTel GenAI names with content."""
    rnd = random.Random(seed)

    def text(n: int) -> str:
        words = []
        while n > 0:
            words.append(rnd.choice(_WORDS))
            n -= len(words[-1]) + 1
        return " ".join(words)

    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    for key, value in (
        ("service.name", "bench"),
        ("telemetry.sdk.language", "python"),
        ("telemetry.sdk.name", "opentelemetry"),
    ):
        pair = resource_spans.resource.attributes.add(key=key)
        pair.value.string_value = value
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "opentelemetry.instrumentation.genai.langchain"
    traces = [rnd.randbytes(16) for _ in range(runs)]
    for n in range(size):
        trace = traces[n % runs]
        span = scope_spans.spans.add(trace_id=trace, span_id=rnd.randbytes(8), parent_span_id=trace[:8], kind=1)
        span.name = "execute_tool search_files"
        span.start_time_unix_nano = 1_760_000_000_000_000_000 + (seed * size + n) * 10**9
        span.end_time_unix_nano = span.start_time_unix_nano + 2 * 10**8
        arguments = {"query": text(120), "path": "srv/" + text(30), "limit": rnd.randint(1, 99), "note": text(240)}
        for key, value in {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.agent.name": "support-agent",
            "gen_ai.agent.id": f"agent-{n % 50:04}",
            "gen_ai.conversation.id": trace.hex(),
            "gen_ai.tool.name": "search_files",
            "gen_ai.tool.call.id": "call_" + rnd.randbytes(12).hex(),
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": text(2000),
            "gen_ai.request.model": "gpt-4o-2024-11-20",
            "gen_ai.usage.input_tokens": rnd.randint(100, 9000),
            "gen_ai.usage.output_tokens": rnd.randint(10, 900),
            "gen_ai.tool.type": "function",
            "app.tenant": rnd.randbytes(16).hex(),
            "app.request": rnd.randbytes(16).hex(),
        }.items():
            pair = span.attributes.add(key=key)
            if isinstance(value, int):
                pair.value.int_value = value
            else:
                pair.value.string_value = value
    return request.SerializeToString()
