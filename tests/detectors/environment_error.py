"""Cases of ``environment_error``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "a module is missing",
        lambda s: s.tool(error="ModuleNotFoundError"),
        (1,),
        "error",
        {"error_type": "ModuleNotFoundError"},
    ),
    Case("the network is away", lambda s: s.tool(error="httpx.ConnectError"), (1,)),
    Case("a program is missing", lambda s: s.tool(error="ToolError", text="/bin/sh: python: command not found"), (1,)),
    Case("a model call finds no network", lambda s: s.llm(error="APIConnectionError"), (1,)),
)
QUIET = (
    Case("a mistake in the call", lambda s: s.tool(error="ValueError", text="unknown city")),
    Case("a status is more specific", lambda s: s.tool(error="ConnectionError", status=503)),
    Case("a log that quotes it", lambda s: s.tool(result='{"log": "permission denied", "ok": true}')),
)
