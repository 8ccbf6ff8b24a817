"""Google ADK: GenAI names with its own finish reasons and call ids, and ``gcp.vertex.agent.*`` in older releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spanward_detector.ingest import RawSpan
from spanward_detector.model import Kind, Step
from spanward_detector.normalize import genai
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "adk"
SCOPES: Final = ("gcp.vertex.agent",)
MARKERS: Final = ("gcp.vertex.agent.invocation_id",)

ALIASES: Final[genai.Aliases] = {
    **genai.ALIASES,
    "conversation": ("gen_ai.conversation.id", "gcp.vertex.agent.session_id"),
    "arguments": ("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args"),
    "result": ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response"),
}

_OLD_CALL: Final = "call_llm"
_HANDLED: Final = "ERROR_HANDLED_BY_"
_UNNAMED: Final = "<not specified>"
_UNSERIALISED: Final = frozenset({"<not serializable>", "N/A", "{}"})


def _unwrap(reading: Reading) -> None:
    """Takes off what ADK and its retry plug-in put around results, and tells the errors that stand in them."""
    value = None if reading.result in _UNSERIALISED else msg.parse(reading.result)
    if reading.result in _UNSERIALISED:
        reading.result = None
    elif not isinstance(value, Mapping):
        return
    elif msg.word(value.get("response_type")).startswith(_HANDLED):
        # The plug-in catches the exception, leaves the span's status unset and writes advice to the model, with a count
        # that makes equal failures look different.
        details = msg.dump(value.get("error_details"))
        reading.failed, reading.error_type = True, msg.word(value.get("error_type"))
        reading.error_text, reading.result = details, msg.dump({"error": details})
        count = value.get("retry_count")
        reading.attempt = count if isinstance(count, int) and count > 0 else 1
    elif len(value) == 1 and "result" in value:
        reading.result = msg.dump(value["result"])  # what is no object is wrapped
    elif len(value) == 1 and "error" in value:
        reading.error_text = msg.dump(value["error"])  # the span says no more than that there was one


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of this dialect."""
    attrs = span.attrs
    operation = attrs.text("gen_ai.operation.name") or ("generate_content" if span.name == _OLD_CALL else "")
    if not operation:
        return []
    reading = genai.read(attrs, operation, span.name, ALIASES)
    if reading.kind is Kind.TOOL:
        if reading.call_id == _UNNAMED:
            reading.call_id = ""
        _unwrap(reading)
    return to_steps(span, ctx, DIALECT, reading)
