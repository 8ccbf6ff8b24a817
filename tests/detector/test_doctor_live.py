"""The doctor as a command: files, a running detector, a policy; and what stored steps can tell."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import typer
from spanward.facts import AnswerFacts, ArgumentsFacts, ResultFacts
from spanward_detector.cli.doctor import doctor
from spanward_detector.cli.policy import app as policy_app
from spanward_detector.doctor import Presence, Signal
from spanward_detector.doctor.live import NOT_STORED, report, step_of
from spanward_detector.model import HttpAttempt, Kind, Step, ToolCall
from spanward_detector.policy import default
from spanward_detector.server import EmbeddedDetector
from spanward_detector.store.statements import COLUMNS, step_row
from typer.testing import CliRunner, Result

from tests.detector.otlp import CAPTURES
from tests.detector.service_fakes import EXPORT, make_step

APP = typer.Typer()
APP.command()(doctor)
LOOP = CAPTURES / "langgraph__genai" / "loop.otlp.pb.gz"


def run(*words: str) -> Result:
    """The command."""
    return CliRunner().invoke(APP, list(words), terminal_width=200)


def stored(step: Step) -> dict[str, Any]:
    """A step as the API shows it."""
    record = dict(zip(COLUMNS["steps"], step_row(step), strict=True))
    record["facts"] = json.loads(str(record.pop("facts_json")))
    return record


@pytest.fixture(scope="module")
def detector() -> Iterator[EmbeddedDetector]:
    """A running one that has seen a capture."""
    with EmbeddedDetector() as running:
        with grpc.insecure_channel(running.grpc_address) as channel:
            channel.unary_unary(EXPORT)(gzip.decompress(LOOP.read_bytes()))
        yield running


# ------------------------------------------------------------------------------------------------------- stored steps


def test_a_stored_step_comes_back_as_far_as_it_is_stored() -> None:
    """Facts, digests, calls and requests are the same; texts are not there."""
    step = make_step(
        action="search", failed=True, error_type="ValueError", arguments='{"a": 1}', arguments_digest="sha256:1",
        result_facts=ResultFacts(5, False, True, error="field", signature="ab"),
        arguments_facts=ArgumentsFacts("malformed", ("fences",)), http=(HttpAttempt(500, None, "ab", 1, None),),
    )  # fmt: skip
    model = make_step(
        kind=Kind.LLM, calls=(ToolCall("c1", "search", "{}", "ok"),), n_calls=1, answer_facts=AnswerFacts(3, False)
    )
    back, model_back = step_of(stored(step), "svc"), step_of(stored(model))

    assert back is not None
    assert model_back is not None
    assert (back.result_facts, back.arguments_facts, back.arguments_digest) == (
        step.result_facts, ArgumentsFacts("malformed", ["fences"]), "sha256:1",  # type: ignore[arg-type]
    )  # fmt: skip
    assert (back.arguments, back.service, back.failed, back.http[0].status) == (None, "svc", True, 500)
    assert model_back.answer_facts == AnswerFacts(3, False, claims=[])  # type: ignore[arg-type]
    assert model_back.calls == (ToolCall("c1", "search", None, "ok"),)
    assert model_back.n_calls == 1


def test_a_kind_of_a_later_release_is_passed_over() -> None:
    """What is not known here is no step."""
    assert step_of({"kind": "dream"}) is None
    assert step_of({}) is None


def test_what_is_not_stored_is_unknown_and_never_said_to_be_missing() -> None:
    """No rule is said to be unable to fire for want of something that the store does not keep."""
    steps = [stored(make_step(dialect="genai")), stored(make_step(kind=Kind.LLM, dialect="genai"))]
    run_record = {"run_id": "r", "service": "svc", "steps": steps}
    for record in steps:
        record["trace_id"] = "ab" * 16
    (diagnosis,) = report([run_record], default()).diagnoses

    assert all(diagnosis.tallies[signal].presence is Presence.UNKNOWN for signal in NOT_STORED)
    assert not any(set(rule.missing) & NOT_STORED for rule in diagnosis.rules if rule.status == "cannot")
    assert diagnosis.tallies[Signal.GATE].presence is Presence.NO


def test_a_control_stream_is_proof_of_the_gate() -> None:
    """A run that a process has registered has a gate, even if only foreign steps were stored of it."""
    run_record = {"run_id": "r", "instance_id": "i", "steps": [stored(make_step(dialect="genai"))]}
    (diagnosis,) = report([run_record], default()).diagnoses

    assert diagnosis.tallies[Signal.GATE].presence is Presence.YES


# ------------------------------------------------------------------------------------------------------------ commands


def test_live_asks_a_running_detector(detector: EmbeddedDetector) -> None:
    """It finds the source that the detector has seen, says what it cannot know, and claims nothing of texts."""
    done = run("--live", "--url", f"http://{detector.http_address}", "--json")
    data = json.loads(done.stdout)
    (source,) = data["sources"]

    assert done.exit_code == 0
    assert (source["dialects"], source["runs"]) == (["genai"], 1)
    assert source["signals"]["results"]["presence"] == "unknown"  # every call failed
    assert source["signals"]["failures"]["presence"] == "yes"
    assert data["unknowable"]


def test_live_without_a_detector_says_how_to_start_one() -> None:
    """Exit code 2 and one line that helps."""
    done = run("--live", "--url", "http://127.0.0.1:9")

    assert done.exit_code == 2
    assert "spanward up" in done.output


def test_a_person_sees_the_rules_the_settings_and_the_deadlines() -> None:
    """The table names rules and what they lack; below it stands what to set."""
    done = run(*(str(p) for p in sorted((CAPTURES / "google-adk__native").iterdir())))

    assert done.exit_code == 0
    assert "cannot" in done.output
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY" in done.output
    assert "get_weather" in done.output


def test_with_nothing_to_look_at_it_says_what_to_do_next(tmp_path: Path) -> None:
    """An empty file, spans of no agent and log records alone each get their own advice."""
    (tmp_path / "empty.json").write_text('{"resourceSpans": []}')
    log = {"timeUnixNano": "1", "body": {"stringValue": "x"}}
    (tmp_path / "logs.json").write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}))
    web = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "GET /", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    (tmp_path / "web.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [web]}]}]}))

    assert "spanward demo" in run(str(tmp_path / "empty.json")).output
    assert "traces too" in run(str(tmp_path / "logs.json")).output
    assert "instrument_agent" in run(str(tmp_path / "web.json")).output


def test_it_wants_files_or_a_detector(tmp_path: Path) -> None:
    """Neither, both, and a file that cannot be read end with code 2."""
    (tmp_path / "bad").write_bytes(b"not telemetry")

    assert run().exit_code == 2
    assert run("--live", str(LOOP)).exit_code == 2
    assert run(str(tmp_path / "bad")).exit_code == 2


def test_deadlines_of_a_policy_are_held_against_the_durations(tmp_path: Path) -> None:
    """Both the doctor and the policy's lint say so, the lint from what the doctor wrote."""
    from tests.detector.otlp import request

    second = 1_000_000_000
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "slow"}
    spans = [{"attrs": call, "start": 1_790_000_000 * second, "end": 1_790_000_008 * second}]
    (tmp_path / "traces.pb").write_bytes(
        request(spans, scope="opentelemetry.instrumentation.genai.x").SerializeToString()
    )
    (tmp_path / "policy.yaml").write_text("version: 1\ntools:\n  slow: {timeout: 9}\n")
    told = run(str(tmp_path / "traces.pb"), "--policy", str(tmp_path / "policy.yaml"), "--json").stdout
    (tmp_path / "seen.json").write_text(told)
    words = ["lint", str(tmp_path / "policy.yaml"), "--durations", str(tmp_path / "seen.json"), "--json"]
    linted = CliRunner().invoke(policy_app, words)

    (deadline,) = json.loads(told)["deadlines"]
    assert deadline["line"] == 3
    assert json.loads(told)["durations"] == {"slow": 8.0}
    assert json.loads(linted.stdout)["message"] == deadline["message"]
    assert linted.exit_code == 0
    assert CliRunner().invoke(policy_app, [*words[:3], str(tmp_path / "policy.yaml")]).exit_code == 2
