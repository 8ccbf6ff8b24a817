"""Cases of ``empty_output``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case

FIRES = (
    Case("white space", lambda s: s.llm("  \n"), (1,), "error"),
    Case("an empty stream", lambda s: s.llm(finish_reason="", output_tokens=0), (1,)),
    Case(
        "an agent that was asked says nothing, and all is said to be well",
        lambda s: s.tool("delegate_task", result='[{"agentName": "Writer", "response": "", "status": "success"}]'),
        (1,),
        "warning",
    ),
)
QUIET = (
    Case("an agent that says something", lambda s: s.tool("delegate_task", result='[{"response": "an introduction"}]')),
    Case("nothing from a tool that is nobody", lambda s: s.tool("post_form", result='{"response": "", "status": 204}')),
    Case("a call and no text", lambda s: s.llm("", calls=[ToolCall("c", "a", "{}", "ok")])),
    Case("content is not recorded", lambda s: s.llm(n_calls=None)),
    Case("cut off", lambda s: s.llm("", finish_reason="length")),
    Case("the answer was shown", lambda s: (s.tool("render_chart"), s.llm(""))),
    Case("filtered", lambda s: s.llm("", finish_reason="content_filter")),
)
