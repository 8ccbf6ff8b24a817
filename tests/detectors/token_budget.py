"""Cases of ``token_budget``."""

from tests.detectors.script import Case, Script


def _calls(s: Script, times: int, **stated: int) -> None:
    for _ in range(times):
        s.llm("x")
    s.agent(**stated)


FIRES = (
    Case(
        "more than the run stated",
        lambda s: _calls(s, 4, stated_max_tokens=470),
        (4,),
        "error",
        {"limit": 470, "count": 480},
    ),
    Case("coming near", lambda s: _calls(s, 4, stated_max_tokens=500), (4,), "info"),
    Case(
        "more than the policy states",
        lambda s: _calls(s, 2),
        (2,),
        "error",
        rules={"max_tokens": 150, "warn_share": 1.0},
    ),
)
QUIET = (
    Case("no budget", lambda s: _calls(s, 50)),
    Case("within it", lambda s: _calls(s, 3, stated_max_tokens=10_000)),
)
