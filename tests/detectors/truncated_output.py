"""Cases of ``truncated_output``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case

FIRES = (
    Case("the finish reason says so", lambda s: s.llm("half a", finish_reason="length"), (1,), "error"),
    Case(
        "exactly the limit, whatever the reason says",
        lambda s: s.llm(calls=[ToolCall("c", "write", '{"a', "truncated")], max_tokens=20),
        (1,),
        "error",
        {"max_tokens": 20, "output_tokens": 20, "call": "write"},
    ),
)
QUIET = (
    Case("below the limit", lambda s: s.llm("done", max_tokens=21)),
    Case("no limit is known", lambda s: s.llm("done")),
    Case("a failed call", lambda s: s.llm(error="BadRequestError", finish_reason="length")),
)
