"""Cases of ``ungrounded``."""

from tests.detectors.script import Case, Script

ASKED = (("user", "What do flights from Denver to Houston cost, and where can I book them?"),)
RESULT = '[{"flight": "HAT084", "price": 112}, {"flight": "HAT266", "price": 1138.5}]'


def _answer(s: Script, answer: str, result: str = RESULT) -> None:
    s.llm(said=ASKED)
    s.tool("search_flights", result=result)
    s.llm(answer, said=ASKED)


FIRES = (
    Case(
        "other flights",
        lambda s: _answer(s, "Take SKY1934 or SKY2051."),
        (3,),
        "warning",
        {"addresses": 2, "figures": 0},
        mode="observe",
    ),
    Case("one address", lambda s: _answer(s, "Book HAT084 at https://cheap.example/denver."), (3,), "info"),
    Case("figures", lambda s: _answer(s, "They cost $389, $417.20 and $5,902."), (3,), "warning", {"figures": 3}),
    Case("one large figure", lambda s: _answer(s, "The contract is worth EUR 482,500."), (3,), "info", {"figures": 1}),
)
QUIET = (
    Case("one small figure", lambda s: _answer(s, "HAT084 costs $112, a seat $4,250 at most.")),
    Case(
        "a large product", lambda s: _answer(s, "A hundred seats on HAT266 are $113,850, that is 100 times $1,138.50.")
    ),
    Case("what was returned", lambda s: _answer(s, "HAT084 costs $112 and HAT266 $1,138.50.")),
    Case("a sum", lambda s: _answer(s, "Together they are $1,250.50, the difference is $1,026.50, twice is $2,277.")),
    Case("years and small numbers", lambda s: _answer(s, "In 2024, 3 of 20 flights took 90 minutes.")),
    Case("no tool was used", lambda s: s.llm("Take SKY1934 or SKY2051.", said=ASKED)),
    Case("results that telemetry cut", lambda s: _answer(s, "Take SKY1934 or SKY2051.", "[truncated] HAT0")),
    Case("the request is not known", lambda s: (s.tool(result=RESULT), s.llm("Take SKY1934 or SKY2051."))),
)
