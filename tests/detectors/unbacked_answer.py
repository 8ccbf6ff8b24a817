"""Cases of ``unbacked_answer``."""

from tests.detectors.script import Case, Script

CODE = {"final_answer": None, "search_agent": None}
CHAT = {"search": None, "lookup_order": None}


def _code(s: Script, *replies: str) -> None:
    for reply in replies:
        s.llm(reply, declared_tools=CODE)


FIRES = (
    Case(
        "a planned tool was never called",
        lambda s: _code(s, "1. Ask search_agent for the year.\n2. Answer.", "Thought: easy.\nfinal_answer(1912)"),
        (2,),
        "warning",
        {"why": "planned"},
        mode="observe",
    ),
    Case(
        "it says that it looked",
        lambda s: s.llm("I have verified your order: it shipped on Monday.", declared_tools=CHAT),
        (1,),
        "warning",
        {"why": "claimed"},
    ),
    Case(
        "a plan of look-ups, and an answer from memory",
        lambda s: _code(
            s,
            "1. Search for the list of mayors.\n2. Locate the one of 1912.\n3. Answer.",
            "```py\nfinal_answer('Gaynor')\n```",
        ),
        (2,),
        "warning",
        {"why": "looked_up"},
    ),
)
QUIET = (
    Case(
        "it was looked up",
        lambda s: (s.tool("lookup_order"), s.llm("I have verified your order.", declared_tools=CHAT)),
    ),
    Case(
        "the answer's own code calls",
        lambda s: _code(s, "1. Ask search_agent.", "```py\nfinal_answer(search_agent('year'))\n```"),
    ),
    Case("no tool is needed", lambda s: _code(s, "1. Add them.\n2. Answer.", "```py\nfinal_answer(2 + 3)\n```")),
    Case("a plan is no answer", lambda s: _code(s, "1. Ask search_agent.", "1. Based on our research, ask again.")),
    Case("it only stands by", lambda s: s.llm("I have the context. Ready when you are.")),
    Case("small talk", lambda s: s.llm("Hello! What can I do for you?", declared_tools=CHAT)),
    Case("a run without tools", lambda s: s.llm("According to the literature, it is 42.")),
)
