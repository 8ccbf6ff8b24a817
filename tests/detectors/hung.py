"""Cases of ``hung``."""

from tests.detectors.script import Case, in_flight

FIRES = (
    Case(
        "past its own time",
        lambda s: s.tick(in_flight(age_s=3, timeout_s=2)),
        (0,),
        "error",
        {"tool": "look", "age_ms": 3000},
    ),
    Case(
        "past twice its longest",
        lambda s: (s.tool(took_s=20), s.tick(in_flight(age_s=41, interruptible=True))),
        (0,),
        "warning",
    ),
    Case("nothing is known of it", lambda s: s.tick(in_flight(age_s=11)), (0,), "info", mode="observe"),
    Case("far beyond anything", lambda s: s.tick(in_flight(age_s=101)), (0,), "warning", mode="act"),
    Case(
        "it had to be interrupted",
        lambda s: s.tool(error="CallInterrupted", took_s=3),
        (1,),
        "error",
        {"tool": "look", "age_ms": 3000},
    ),
    Case("the same call is told once", lambda s: [s.tick(in_flight(age_s=a, timeout_s=1)) for a in (3, 4, 5)], (0,)),
)
QUIET = (
    Case("young", lambda s: s.tick(in_flight(age_s=1))),
    Case("slow by nature", lambda s: (s.tool(took_s=110), s.tick(in_flight(age_s=150, interruptible=True)))),
    Case("it failed by itself", lambda s: s.tool(error="ValueError")),
    Case("a model that thinks", lambda s: s.tick(in_flight(age_s=90)._replace(kind="llm"))),
    Case("the gate's own timeout is due first", lambda s: s.tick(in_flight(age_s=2.2, timeout_s=2))),
    Case("nothing in flight", lambda s: s.tick(idle_ms=90_000)),
)
