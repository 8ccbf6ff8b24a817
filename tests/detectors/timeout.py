"""Cases of ``timeout``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "it ran out of time", lambda s: s.tool(error="TimeoutError", took_s=30), (1,), "error", {"duration_ms": 30000}
    ),
    Case(
        "the text says so",
        lambda s: s.tool(error="McpError", text="Timed out while waiting. Waited 30.0 seconds."),
        (1,),
    ),
    Case("a model call", lambda s: s.llm(error="APITimeoutError"), (1,)),
    Case(
        "later than it may be",
        lambda s: s.tool(took_s=3, timeout_s=2.0),
        (1,),
        "warning",
        {"allowed_ms": 2000},
        mode="observe",
    ),
    Case("long, and nobody states a time", lambda s: s.tool(took_s=11), (1,), "info"),
)
QUIET = (
    Case("in time", lambda s: s.tool(took_s=1.9, timeout_s=2.0)),
    Case("a long build", lambda s: s.tool("bash", took_s=110)),
    Case("the policy does not care", lambda s: s.tool(took_s=60), rules={"default_s": 0.0}),
)
