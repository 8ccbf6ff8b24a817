"""Cases of ``polling_runaway``."""

from tests.detectors.script import Case, Script


def _poll(s: Script, times: int, every_s: float, tool: str = "process_poll", result: str = "running") -> None:
    for n in range(times):
        s.tool(tool, arguments='{"id": "p1"}', result=result, took_s=0.1, at_s=n * every_s)


FIRES = (
    Case("every five seconds", lambda s: _poll(s, 11, 4.7), (10, 11), "warning", {"count": 10}),
    Case("told by its result", lambda s: _poll(s, 10, 2, tool="job", result="pending"), (10,)),
)
QUIET = (
    Case("nine times", lambda s: _poll(s, 9, 4.7)),
    Case("once a minute", lambda s: _poll(s, 20, 60)),
    Case("it comes along", lambda s: [s.tool("job_status", result=f"{n} of 20") for n in range(20)]),
    Case("no polling", lambda s: _poll(s, 12, 1, tool="search", result="two hits")),
)
