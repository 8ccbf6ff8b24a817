"""Cases of ``goal_lost``."""

from tests.detectors.script import Case, Script

SYSTEM = ("system", "You are the travel desk. Answer politely.")
ASKED = ("user", "Find a hotel near the harbour in Lisbon for Anna, reservation RX-20417, below 140 euros.")


def _talk(s: Script, *turns: tuple[tuple[str, str], ...], whole: bool = False) -> None:
    """Model calls of one conversation; each is told what is given, and goes on from the reply before."""
    history: tuple[str, ...] = ()
    for at, said in enumerate(turns):
        told = (f"reply{at - 1}",) if at else ()
        history = (*(f"said{at}" for _ in said), *told, *(() if whole else ("old", "older", "oldest")))
        s.llm("Going on.", said=said, extra={"history": history, "reply": f"reply{at}"})
        s.tool(arguments=f'{{"n": {at}}}')


SUMMARY = ("user", "Summary so far: hotel near the harbour in Lisbon wanted for Anna, below 140 euros.")

FIRES = (
    Case(
        "only the last turns are sent",
        lambda s: _talk(s, (SYSTEM, ASKED), (SYSTEM, ASKED), (SYSTEM,)),
        (5,),
        "warning",
        {"lost": "request"},
        mode="observe",
    ),
    Case("said once", lambda s: _talk(s, (SYSTEM, ASKED), (SYSTEM,), (SYSTEM,)), (3,)),
    Case("the system text is gone", lambda s: _talk(s, (SYSTEM, ASKED), (ASKED,)), (3,), "warning", {"lost": "system"}),
    Case(
        "a summary without the id",
        lambda s: _talk(s, (SYSTEM, ASKED), (SYSTEM, SUMMARY), whole=True),
        (3,),
        "warning",
        {"lost": "fact"},
    ),
)
QUIET = (
    Case("all is sent again", lambda s: _talk(s, (SYSTEM, ASKED), (SYSTEM, ASKED), (SYSTEM, ASKED))),
    Case("a summary", lambda s: _talk(s, (SYSTEM, ASKED), (SYSTEM, SUMMARY))),
    Case(
        "another conversation",
        lambda s: [
            s.llm("x", said=(said,), extra={"history": (h,), "reply": f"r{h}"})
            for h, said in (("a", ASKED), ("b", ("user", "Judge this answer on a scale from one to five.")))
        ],
    ),
    Case("no messages", lambda s: (s.llm("One."), s.tool(), s.llm("Two."))),
)
