"""Cases of ``context_budget``."""

from tests.detectors.script import Case, Script

WINDOW = "models: {m-1: {context: 1000}}"


def _inputs(s: Script, *sizes: int) -> None:
    for size in sizes:
        s.llm("x", input_tokens=size)


FIRES = (
    Case(
        "most of the window, once",
        lambda s: _inputs(s, 500, 850, 900, 950),
        (2,),
        "warning",
        {"count": 850, "limit": 1000},
        policy=WINDOW,
        mode="observe",
    ),
    Case("again after it was compacted", lambda s: _inputs(s, 850, 200, 850), (1, 3), policy=WINDOW),
)
QUIET = (
    Case("plenty of room", lambda s: _inputs(s, 100, 700, 790), policy=WINDOW),
    Case("nobody knows the window", lambda s: _inputs(s, 10**6)),
    Case("no tokens are told", lambda s: _inputs(s, 0, 0), policy=WINDOW),
)
