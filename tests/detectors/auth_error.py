"""Cases of ``auth_error``."""

from tests.detectors.script import Case

FIRES = (
    Case("401 below a tool", lambda s: s.tool(error="HTTPStatusError", status=401), (1,), "error", {"status": 401}),
    Case(
        "403 named by the result", lambda s: s.tool(result='{"status": 403, "error": "no"}'), (1,), "", {"status": 403}
    ),
    Case("a model call with a wrong key", lambda s: s.llm(error="AuthenticationError"), (1,)),
    Case("only the text says so", lambda s: s.tool(error="ToolError", text="Unauthorized: token expired"), (1,)),
)
QUIET = (
    Case("404", lambda s: s.tool(error="HTTPStatusError", status=404)),
    Case("a page about authentication", lambda s: s.tool("fetch_page", result="Authentication failed? Read this.")),
    Case("it works", lambda s: s.tool()),
)
