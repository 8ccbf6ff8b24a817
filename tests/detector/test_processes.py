"""Exit codes beside results, and other signs that are weighed with them."""

from __future__ import annotations

import pytest
from spanward.facts import foreign_text_tool, result_facts
from spanward_detector.model import HttpAttempt, Kind, SpanRef, Step
from spanward_detector.normalize.processes import EXIT_CODE, exit_code_of
from spanward_detector.outcome import classify


class _Attributes:
    def __init__(self, code: int | None) -> None:
        self.code = code

    def int(self, key: str) -> int | None:
        assert key == EXIT_CODE
        return self.code


class _Span:
    def __init__(self, code: int | None) -> None:
        self.attrs = _Attributes(code)


@pytest.mark.parametrize(
    ("code", "command", "output", "told"),
    [
        (127, "terraform plan", "bash: terraform : commande introuvable", 127),
        (1, "type nomina.txt", "Acceso denegado.", 1),
        (1, "grep -c ERROR app.log", "0", None),
        (1, "diff a b", "< x", None),
        (1, "rm a", "", None),
        (2, "grep x missing.log", "grep: missing.log", 2),
        (101, "cargo test", "5 passed; 2 failed", None),
        (0, "cat errors.txt", "error: none", 0),
        (None, "ls", "a b", None),
    ],
)
def test_exit_codes_that_answer_are_no_failures(code: int | None, command: str, output: str, told: int | None) -> None:
    """Programs that say no by 1, and checks that fail, have worked; other codes count."""
    assert exit_code_of(_Span(code), command, output) == told  # type: ignore[arg-type]


def _step(kind: Kind, **fields: object) -> Step:
    return Step(kind, SpanRef("a" * 32, "b" * 16), None, "r", 1, 2, "genai", "s", "n", **fields)  # type: ignore[arg-type]


def test_failures_are_named_by_what_would_help() -> None:
    """A full disk, a rate limit behind a 403, and too many tokens each have a cure of their own."""
    text = "error Error: ENOSPC: no space left on device, write"
    disk = _step(Kind.TOOL, action="bash", result=text, result_facts=result_facts(text, foreign_text=True, exit_code=1))
    forbidden = HttpAttempt(403, None, "c" * 16, 1, None)
    limited = _step(Kind.TOOL, failed=True, error_text="You have exceeded a secondary rate limit.", http=(forbidden,))
    denied = _step(Kind.TOOL, failed=True, error_text="Not for you.", http=(forbidden,))
    long = _step(
        Kind.LLM,
        failed=True,
        error_text="The input token count (1189034) exceeds the maximum number of tokens allowed (1048576).",
    )

    found = [classify(step).type for step in (disk, limited, denied, long)]

    assert found == ["environment_error", "rate_limited", "auth_error", "context_overflow"]


def test_what_is_done_to_a_page_is_reported_by_the_tool_itself() -> None:
    """Its words are no page's; reading a page stays reading."""
    assert not foreign_text_tool("browser_click")
    assert foreign_text_tool("browser_read_page")
    assert foreign_text_tool("browser")
