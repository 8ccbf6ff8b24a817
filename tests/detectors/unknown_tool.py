"""Cases of ``unknown_tool``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case

FIRES = (
    Case(
        "a name with letters swapped",
        lambda s: s.llm(
            calls=[ToolCall("c", "occcra_info")],
            unknown_tools=("occcra_info",),
            declared_tools={"occrra_info": None, "b": None},
        ),
        (1,),
        "error",
        {"tool": "occcra_info", "declared_tools": 2, "nearest": "occrra_info"},
    ),
    Case(
        "the framework says so",
        lambda s: s.tool("python", error="ToolError", text="Tool with name python not found"),
        (1,),
    ),
    Case("the exception says so", lambda s: s.tool("python", error="ToolNotFoundError"), (1,)),
)
QUIET = (
    Case("a declared tool", lambda s: s.llm(calls=[ToolCall("c", "a")], declared_tools={"a": None})),
    Case("a tool that finds nothing", lambda s: s.tool("find_user", error="ValueError", text="user not found")),
)
