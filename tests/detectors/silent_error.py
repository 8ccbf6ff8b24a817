"""Cases of ``silent_error``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "a field of the result",
        lambda s: s.tool(result='{"status": "success", "data": null, "error": "SECRET"}'),
        (1,),
        "error",
    ),
    Case("a status of the result", lambda s: s.tool(result='{"status": "error", "reason": "x"}'), (1,)),
    Case("the whole text", lambda s: s.tool(result="Error: no such city"), (1,), "warning", {"sign": "text"}),
    Case("in German", lambda s: s.tool("ssh", result="Fehler: Der Befehl konnte nicht gefunden werden."), (1,)),
    Case(
        "a gateway's error as the model's answer", lambda s: s.llm('{"error": {"code": 404}}', finish_reason=""), (1,)
    ),
)
QUIET = (
    Case("it works", lambda s: s.tool()),
    Case("an empty error field", lambda s: s.tool(result='{"error": null, "rows": []}')),
    Case("the word stands deep inside", lambda s: s.tool(result='{"rows": [{"text": "Error: x"}]}')),
    Case("it raised", lambda s: s.tool(error="ValueError")),
    Case("the model writes JSON about an error", lambda s: s.llm('{"error": "none"}')),
)
