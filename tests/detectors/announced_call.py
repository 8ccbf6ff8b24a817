"""Cases of ``announced_call``."""

from tests.detectors.script import Case, Script

TOOLS = {"final_answer": None, "search_agent": None, "read_page": None}
SAYS = "Thought: I will now ask search_agent for the opening hours.\nCode:\n```py\n"


def _reply(s: Script, text: str, **more: object) -> None:
    s.llm(text, declared_tools=TOOLS, **more)


FIRES = (
    Case(
        "it only prints what it would ask",
        lambda s: _reply(s, SAYS + 'task = "Dear search_agent, when does it open?"\nprint(task)\n```'),
        (1,),
        "warning",
        {"why": "announced", "count": 1},
        mode="observe",
    ),
    Case(
        "the call stands in a comment",
        lambda s: _reply(s, SAYS + '# search_agent("hours")\nhours = None\n```'),
        (1,),
        "warning",
    ),
)
QUIET = (
    Case("it calls", lambda s: _reply(s, SAYS + 'print(search_agent("hours"))\n```')),
    Case("it calls another tool first", lambda s: _reply(s, SAYS + 'print(read_page("https://a.example"))\n```')),
    Case("it answers", lambda s: _reply(s, SAYS + "final_answer('9 to 5')\n```")),
    Case("it computes and announces nothing", lambda s: _reply(s, "Thought: sum them.\n```py\nprint(2 + 3)\n```")),
    Case("a plan without code", lambda s: _reply(s, "1. Ask search_agent for the hours.\n2. Answer.")),
    Case("code for the user", lambda s: s.llm(SAYS + "print(1)\n```", declared_tools={"search_agent": None})),
)
