"""Model Context Protocol: a client's tool calls are tool steps; everything else of the protocol is structure."""

from __future__ import annotations

from typing import Final

from spanward_detector.ingest import RawSpan
from spanward_detector.model import Kind, Step
from spanward_detector.normalize import genai
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "mcp"
SCOPES: Final[tuple[str, ...]] = ()
MARKERS: Final = ("mcp.method.name",)

_CALL: Final = "tools/call"
_SERVER: Final = 2


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of this protocol.

    The server's span of a call is the other end of the client's, so it is structure. A client's span inside the span of
    the same tool is superseded by that.
    """
    attrs = span.attrs
    method = attrs.text("mcp.method.name") or ""
    if method != _CALL or span.kind == _SERVER:
        return to_steps(span, ctx, DIALECT, Reading(Kind.OTHER, action=method))
    reading = genai.read_tool(attrs)
    reading.action = reading.action or span.name.removeprefix(f"{_CALL} ")
    reading.agent = attrs.text("gen_ai.agent.name") or ""
    reading.conversation_id = attrs.text("gen_ai.conversation.id") or ""
    # A tool that answers ``isError`` has error.type "tool_error"; one that the protocol failed has a JSON-RPC code.
    reading.is_error = True if attrs.text("error.type") == "tool_error" else None
    return to_steps(span, ctx, DIALECT, reading)
