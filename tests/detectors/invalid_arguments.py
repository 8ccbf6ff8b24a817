"""Cases of ``invalid_arguments``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case

FIRES = (
    Case(
        "single quotes and a comma too many",
        lambda s: s.llm(calls=[ToolCall("c1", "find", "{'a': 'SECRET',}", "malformed")]),
        (1,),
        "error",
        {"tool": "find", "form": "malformed"},
    ),
    Case("a tool ran with them", lambda s: s.tool(arguments='"{}"'), (1,), "warning", {"form": "double_encoded"}),
    Case(
        "a tool failed for them",
        lambda s: s.tool(arguments='{"a": ', error="JSONDecodeError"),
        (1,),
        "error",
        {"form": "truncated"},
    ),
    Case("NaN", lambda s: s.tool(arguments='{"a": NaN}', error="ToolError"), (1,), "error", {"form": "non_finite"}),
)
QUIET = (
    Case("well formed", lambda s: (s.llm(calls=[ToolCall("c1", "find", "{}", "ok")]), s.tool())),
    Case("nothing means no arguments", lambda s: s.tool(arguments="")),
    Case("an apostrophe inside", lambda s: s.tool(arguments='{"q": "what\'s on"}')),
    Case(
        "cut off is truncated_output",
        lambda s: s.llm(calls=[ToolCall("c", "w", '{"a', "truncated")], finish_reason="length"),
    ),
)
