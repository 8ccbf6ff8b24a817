"""Cases of ``telemetry_gap``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case, Script

THREE = [ToolCall("1", "a", "{}", "ok"), ToolCall("2", "b", "{}", "ok"), ToolCall("3", "c", "{}", "ok")]


def _numbered(s: Script, *numbers: int) -> None:
    for number in numbers:
        s.tool(arguments=f'{{"n": {number}}}', index=number)


FIRES = (
    Case(
        "two of three calls were seen",
        lambda s: (s.llm(calls=THREE), s.tool("a"), s.tool("b")),
        (0,),
        "info",
        {"count": 1},
    ),
    Case(
        "the same before the next request",
        lambda s: (s.llm(calls=THREE), s.tool("a"), s.llm("ok")),
        (3,),
        "info",
        {"count": 2},
    ),
    Case("numbers are missing", lambda s: _numbered(s, 1, 2, 5), (0,), "warning", {"count": 2, "why": "numbers"}),
    Case(
        "the agent's SDK dropped attributes; said once",
        lambda s: (s.tool("a", lost="attributes"), s.tool("b", lost="attributes")),
        (1,),
        "warning",
        {"why": "attributes"},
    ),
    Case("the agent's SDK cut values off", lambda s: s.tool("a", lost="values"), (1,), "info", {"why": "values"}),
    Case("an agent and nothing else", lambda s: s.agent(), (0,), "warning", {"why": "empty"}, mode="observe"),
)
QUIET = (
    Case("all were seen", lambda s: (s.llm(calls=THREE), s.tool("a"), s.tool("b"), s.tool("c"), s.llm("ok"))),
    Case("no tool makes spans", lambda s: (s.llm(calls=THREE), s.llm("ok"))),
    Case("steps without a number stand between", lambda s: (s.llm("a"), _numbered(s, 2), s.llm("b"), _numbered(s, 4))),
    Case("no number is missing", lambda s: _numbered(s, 1, 2, 3)),
)
