"""Cases of ``invalid_json``."""

from tests.detectors.script import Case


def _history(s, last):
    for n in range(3):
        s.tool("rows", arguments=f'{{"n": {n}}}', result=f'{{"n": {n}}}')
    s.tool("rows", arguments='{"n": 9}', result=last)


FIRES = (
    Case(
        "prose where JSON was asked for", lambda s: s.llm("Sure! Here it is: SECRET", json_expected=True), (1,), "error"
    ),
    Case("a result whose media type says JSON", lambda s: s.tool(result="<html>", media_type="application/json"), (1,)),
    Case("JSON so far, and now not", lambda s: _history(s, "temporarily odd"), (4,), "info"),
    Case(
        "the framework could not parse the answer",
        lambda s: s.llm(error="OutputParserException", text="Error parsing output"),
        (1,),
    ),
)
QUIET = (
    Case("JSON as asked", lambda s: s.llm('{"a": 1}', json_expected=True)),
    Case("prose that nobody wanted as JSON", lambda s: s.llm("Sure!")),
    Case("cut off is truncated_output", lambda s: s.llm('{"a": ', json_expected=True, finish_reason="length")),
    Case("text from a tool that writes text", lambda s: s.tool(result="sunny")),
    Case("a search that finds nothing in words", lambda s: _history(s, "No results found.")),
)
