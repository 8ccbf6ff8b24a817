"""One conversation as OTLP, as somebody else's instrumentation sends it: a call of a tool, its result, an answer."""

from __future__ import annotations

import json
from typing import Any

from tests.detector.otlp import TRACE_ID, parts, request, text
from tests.semantic.fakes import ASKED

SCOPE = "opentelemetry.instrumentation.genai.x"
AGENT, ASK, LOOK, SAY = "a0" * 8, "a1" * 8, "a2" * 8, "a3" * 8
_START = 1_790_000_000_000_000_000


def conversation(answer: str, result: str, asked: str = ASKED) -> bytes:
    """A trace request as protobuf; its run is :data:`TRACE_ID` and its answer the span :data:`SAY`."""
    told = [parts("system", text("You help parents of school children in Hamburg.")), parts("user", text(asked))]
    call = {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"q": "records"}}
    reply = {"type": "tool_call_response", "id": "c1", "result": result}
    asks = parts("assistant", call, finish_reason="tool_calls")
    says = parts("assistant", text(answer), finish_reason="stop")
    more = [*told, parts("assistant", call), parts("tool", reply)]
    spans = [
        _span(ASK, 1, "chat", {"input": told, "output": [asks]}),
        _span(LOOK, 2, "execute_tool", {"result": result}),
        _span(SAY, 3, "chat", {"input": more, "output": [says]}),
        _span(AGENT, 0, "invoke_agent", {}),
    ]
    return request(spans, scope=SCOPE).SerializeToString()


def _span(span_id: str, second: int, operation: str, content: dict[str, Any]) -> dict[str, Any]:
    attrs: dict[str, object] = {"gen_ai.operation.name": operation}
    if operation == "execute_tool":
        attrs |= {"gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "c1"}
        attrs |= {"gen_ai.tool.call.arguments": '{"q": "records"}', "gen_ai.tool.call.result": content["result"]}
    elif operation == "chat":
        attrs |= {"gen_ai.request.model": "m-1"}
        attrs |= {f"gen_ai.{way}.messages": json.dumps(content[way]) for way in ("input", "output")}
    else:
        attrs |= {"gen_ai.agent.name": "school"}
    start = _START + second * 1_000_000_000
    end = _START + 9_000_000_000 if operation == "invoke_agent" else start + 500_000_000
    parent = {} if operation == "invoke_agent" else {"parent": AGENT}
    return {"id": span_id, "trace": TRACE_ID, "name": operation, "start": start, "end": end, "attrs": attrs, **parent}
