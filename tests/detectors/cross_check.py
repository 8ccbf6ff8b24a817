"""Cases of ``cross_check``."""

from spanward_detector.model import Kind

from tests.detectors.script import Case, Script


def _checked(s: Script, passed: bool | None, why: str = "", kind: str = "cross_check") -> None:
    s.tool("book", '{"room": "12"}', "booked")
    step = s.decision("book")
    step.kind = Kind.VALIDATION
    step.extra = {"check": kind, "passed": passed, "hard": True, "why": why, "closing": False}


FIRES = (
    Case(
        "the read after the write does not find it",
        lambda s: _checked(s, False, "false"),
        (2,),
        "error",
        {"sign": "cross_check", "tool": "book"},
        mode="act",
    ),
)
QUIET = (
    Case("the second source agrees", lambda s: _checked(s, True)),
    Case("the second source could not be asked", lambda s: _checked(s, None, "raised")),
    Case("an item of a checklist", lambda s: _checked(s, False, "missing", "artefact")),
)
