"""The setting that brings a missing signal, per instrumentation. Looked up by scope first, by dialect second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from spanward_detector.doctor.signals import Signal

_CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_LATEST: Final = "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"

CONTENT: Final[Mapping[str, str]] = {
    "opentelemetry.instrumentation.openai_v2": (
        f"{_CAPTURE}=true, and send log records to the detector too: this instrumentation writes content as logs "
        f"(or {_LATEST} and {_CAPTURE}=SPAN_ONLY)"
    ),
    "spanward": f"{_CAPTURE}=true in the agent's process",
    "genai": f"{_CAPTURE}=SPAN_ONLY",
    "openinference": "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false",
    "openllmetry": "TRACELOOP_TRACE_CONTENT=true",
    "pydantic_ai": "InstrumentationSettings(include_content=True)",
    "langsmith": "LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false",
    "vercel": "experimental_telemetry: { isEnabled: true, recordInputs: true, recordOutputs: true }",
    "strands": f"{_LATEST}; content is then in span attributes and events",
    "adk": f"{_LATEST} and {_CAPTURE}=SPAN_ONLY",
    "mcp": f"{_CAPTURE}=SPAN_ONLY",
}
"""What turns the recording of arguments, results and messages on, by scope or dialect."""

_TOOLS: Final = (
    "decorate the tools with `@tool` of spanward, or instrument the agent's framework: an instrumented model client "
    "alone makes no spans of tools"
)
_MODEL_CLIENT: Final = (
    "instrument the model client too, e.g. with opentelemetry-instrumentation-genai-openai or "
    "openinference-instrumentation-openai"
)
_GATE: Final = "call `spanward.instrument_agent()` in the agent's process, with SPANWARD_ENDPOINT at the detector"
_FAILURES: Final = (
    "let tools raise when they fail, or decorate them with `@tool` of spanward: the gate tells errors from results"
)

_DEFINITIONS: Final[Mapping[str, str]] = {
    "": "`spanward.instrument_agent()`: the gate checks names and schemas; or an instrumentation that records "
    "gen_ai.tool.definitions",
    "opentelemetry.instrumentation.openai_v2": f"{_LATEST} and {_CAPTURE}=SPAN_ONLY",
    "genai": f"{_CAPTURE}=SPAN_ONLY: gen_ai.tool.definitions is recorded with the content",
    "openinference": "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_LLM_INVOCATION_PARAMETERS=false",
    "adk": f"{_LATEST} and {_CAPTURE}=SPAN_ONLY",
}

OTHERS: Final[Mapping[Signal, Mapping[str, str]]] = {
    Signal.TOOL_CALLS: {"": _TOOLS},
    Signal.TOOL_SPANS: {"": _TOOLS},
    Signal.MODEL_CALLS: {"": _MODEL_CLIENT},
    Signal.FAILURES: {
        "": _FAILURES,
        "adk": "decorate the tools with `@tool` of spanward; ReflectAndRetryToolPlugin keeps failures from their spans",
    },
    Signal.DEFINITIONS: _DEFINITIONS,
    Signal.SCHEMAS: _DEFINITIONS,
    Signal.CALL_IDS: {"": _TOOLS},
    Signal.FINISH: {"": _MODEL_CLIENT},
    Signal.TOKENS: {"": f'{_MODEL_CLIENT}; with streaming, stream_options={{"include_usage": true}}'},
    Signal.HTTP: {"": "opentelemetry-instrumentation-httpx (or -requests, -aiohttp-client) in the agent's process"},
    Signal.GATE: {"": _GATE},
    Signal.LIMIT: {"": "`run(max_tokens=...)`, or `rules: {token_budget: {max_tokens: ...}}` in the policy"},
}
"""What brings the signals that are not content; "" = whatever the instrumentation."""

OF_CONTENT: Final = frozenset(
    {
        Signal.ARGUMENTS, Signal.ARGUMENT_FORMS, Signal.ARGUMENT_TEXT, Signal.RESULTS, Signal.RESULT_TEXT, Signal.CALLS,
        Signal.ANSWERS, Signal.ANSWER_TEXT, Signal.MESSAGES,
    }
)  # fmt: skip
"""Signals that come with the content."""

FACTS: Final = "`@tool` and `spanward.instrument_agent()`: the gate tells facts, and content may stay off"
"""What does instead of content where facts are enough."""
TEXTS: Final = frozenset({Signal.ARGUMENT_TEXT, Signal.RESULT_TEXT, Signal.ANSWER_TEXT, Signal.MESSAGES})
"""Signals that facts cannot stand in for."""


def fixes(signal: Signal, scopes: Iterable[str], dialects: Iterable[str]) -> tuple[str, ...]:
    """Settings that would bring a signal, for the instrumentation that is there; the nearest one first.

    Args:
        signal: that is missing.
        scopes: names of the instrumentation scopes seen.
        dialects: of the spans seen.
    """
    table = CONTENT if signal in OF_CONTENT else OTHERS[signal]
    exact = {key: text for key, text in table.items() if any(scope.startswith(key) for scope in scopes) and "." in key}
    # A scope that has a setting of its own speaks for its dialect.
    found = tuple(exact.values()) or tuple(table[dialect] for dialect in dialects if dialect in table)
    return tuple(dict.fromkeys(found)) or ((table[""],) if "" in table else ())
