"""Cases of ``step_limit``."""

from tests.detectors.script import Case, Script


def _long(s: Script, steps: int, **stated: int) -> None:
    for n in range(steps):
        s.tool(arguments=f'{{"n": {n}}}')
    s.agent(**stated)


FIRES = (
    Case(
        "beyond what the run stated",
        lambda s: _long(s, 5, stated_max_steps=3),
        (4, 5),
        "error",
        {"limit": 3},
        mode="act",
    ),
    Case("beyond what the policy states", lambda s: _long(s, 3), (3,), "error", rules={"max_steps": 2}),
    Case("long, and nobody states a limit", lambda s: _long(s, 20), (16,), "info", mode="observe"),
)
QUIET = (
    Case("as many as stated", lambda s: _long(s, 15, stated_max_steps=15)),
    Case("a healthy long run", lambda s: _long(s, 60)),
)
