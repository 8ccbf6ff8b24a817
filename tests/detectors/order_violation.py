"""Cases of ``order_violation``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case, Script

ORDER = "order: [{before: check_balance, after: transfer}]"


def _beside(s: Script) -> None:
    s.tool("check_balance", at_s=1, took_s=2)
    s.tool("transfer", at_s=2, took_s=2)


FIRES = (
    Case(
        "never before it",
        lambda s: (s.tool("look"), s.tool("transfer")),
        (2,),
        "error",
        {"tool": "transfer", "before": "check_balance"},
        policy=ORDER,
    ),
    Case(
        "only after it",
        lambda s: (s.tool("transfer"), s.tool("check_balance"), s.tool("transfer", "{}")),
        (1,),
        policy=ORDER,
    ),
    Case(
        "before it, and failed",
        lambda s: (s.tool("check_balance", error="TimeoutError"), s.tool("transfer")),
        (2,),
        policy=ORDER,
    ),
    Case("side by side", _beside, (2,), policy=ORDER),
    Case(
        "asked for by the model, and the gate waits",
        lambda s: s.llm(calls=[ToolCall("1", "look"), ToolCall("2", "transfer")], held=True),
        (1,),
        "error",
        {"tool": "transfer"},
        policy=ORDER,
    ),
)
QUIET = (
    Case("in order", lambda s: (s.tool("check_balance"), s.tool("look"), s.tool("transfer")), policy=ORDER),
    Case("no order is stated", lambda s: s.tool("transfer")),
    Case(
        "the gate did not make the call", lambda s: s.tool("transfer", extra={"refused": "not_approved"}), policy=ORDER
    ),
    Case("the first one alone", lambda s: s.tool("check_balance"), policy=ORDER),
)
