"""What the doctor says of telemetry: which rules can fire, what to set, what is wrong with clocks and parents."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.detectors import DETECTORS
from spanward_detector.doctor import (
    NEEDS,
    SIGNS,
    Census,
    Diagnosis,
    Needs,
    Presence,
    Report,
    Signal,
    Status,
    as_json,
    report,
    take,
)
from spanward_detector.doctor.deadlines import durations, suggested
from spanward_detector.doctor.fixes import CONTENT, OF_CONTENT, OTHERS
from spanward_detector.doctor.needs import standing
from spanward_detector.doctor.signals import Tally, tally
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.normalize import DIALECTS
from spanward_detector.policy import Policy, default, lint, load
from spanward_detector.replay import ReplayError, replay, sources

from tests.detector.otlp import CAPTURES, TRACES, request
from tests.detectors.script import Script

NAMES = [detector.name for detector in DETECTORS]
OURS = {"spanward.run.id": "run-1"}


def files(name: str, *scenarios: str, logs: bool = True) -> list[str]:
    """Files of a capture; of all its scenarios when none is named."""
    return [
        str(path)
        for path in sorted((CAPTURES / name).iterdir())
        if (not scenarios or path.name.partition(".")[0] in scenarios) and (logs or ".logs." not in path.name)
    ]


def examine(names: Sequence[str], policy: Policy | None = None) -> Report:
    """What is said of files."""
    census = Census(policy or default())
    take(sources(names, io.BytesIO()), census)
    return report(census, policy or default())


def one(names: Sequence[str]) -> Diagnosis:
    """What is said of files with one source."""
    (diagnosis,) = examine(names).diagnoses
    return diagnosis


def of_spans(*spans: Mapping[str, object], scope: str = "spanward", path: Path) -> Report:
    """What is said of spans made by hand."""
    file = path / "spans.pb"
    file.write_bytes(request(spans, scope=scope).SerializeToString())
    return examine([str(file)])


def status(diagnosis: Diagnosis, rule: str) -> str:
    """Whether a rule can fire."""
    return next(r.status.value for r in diagnosis.rules if r.rule == rule)


def codes(diagnosis: Diagnosis) -> set[str]:
    """Codes of what is wrong."""
    return {complaint.code for complaint in diagnosis.complaints}


# ------------------------------------------------------------------------------------------------------- the tables


def test_every_rule_says_what_it_needs() -> None:
    """Each detector has a row; what has a row and is no detector is at least a failure type."""
    assert set(NAMES) <= set(NEEDS)
    assert set(NEEDS) - set(NAMES) <= set(FAILURE_TYPES)


def test_every_signal_can_be_counted_and_mended() -> None:
    """Each signal has a row that counts it and a setting that brings it; each dialect has one for content."""
    assert set(SIGNS) == set(Signal)
    assert set(OTHERS) | OF_CONTENT == set(Signal)
    assert all("" in settings for settings in OTHERS.values())
    assert {dialect.DIALECT for dialect in DIALECTS} <= set(CONTENT)


@pytest.mark.parametrize(("name", "scenario"), TRACES)
def test_what_fires_is_never_said_to_be_unable_to(name: str, scenario: str) -> None:
    """On every capture, each rule that finds something is one that the doctor lets fire."""
    own = files(name, scenario)
    fired = {found.finding.rule for found in replay(sources(own, io.BytesIO()), default())}
    cannot = {rule.rule for d in examine(own).diagnoses for rule in d.rules if rule.status is Status.CANNOT}

    assert fired & cannot == set()


def tallies(**there: str) -> dict[Signal, Tally]:
    """Signals that are all there, but for those that are named."""
    return {signal: Tally(Presence(there.get(signal.value, "yes")), 1, 1) for signal in Signal}


@pytest.mark.parametrize("rule", sorted(NEEDS))
def test_with_everything_there_every_rule_can_fire(rule: str) -> None:
    """No row asks for something that cannot be had."""
    assert standing(rule, tallies()).status is Status.CAN


@pytest.mark.parametrize("rule", sorted(NEEDS))
def test_with_nothing_there_only_rules_without_needs_can_fire(rule: str) -> None:
    """A row with needs makes a rule unable, and names them."""
    found = standing(rule, tallies(**{signal.value: "no" for signal in Signal}))
    needs = NEEDS[rule]

    assert (found.status is Status.CANNOT) == bool(needs.all_of)
    assert set(found.missing) == {s for clause in needs.all_of for s in clause} or not needs.all_of


def test_one_of_several_alternatives_is_enough() -> None:
    """A clause holds with its best alternative; what would be better makes it part of the way."""
    assert standing("http_error", tallies(http="no")).status is Status.PARTLY
    assert standing("http_error", tallies(http="no")).missing == (Signal.HTTP,)
    assert standing("silent_error", tallies(tool_calls="no", results="no")).status is Status.PARTLY
    assert standing("hung", tallies(gate="unknown")).status is Status.UNKNOWN
    assert standing("somebody_elses", tallies()).status is Status.UNKNOWN
    assert Needs().all_of == ()


# ------------------------------------------------------------------------------------------------ real instrumentation


@pytest.mark.parametrize(
    ("name", "code", "setting"),
    [
        pytest.param("openai__openai-genai-default", "content_off", "CAPTURE_MESSAGE_CONTENT=SPAN_ONLY", id="genai"),
        pytest.param("openai__openai-v2-default", "content_off", "send log records", id="openai-v2"),
        pytest.param("google-adk__native", "content_off", "gen_ai_latest_experimental", id="adk"),
        pytest.param("openai__openai-genai-default", "no_tool_calls", "`@tool`", id="bare-sdk"),
        pytest.param("openai__openinference", "no_tool_spans", "`@tool`", id="tools-in-messages-only"),
        pytest.param("openai__openai-genai-default", "no_tool_definitions", "SPAN_ONLY", id="definitions"),
        pytest.param("openai-agents__genai", "no_model_calls", "model client", id="no-model-calls"),
        pytest.param("openai-agents__genai", "no_call_ids", "`@tool`", id="no-call-ids"),
        pytest.param("openai-agents__openllmetry", "no_finish_reasons", "model client", id="no-finish-reasons"),
        pytest.param("openai-agents__openllmetry", "no_token_counts", "include_usage", id="no-token-counts"),
    ],
)
def test_what_an_instrumentation_leaves_out(name: str, code: str, setting: str) -> None:
    """The gap is named, with the setting of this very instrumentation."""
    (complaint,) = [c for c in one(files(name)).complaints if c.code == code]

    assert setting in complaint.fix


def test_errors_that_only_results_tell_of(tmp_path: Path) -> None:
    """Tools that fail by returning an error, and never with a status, are pointed out; plain success is not."""
    assert "statuses_never_set" in codes(one(files("langgraph__openinference", "errstr")))
    assert "statuses_never_set" not in codes(one(files("langgraph__openinference", "loop")))
    assert "statuses_never_set" not in codes(one(files("langgraph__openinference", "success")))
    assert one(files("langgraph__openinference", "success")).tallies[Signal.FAILURES].presence is Presence.UNKNOWN


def test_an_instrumentation_with_everything_lacks_only_the_gate() -> None:
    """With content, tools, definitions and tokens, what is missing is what only a gate can give."""
    diagnosis = one(files("langgraph__openinference"))

    unable = {rule.rule: set(rule.missing) for rule in diagnosis.rules if rule.status is Status.CANNOT}

    assert set(unable) >= {"hung", "heartbeat_lost", "stalled", "token_budget"}
    assert set().union(*unable.values()) <= {Signal.GATE, Signal.LIMIT}
    assert "instrument_agent" in diagnosis.remedies[0].setting
    assert set(diagnosis.remedies[0].rules) >= {"hung", "heartbeat_lost", "stalled"}


def test_log_records_that_do_not_come() -> None:
    """An instrumentation that writes content as log records is known by its scope; with them nothing is missing."""
    without = one(files("openai__openai-v2-events", logs=False))
    with_them = one(files("openai__openai-v2-events"))

    assert "no_logs" in codes(without)
    assert "no_logs" not in codes(with_them)
    assert status(without, "silent_error") == "cannot"
    assert status(with_them, "silent_error") == "can"


def test_sources_are_told_apart_by_what_made_their_spans() -> None:
    """Two instrumentations in one call are two sources, though service and dialect are the same."""
    found = examine([*files("openai__openai-v2-default"), *files("langgraph__genai")])

    assert len(found.diagnoses) == 2
    assert [status(d, "silent_error") for d in found.diagnoses] == ["can", "cannot"]


def test_a_limit_of_the_policy_counts(tmp_path: Path) -> None:
    """A token budget that the policy states makes its rule able to fire."""
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nrules:\n  token_budget: {max_tokens: 1000}\n")
    own = files("langgraph__openinference", "loop")

    assert status(examine(own).diagnoses[0], "token_budget") == "cannot"
    assert status(examine(own, load(path)).diagnoses[0], "token_budget") == "can"


# --------------------------------------------------------------------------------------------- our gate, content off


def test_our_gate_with_content_off_lets_most_rules_fire(tmp_path: Path) -> None:
    """Facts and digests stand in for content; only what needs texts cannot work."""
    tool = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "spanward.step.kind": "tool",
        "gen_ai.tool.call.id": "c1", "spanward.payload.digest": "sha256:1", "spanward.facts.arguments.form": "ok",
        "spanward.facts.result.size": 3, "spanward.facts.result.json": False,
    }  # fmt: skip
    model = {
        "gen_ai.operation.name": "chat", "spanward.step.kind": "llm", "gen_ai.usage.input_tokens": 5,
        "gen_ai.response.finish_reasons": ["stop"], "spanward.facts.calls": 0, "spanward.facts.answer.size": 3,
        "spanward.facts.answer.json": False,
    }  # fmt: skip
    (diagnosis,) = of_spans({"attrs": OURS | tool}, {"attrs": OURS | model}, path=tmp_path).diagnoses

    assert "content_off" in codes(diagnosis)
    for rule in ("silent_error", "loop", "invalid_arguments", "schema_violation", "ignored_failure", "hung", "stalled"):
        assert status(diagnosis, rule) == "can", rule
    assert status(diagnosis, "refusal") == "partly"
    assert status(diagnosis, "http_error") in ("can", "partly")


# ------------------------------------------------------------------------------------------------------------ health

SECOND = 1_000_000_000
START = 1_790_000_000 * SECOND
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
GENAI = "opentelemetry.instrumentation.genai.x"


def test_spans_that_end_before_they_start(tmp_path: Path) -> None:
    """They are counted for the whole of what was read, and only for this reading."""
    broken = {"attrs": TOOL, "start": START, "end": START - 5 * SECOND}
    (complaint,) = of_spans(broken, scope=GENAI, path=tmp_path).complaints

    assert (complaint.code, complaint.n, complaint.severity) == ("end_before_start", 1, "error")
    assert of_spans({"attrs": TOOL, "start": START}, scope=GENAI, path=tmp_path).complaints == ()


@pytest.mark.parametrize(("early_s", "told"), [(2.0, True), (0.5, False), (-1.0, False)])
def test_a_child_that_starts_before_its_parent(tmp_path: Path, early_s: float, told: bool) -> None:
    """More than a second is a clock that runs wrong; less is how clocks are."""
    parent = {"id": "a" * 16, "attrs": {"gen_ai.operation.name": "invoke_agent"}, "start": START, "end": START + SECOND}
    child = {"id": "b" * 16, "parent": "a" * 16, "attrs": TOOL, "start": START - round(early_s * SECOND)}
    (diagnosis,) = of_spans(parent, child, scope=GENAI, path=tmp_path).diagnoses

    assert ("clock_skew" in codes(diagnosis)) == told


def test_parents_that_are_not_there(tmp_path: Path) -> None:
    """A span whose parent never came is pointed out, with an example; a root has no parent to miss."""
    (diagnosis,) = of_spans(
        {"id": "b" * 16, "parent": "e" * 16, "attrs": TOOL}, {"id": "c" * 16, "attrs": TOOL}, scope=GENAI, path=tmp_path
    ).diagnoses
    (complaint,) = [c for c in diagnosis.complaints if c.code == "missing_parents"]

    assert (complaint.n, complaint.of, complaint.examples) == (1, 2, ("b" * 16,))


def test_attributes_that_the_sdk_dropped(tmp_path: Path) -> None:
    """A limit in the agent takes from its spans what rules need; the setting that ends it is named."""
    message = request([{"attrs": TOOL}, {"attrs": TOOL}], scope=GENAI)
    message.resource_spans[0].scope_spans[0].spans[1].dropped_attributes_count = 7
    file = tmp_path / "dropped.pb"
    file.write_bytes(message.SerializeToString())
    (diagnosis,) = examine([str(file)]).diagnoses
    (complaint,) = [c for c in diagnosis.complaints if c.code == "dropped_attributes"]

    assert (complaint.n, complaint.of, complaint.examples) == (1, 2, ("0000000000000002",))
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in complaint.fix


def test_holes_in_the_numbers_of_steps(tmp_path: Path) -> None:
    """Steps that our gate numbered and that are not here were lost on the way."""
    numbered = [
        {"attrs": OURS | TOOL | {"spanward.step.kind": "tool", "spanward.step.index": number}} for number in (1, 2, 5)
    ]
    (diagnosis,) = of_spans(*numbered, path=tmp_path).diagnoses
    (complaint,) = [c for c in diagnosis.complaints if c.code == "step_holes"]

    assert (complaint.n, complaint.of) == (2, 5)


# --------------------------------------------------------------------------------------------------------- deadlines


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_suggested_deadline_lies_between_one_and_a_half_and_twice_the_longest(longest_s: float) -> None:
    """Or it is one second, which is the least that makes sense."""
    deadline = suggested(longest_s)

    assert deadline >= 1.5 * longest_s * (1 - 1e-6)
    assert deadline == 1.0 or deadline <= 2 * longest_s * (1 + 1e-6)
    assert deadline >= 1.0


def test_only_normal_calls_have_durations() -> None:
    """Calls that failed, were abandoned, or are seen in messages only do not count."""
    script = Script()
    script.tool("slow", took_s=4)
    script.tool("slow", took_s=2, timeout_s=5.0)
    script.tool("slow", took_s=60, error="TimeoutError")
    script.tool("slow", took_s=50, outcome_unknown=True)
    script.tool("seen", took_s=3, extra={"sighting": "message"})
    (slow,) = durations(script.steps)

    assert slow == ("slow", 2, 3.0, 4.0, 6.0, 5.0)


POLICY = """version: 1
tools:
  slow: {timeout: 5}
  quick: {timeout: 5}
  unknown: {timeout: 1}
"""


def test_lint_holds_deadlines_against_what_calls_normally_take() -> None:
    """A timeout below one and a half times the longest normal call is a warning at its line."""
    (problem,) = lint(POLICY, {"slow": 4.0, "quick": 0.1})

    assert (problem.line, problem.level) == (3, "warning")
    assert "slow" in problem.message
    assert "6" in problem.hint
    assert lint(POLICY) == []


# ------------------------------------------------------------------------------------------------------ odds and ends


def test_a_report_is_plain_data() -> None:
    """The JSON has the keys that scripts rely on, and every rule with its status and fixes."""
    data = as_json(examine(files("google-adk__native")))
    (source,) = data["sources"]  # type: ignore[misc]

    assert set(data) == {"spans", "log_records", "sources", "problems", "deadlines", "durations", "unknowable"}
    assert {rule["rule"] for rule in source["rules"]} == set(NAMES)
    assert all(rule["fixes"] for rule in source["rules"] if rule["status"] == "cannot")
    assert set(source["tools"][0]) == {"tool", "calls", "median_s", "longest_s", "suggest_s", "stated_s"}
    assert set(source["signals"]) == {signal.value for signal in Signal}


def test_spans_of_no_agent_are_no_source(tmp_path: Path) -> None:
    """A web server's spans are counted and nothing is said of rules."""
    found = of_spans({"name": "GET /", "attrs": {"http.request.method": "GET"}}, scope="flask", path=tmp_path)

    assert (found.spans, found.diagnoses) == (1, ())


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """With the file and the reason."""
    (tmp_path / "bad").write_bytes(b"not telemetry")
    with pytest.raises(ReplayError, match="bad"):
        examine([str(tmp_path / "bad")])
    with pytest.raises(ReplayError, match="io"):
        examine([str(tmp_path / "nowhere")])


def test_more_spans_than_make_sense_are_left_out_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not looked at is counted."""
    monkeypatch.setattr("spanward_detector.doctor.census.LIMIT", 5)
    found = examine(files("langgraph__genai", "loop"))

    assert sum(len(d.source.steps) for d in found.diagnoses) == 5
    assert found.unknowable == (f"{found.spans - 5} spans beyond the first ones were not looked at",)


def test_files_of_steps_are_looked_at_too(tmp_path: Path) -> None:
    """Steps that were recorded without spans are a source; their times are no durations."""
    rows = [
        {"trace_id": "t", "step": n, "agent": "a", "kind": "tool", "tool": "look", "input": "{}", "output": "ok"}
        for n in (1, 2)
    ]
    (tmp_path / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    diagnosis = one([str(tmp_path / "steps.jsonl")])

    assert len(diagnosis.source.steps) == 2
    assert diagnosis.tools == ()


def test_standard_input_can_be_read_with_files() -> None:
    """What came by standard input is held, for it is looked at twice."""
    own = files("langgraph__genai", "loop")
    census = Census(default())
    take(sources(["-", *files("langgraph__genai", "success")], io.BytesIO(Path(own[0]).read_bytes())), census)

    assert len(report(census, default()).diagnoses[0].source.runs) == 2


def test_no_step_at_all_tells_nothing() -> None:
    """An empty tally is unknown throughout."""
    assert {seen.presence for seen in tally(()).values()} == {Presence.UNKNOWN}
