"""Cases of ``stopped_by_limit``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "by the class of its exception",
        lambda s: s.tool("sub_agent", error="langgraph.errors.GraphRecursionError"),
        (1,),
        "warning",
        mode="observe",
    ),
    Case("by its answer", lambda s: s.llm("Agent stopped due to iteration limit or time limit."), (1,), "warning"),
    Case("rounds of a group chat", lambda s: s.llm("Maximum rounds (30) reached."), (1,)),
    Case("a sub-agent's result", lambda s: s.tool("researcher", result="Reached max steps."), (1,)),
)
QUIET = (
    Case("an answer", lambda s: s.llm("The maximum number of guests is 30.")),
    Case("a limit of somebody else", lambda s: s.tool(result="The server says: max connections reached.")),
    Case("another exception", lambda s: s.tool(error="ValueError", text="max is 3")),
)
