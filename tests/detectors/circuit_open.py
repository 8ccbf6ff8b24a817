"""Cases of ``circuit_open``."""

from typing import Any

from tests.detectors.script import Case, Script


def _fails(s: Script, times: int, tool: str = "quote", **how: Any) -> None:
    for n in range(times):
        s.tool(tool, f'{{"n": {n}}}', None, **({"error": "HTTPStatusError", "status": 503} | how))


FIRES = (
    Case("five in a row", lambda s: _fails(s, 5), (5,), "warning", {"count": 5, "tool": "quote"}, mode="observe"),
    Case("as many as the policy says", lambda s: _fails(s, 2), (2,), policy="breaker: {failures: 2}"),
    Case("nobody answers", lambda s: _fails(s, 5, error="ConnectionRefusedError", status=0), (5,)),
    Case(
        "the gate kept a call back", lambda s: s.tool(extra={"refused": "breaker"}), (1,), "warning", {"why": "refused"}
    ),
)
QUIET = (
    Case("it worked in between", lambda s: (_fails(s, 4), s.tool("quote"), _fails(s, 4))),
    Case("the calls were wrong", lambda s: _fails(s, 9, status=404)),
    Case("files that are not there", lambda s: _fails(s, 9, error="FileNotFoundError", status=0)),
    Case("another tool each time", lambda s: [_fails(s, 1, f"tool_{n}") for n in range(9)]),
    Case("access is refused", lambda s: _fails(s, 9, status=401)),
)
