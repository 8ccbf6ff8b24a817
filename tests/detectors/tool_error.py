"""Cases of ``tool_error``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "a tool raises",
        lambda s: s.tool(error="ValueError", text="SECRET"),
        (1,),
        "error",
        {"error_type": "ValueError"},
    ),
    Case(
        "its words name a status",
        lambda s: s.tool(error="RuntimeError", text="shop said 404, no such order"),
        (1,),
        "error",
    ),
    Case(
        "its words say that it may pass",
        lambda s: (
            s.tool(error="RuntimeError", text="503 Service Unavailable"),
            s.tool(error="RuntimeError", text="Service is overloaded, try again later"),
        ),
        (1, 2),
        "info",
    ),
    Case(
        "the gate can call again",
        lambda s: s.tool(error="RuntimeError", text="503 Service Unavailable", held=True),
        (1,),
        "error",
    ),
    Case("the protocol flags an error", lambda s: s.tool(result="nope", is_error=True), (1,)),
    Case(
        "each failure is one finding", lambda s: (s.tool("a", error="KeyError"), s.tool("b", error="KeyError")), (1, 2)
    ),
)
QUIET = (
    Case("it works", lambda s: s.tool()),
    Case("the result merely speaks of an error", lambda s: s.tool(result='{"log": "error in line 3"}')),
    Case("an approval is asked for", lambda s: s.tool(error="ApprovalRequired", control_flow=True)),
    Case("a more specific rule has it: rate", lambda s: s.tool(error="HTTPStatusError", status=429)),
    Case("a more specific rule has it: time", lambda s: s.tool(error="TimeoutError")),
    Case("a more specific rule has it: status", lambda s: s.tool(error="HTTPStatusError", status=503)),
    Case("an error inside a success is silent_error's", lambda s: s.tool(result='{"error": "no such city"}')),
)
