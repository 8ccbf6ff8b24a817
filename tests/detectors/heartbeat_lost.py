"""Cases of ``heartbeat_lost``."""

from tests.detectors.script import Case

FIRES = (
    Case("silent for half a minute", lambda s: s.tick(heartbeat_age_ms=30_000), (0,), "error", {"age_ms": 30_000}),
    Case("told once", lambda s: [s.tick(heartbeat_age_ms=a) for a in (30_000, 31_000, 99_000)], (0,)),
)
QUIET = (
    Case("heard", lambda s: s.tick(heartbeat_age_ms=900)),
    Case("nobody listens for it", lambda s: s.tick()),
    Case("the run is over", lambda s: s.tick(heartbeat_age_ms=90_000, run_open=False)),
)
