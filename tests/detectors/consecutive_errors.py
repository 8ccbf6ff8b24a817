"""Cases of ``consecutive_errors``."""

from tests.detectors.script import Case, Script


def _tries(s: Script, *outcomes: bool) -> None:
    for n, ok in enumerate(outcomes):
        s.llm()
        s.tool(f"t{n}", error="" if ok else "ValueError")


FIRES = (
    Case("three tools in a row", lambda s: _tries(s, False, False, False, False), (6, 8), "error", {"count": 3}),
    Case("three model calls in a row", lambda s: [s.llm(error="RateLimitError") for _ in range(3)], (3,)),
)
QUIET = (
    Case("one works in between", lambda s: _tries(s, False, False, True, False, False)),
    Case("three side by side are one", lambda s: [s.tool(f"t{n}", error="ValueError", at_s=1) for n in range(3)]),
    Case("attempts of one call are one", lambda s: [s.tool(error="ValueError", attempt=n) for n in (1, 2, 3)]),
    Case("approvals are no errors", lambda s: [s.tool(error="ApprovalRequired", control_flow=True) for _ in range(4)]),
)
