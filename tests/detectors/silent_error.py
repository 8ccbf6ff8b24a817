"""Cases of ``silent_error``."""

from spanward.facts import result_facts

from tests.detectors.script import Case

MAKE = "gcc -c a.c\na.c:3:5: error: expected ';'\nmake: *** [Makefile:2: all] Error 1"

FIRES = (
    Case(
        "a field of the result",
        lambda s: s.tool(result='{"status": "success", "data": null, "error": "SECRET"}'),
        (1,),
        "error",
    ),
    Case("a status of the result", lambda s: s.tool(result='{"status": "error", "reason": "x"}'), (1,)),
    Case(
        "the whole text",
        lambda s: s.tool(result="Error: no such city"),
        (1,),
        "warning",
        {"sign": "text"},
        mode="observe",
    ),
    Case(
        "the policy acts on words too",
        lambda s: s.tool(result="Error: no such city"),
        (1,),
        rules={"words": "act"},
        mode="act",
    ),
    Case(
        "a page keeps it out",
        lambda s: s.tool("browse", result="Title: Just a moment...\nVerify you are human."),
        (1,),
        "warning",
        {"sign": "page", "why": "blocked"},
        mode="act",
    ),
    Case(
        "a report of a browser names the page that keeps it out",
        lambda s: s.tool(
            "browse", result="I clicked it. A screenshot of [Just a moment...](https://a.example)" + "." * 900
        ),
        (1,),
        facts={"why": "blocked"},
    ),
    Case("in German", lambda s: s.tool("ssh", result="Fehler: Der Befehl konnte nicht gefunden werden."), (1,)),
    Case(
        "a client's word of a failed request as the model's answer",
        lambda s: s.llm("API call failed after 3 retries: Error code: 400 - {'error': {'message': 'bad model'}}"),
        (1,),
    ),
    Case(
        "a shell's program breaks off",
        lambda s: s.tool("bash", '{"command": "make"}', result_facts=result_facts(MAKE, foreign_text="program")),
        (1,),
        "warning",
        {"sign": "text"},
    ),
    Case(
        "a gateway's error as the model's answer", lambda s: s.llm('{"error": {"code": 404}}', finish_reason=""), (1,)
    ),
)
QUIET = (
    Case("it works", lambda s: s.tool()),
    Case("an empty error field", lambda s: s.tool(result='{"error": null, "rows": []}')),
    Case("the word stands deep inside", lambda s: s.tool(result='{"rows": [{"text": "Error: x"}]}')),
    Case("it raised", lambda s: s.tool(error="ValueError")),
    Case(
        "the model explains an error code",
        lambda s: s.llm("Error code: 400 means that the request was bad; {'error': ...} is how the service says so."),
    ),
    Case(
        "a shell shows a log",
        lambda s: s.tool("bash", '{"command": "cat a.log"}', result_facts=result_facts(MAKE, foreign_text="by_name")),
    ),
    Case("the model writes JSON about an error", lambda s: s.llm('{"error": "none"}')),
)
