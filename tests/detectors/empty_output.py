"""Cases of ``empty_output``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case

FIRES = (
    Case("white space", lambda s: s.llm("  \n"), (1,), "error"),
    Case("an empty stream", lambda s: s.llm(finish_reason="", output_tokens=0), (1,)),
)
QUIET = (
    Case("a call and no text", lambda s: s.llm("", calls=[ToolCall("c", "a", "{}", "ok")])),
    Case("content is not recorded", lambda s: s.llm(n_calls=None)),
    Case("cut off", lambda s: s.llm("", finish_reason="length")),
    Case("the answer was shown", lambda s: (s.tool("render_chart"), s.llm(""))),
    Case("filtered", lambda s: s.llm("", finish_reason="content_filter")),
)
