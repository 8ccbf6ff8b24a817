"""Failures that users of agent frameworks reported, as telemetry: what is to be named, and what must not be touched."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import pytest
from spanward_detector.policy import default
from spanward_detector.replay import Found, replay, sources

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES = FIXTURES / "cases"
CAPTURES = FIXTURES / "spans"

LOOPS = ("loop", "no_progress", "polling_runaway")
FORMS = ("invalid_arguments", "invalid_json", "schema_violation")
FAILED = ("tool_error", "silent_error", "environment_error")


class Case(NamedTuple):
    """One report.

    Attributes:
        name: of its file.
        what: what happens, and what a careful person says of it.
        any_of: failure types of which one has to be found.
        never: directives that would do harm.
    """

    name: str
    what: str
    any_of: tuple[str, ...]
    never: tuple[str, ...] = ("retry",)


WRONG = (
    Case("context-overflow-loop", "compaction itself overflows, again and again", ("context_overflow", "loop")),
    Case(
        "dup-email",
        "a mail was accepted and the response lost: look before sending again",
        ("duplicate_side_effect",),
        ("retry", "repair_arguments"),
    ),
    Case("dup-declared-nonidempotent", "a tool that says it is not idempotent is repeated", ("duplicate_side_effect",)),
    Case("loop-noop-edit", "an edit that changes nothing, over and over", LOOPS),
    Case(
        "loop-compaction",
        "empty summaries and the same files read again: a cycle over kinds of steps",
        (*LOOPS, "empty_output", "context_overflow"),
    ),
    Case("loop-search-block-varying", "each try differs a little and fails in the same way", LOOPS),
    Case("loop-paging-wrap", "the second pass over a file shows no new line", LOOPS),
    Case("loop-final-answer-not-detected", "the harness does not see the answer; the model can do nothing", LOOPS),
    Case("loop-identical-search", "the same search with the same result", LOOPS),
    Case("loop-save-memory", "every call succeeds and nothing moves", LOOPS),
    Case(
        "loop-code-fence-missing",
        "prose where a code block is due, every step",
        ("invalid_json", "schema_violation", "loop", "consecutive_errors"),
    ),
    Case("loop-generic-arg-error", "the error does not say what is wrong", (*FORMS, "loop", "tool_error")),
    Case("loop-poll-runaway", "polling every few seconds without back-off", LOOPS),
    Case("args-nan", "NaN is no JSON, and no value can be made up for it", FORMS),
    Case("args-harness-stringified", "the harness turned an array into text", (*FORMS, "tool_error")),
    Case("args-quoted-int", "a number in quotes", (*FORMS, "tool_error")),
    Case("args-literal-newline", "a real line break inside a string", FORMS),
    Case("args-single-quotes", "single quotes", FORMS),
    Case("args-nested-double-encoded", "one value is JSON in a string, another is a string of digits", FORMS),
    Case("args-lost-to-empty-object", "what could not be parsed became {} and the tool ran", FORMS),
    Case("args-trailing-comma", "a trailing comma", FORMS),
    Case(
        "args-truncated-write-stop",
        "half a file was written though the model said that it had stopped",
        ("truncated_output",),
        ("retry", "repair_arguments"),
    ),
    Case(
        "args-truncated-tool_calls",
        "as many tokens as allowed, whatever the finish reason",
        ("truncated_output",),
        ("retry", "repair_arguments"),
    ),
    Case(
        "fabricated-after-error",
        "statistics out of nowhere after a command that failed",
        ("ungrounded", "ignored_failure", "premature_done"),
    ),
    Case("done-standby", "the task ends with an offer to begin", ("premature_done", "incomplete", "ungrounded")),
    Case("rate-mislabelled", "429, whatever the body calls it", ("rate_limited",), ("terminate",)),
    Case("rate-retry-after-date", "Retry-After as a date", ("rate_limited",), ("terminate",)),
    Case(
        "unsafe-rollback",
        "a rollback that deletes what the agent never made",
        ("unsafe_action",),
        ("retry", "repair_arguments"),
    ),
    Case("block-page", "a block page passed as the page", ("silent_error", "auth_error", "http_error")),
    Case("mcp-iserror-false-text", "an error as text, the flag says success", FAILED),
    Case("mcp-status-error-body", "an error in the body, the envelope says success", FAILED),
    Case("localised-error-de", "a German error text and exit code 1", FAILED),
    Case(
        "http200-error-body",
        "200 with an error in the body",
        ("http_error", "silent_error", "tool_error", "auth_error"),
    ),
    Case("http200-empty-stream", "200 and nothing", ("empty_output",), ("terminate",)),
    Case(
        "otel-gather-lost", "three calls asked for, two spans: lost telemetry, not a lost call", ("telemetry_gap",), ()
    ),
    Case("otel-batch-dropped", "a hole in the numbers of the steps", ("telemetry_gap",), ()),
    Case("mcp-timeout-stall", "a read that timed out", ("timeout", "hung"), ("terminate",)),
    Case("tool-generic-name", "a tool that is nowhere registered", ("unknown_tool",)),
    Case("tool-hidden", "a tool that must be discovered first", ("unknown_tool",)),
    Case("tool-typo", "two letters swapped", ("unknown_tool",)),
)

FINE = (
    Case("fp-file-moves", "names in a cycle, everything else new", ()),
    Case("fp-empty-success", "a command that has nothing to say", ()),
    Case("fp-noarg-empty-string", "no arguments where none are needed", ()),
    Case("fp-apostrophe", "an apostrophe inside valid JSON", ()),
    Case("fp-paging-40-lines", "page after page, as it was told to", ()),
    Case("fp-poll-progress", "the same question, another answer each time", ()),
    Case("fp-parallel-reads", "three files at once", ()),
    Case("fp-sleep-wait", "a long build that comes along", ()),
)

SCENARIOS: dict[str, tuple[tuple[str, ...], ...]] = {
    "success": (),
    "loop": (("loop", "no_progress"), ("tool_error", "consecutive_errors", "silent_error")),
    "errstr": (("silent_error", "tool_error"), ("loop", "no_progress", "consecutive_errors")),
    "malformed": ((*FORMS, "unknown_tool", "tool_error"),),
    "loopraise": (("tool_error",),),
}
"""Scenario of a capture → of each group, one type has to be found."""

NOTHING_TO_SEE = frozenset({"openai__openai-genai-default", "openai__openai-v2-default"})
"""Neither content nor spans of tools: only finish reasons."""
NO_ENDS = frozenset({"google-adk__native"})
"""Spans of tools without content and without a status: that calls repeat can be seen, that they failed cannot."""


def told(*files: Path) -> list[Found]:
    """What is found in files that belong together."""
    return list(replay(sources([str(file) for file in files], io.BytesIO()), default()))


def loud(found: list[Found]) -> list[Found]:
    """Of what was found, that which somebody is told of, or which an order came of."""
    return [f for f in found if f.directive is not None or f.finding.severity != "info"]


def case_file(name: str) -> Path:
    """Where a case is kept."""
    return CASES / f"{name}.otlp.json.gz"


def test_every_file_is_a_case() -> None:
    """What is kept is judged."""
    kept = {path.name.removesuffix(".otlp.json.gz") for path in CASES.iterdir()}

    assert kept == {case.name for case in (*WRONG, *FINE)}


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_what_went_wrong_is_named_and_no_harm_is_done(case: Case) -> None:
    """One of the types that fit is found, and no directive that would make it worse is given."""
    found = told(case_file(case.name))

    assert {f.finding.failure_type for f in found} & set(case.any_of), case.what
    assert not {f.directive.kind for f in found if f.directive is not None} & set(case.never), case.what


@pytest.mark.parametrize("case", FINE, ids=lambda case: case.name)
def test_what_is_fine_is_left_alone(case: Case) -> None:
    """Nobody is told anything, and nothing is ordered."""
    assert loud(told(case_file(case.name))) == [], case.what


@pytest.mark.parametrize(
    "trace", sorted(CAPTURES.glob("*/*.otlp.pb.gz")), ids=lambda p: f"{p.parent.name}-{p.name[:5]}"
)
def test_a_capture_of_a_framework_gets_its_verdict(trace: Path) -> None:
    """Loops, error texts and malformed arguments are found in every dialect; what went well stays silent."""
    scenario = trace.name.split(".")[0]
    instrumented = trace.parent.name
    if trace.name.startswith(f"{scenario}.logs") or (instrumented in NOTHING_TO_SEE and scenario != "success"):
        return
    logs = trace.with_name(trace.name.replace(".otlp", ".logs.otlp"))
    found = told(trace, *((logs,) if logs.exists() else ()))
    types = {f.finding.failure_type for f in found}
    if not SCENARIOS[scenario]:
        assert loud(found) == []
    elif instrumented in NO_ENDS and scenario in ("loop", "errstr"):
        assert types & {"loop", "no_progress"}
    else:
        assert all(types & set(group) for group in SCENARIOS[scenario])
