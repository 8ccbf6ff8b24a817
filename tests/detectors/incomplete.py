"""Cases of ``incomplete``."""

from typing import Any

from spanward_detector.model import Kind

from tests.detectors.script import ROOT, Case, Script


def check(
    s: Script, name: str, passed: bool | None, *, hard: bool = True, why: str = "", kind: str = "artefact"
) -> None:
    """A validation step as the gate makes it at the end of a run."""
    step = s.decision(f"{name}")
    step.kind = Kind.VALIDATION
    step.extra = {"check": kind, "passed": passed, "hard": hard, "why": why, "closing": kind != "cross_check"}


def _with_check(s: Script, passed: bool | None, ended: str = "completed", **more: Any) -> None:
    s.tool()
    check(s, "artefact report.csv", passed, **more)
    s.agent(run_ended=ended, failed=ended != "completed", error_type="" if ended == "completed" else ended)


def _broken_off(s: Script, how: str, **more: Any) -> None:
    s.tool()
    s.agent(run_ended=how, failed=True, error_type=how, **more)


FIRES = (
    Case(
        "a hard item does not hold",
        lambda s: _with_check(s, False, "incomplete", why="missing"),
        (2,),
        "error",
        {"missing": "artefact report.csv", "why": "missing"},
        mode="act",
    ),
    Case("a soft item does not hold", lambda s: _with_check(s, False, hard=False), (2,), "warning", mode="observe"),
    Case("a hard item could not be told", lambda s: _with_check(s, None, "incomplete", why="raised"), (2,), "error"),
    Case(
        "the run ended by an exception",
        lambda s: _broken_off(s, "ValueError"),
        (0,),
        "error",
        {"why": "exception", "error_type": "ValueError"},
    ),
    Case("somebody stopped it", lambda s: _broken_off(s, "KeyboardInterrupt"), (0,), "warning"),
    Case(
        "a framework's outermost span failed",
        lambda s: (s.tool(), s.agent(failed=True, error_type="openai.BadRequestError")),
        (0,),
        "error",
        {"error_type": "BadRequestError"},
    ),
)
QUIET = (
    Case("every item holds", lambda s: _with_check(s, True)),
    Case("a soft item could not be told", lambda s: _with_check(s, None, hard=False)),
    Case("a run that we ended", lambda s: _broken_off(s, "AgentTerminated")),
    Case("a framework that pauses by an exception", lambda s: _broken_off(s, "GraphInterrupt", control_flow=True)),
    Case("a sub-agent that failed and was made good", lambda s: (s.agent("a" * 16, ROOT, failed=True), s.agent())),
    Case("no checklist", lambda s: (s.tool(), s.agent(run_ended="completed"))),
)
