"""Cases of ``ignored_failure``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "numbers out of nowhere",
        lambda s: (s.tool("exec", error="ValueError"), s.llm("Mean 41.2, 100 rows. The file is saved.")),
        (2,),
        "warning",
        {"failed_tool": "exec", "failed_type": "tool_error"},
    ),
    Case(
        "one of a parallel pair failed",
        lambda s: (s.tool("a", error="ValueError", at_s=1), s.tool("b", at_s=1.1), s.llm("All done.")),
        (3,),
    ),
    Case(
        "a write right after",
        lambda s: (s.tool("read_it", error="ValueError"), s.tool("save", side_effect="write")),
        (2,),
        "info",
    ),
)
QUIET = (
    Case(
        "it asks the user back",
        lambda s: (s.tool("exchange", error="ValueError"), s.llm("Pending orders can be changed. Shall I do that?")),
    ),
    Case("it acts by code", lambda s: (s.tool("a", error="ValueError"), s.llm("Next:\n```py\nb()\n```"))),
    Case(
        "a plan of an agent that ends by a call",
        lambda s: (s.tool("a", error="ValueError"), s.llm("1. Try b.", declared_tools={"final_answer": None})),
    ),
    Case("it says so", lambda s: (s.tool("exec", error="ValueError"), s.llm("Sorry, the command failed."))),
    Case("retried with success", lambda s: (s.tool("a", error="ValueError"), s.tool("a"), s.llm("Done."))),
    Case("another way worked", lambda s: (s.tool("a", error="ValueError"), s.tool("b"), s.llm("Done."))),
    Case("nothing failed", lambda s: (s.tool(), s.llm("Done."))),
    Case("what it says is not known", lambda s: (s.tool("a", error="ValueError"), s.llm())),
)
