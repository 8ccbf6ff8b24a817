"""Cases of ``cost_budget``."""

from tests.detectors.script import Case, Script

PRICES = "models: {m-1: {input: 1000, output: 10000}}"  # 0.3 a call of 100 and 20 tokens
BUDGET = f"{PRICES}\nrules: {{cost_budget: {{max_cost: 1.0}}}}"


def _calls(s: Script, times: int, stated: float = 0.0, model: str = "") -> None:
    for _ in range(times):
        s.llm("x", extra={"max_cost": stated} if stated else {}, model=model)


FIRES = (
    Case("more than the run stated", lambda s: _calls(s, 2, 0.5), (2,), "error", {"limit": 0.5}, policy=PRICES),
    Case("near it, once", lambda s: _calls(s, 3, 1.0), (3,), "warning", {"count": 0.9}, policy=PRICES, mode="observe"),
    Case("more than the policy states", lambda s: _calls(s, 4), (3, 4), "warning", policy=BUDGET),
    Case("a dated name of the model", lambda s: _calls(s, 2, 0.5, "m-1-2026-01-01"), (2,), "error", policy=PRICES),
)
QUIET = (
    Case("no prices", lambda s: _calls(s, 50, 0.01)),
    Case("no budget", lambda s: _calls(s, 50), policy=PRICES),
    Case("within it", lambda s: _calls(s, 3, 100.0), policy=PRICES),
    Case("another model's calls", lambda s: _calls(s, 9, 0.35, "m-12"), policy=PRICES),
)
