"""Cases of ``stalled``."""

from tests.detectors.script import Case, in_flight

FIRES = (
    Case(
        "alive and idle",
        lambda s: (s.tool(), s.tick(idle_ms=61_000, heartbeat_age_ms=500, stack=("app.py:9 main",))),
        (0,),
        "warning",
        {"idle_ms": 61_000},
    ),
)
QUIET = (
    Case("not for long", lambda s: s.tick(idle_ms=20_000, heartbeat_age_ms=500)),
    Case("a call is in flight", lambda s: s.tick(in_flight(), idle_ms=90_000, heartbeat_age_ms=500)),
    Case("not heard either", lambda s: s.tick(idle_ms=90_000, heartbeat_age_ms=40_000)),
    Case("no control stream", lambda s: s.tick(idle_ms=90_000)),
    Case("the run is over", lambda s: s.tick(idle_ms=90_000, heartbeat_age_ms=500, run_open=False)),
)
