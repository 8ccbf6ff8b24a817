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
    *(
        Case(f"in the place of a result: {text}", lambda s, text=text: s.tool("get_wether", result=text), (1,))
        for text in (
            "Tool get_wether not found in agent support",
            "Error: get_wether is not a valid tool, try one of [get_weather].",
            "MCP error -32602: Unknown tool: get_wether",
            "MCP error -32601: Method not found",
            "Model tried to call unavailable tool 'get_wether'",
            "get_wether is not a registered tool",
            "Action 'get_wether' don't exist, these are the only available Actions: get_weather",
            "tool call validation failed: attempted to call tool 'get_wether' which was not in request.tools",
            "No tool named get_wether",
            "工具 get_wether 不存在",
            "ツール get_wether が見つかりません",
            "herramienta desconocida: get_wether",
        )
    ),
    Case("the exception says so", lambda s: s.tool("python", error="ToolNotFoundError"), (1,)),
)
QUIET = (
    Case(
        "a catalogue speaks of other tools",
        lambda s: s.tool("list_tools", result="Tool drill is not available in this shop; hammer is"),
    ),
    Case("a declared tool", lambda s: s.llm(calls=[ToolCall("c", "a")], declared_tools={"a": None})),
    Case("a tool that finds nothing", lambda s: s.tool("find_user", error="ValueError", text="user not found")),
)
