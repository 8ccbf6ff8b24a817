"""Stored telemetry: every form of file, judged by itself, with the keys that scripts rely on."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from spanward_detector.policy import default
from spanward_detector.replay import Found, ReplayError, as_json, replay, sources

CAPTURES = Path(__file__).parent.parent / "fixtures" / "spans"
KEYS = [
    "file", "run_id", "trace_id", "span_id", "step", "agent", "action", "rule", "failure_type", "layer", "cause",
    "severity", "mode", "message", "directive", "first_cause",
]  # fmt: skip


def document(name: str = "wrong", error: bool = True, trace: str = "ab" * 16) -> dict[str, object]:
    """One tool call as OTLP/JSON."""
    span = {
        "traceId": trace,
        "spanId": "cd" * 8,
        "name": f"execute_tool {name}",
        "kind": 1,
        "startTimeUnixNano": "1790000001000000000",
        "endTimeUnixNano": "1790000002000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
            {"key": "gen_ai.tool.name", "value": {"stringValue": name}},
            *([{"key": "error.type", "value": {"stringValue": "ValueError"}}] if error else []),
        ],
        "status": {"code": 2} if error else {},
    }
    scope = {"name": "opentelemetry.instrumentation.genai.x"}
    return {"resourceSpans": [{"scopeSpans": [{"scope": scope, "spans": [span]}]}]}


def told(*names: str, stdin: bytes = b"") -> list[Found]:
    """What is found in files."""
    return list(replay(sources(names, io.BytesIO(stdin)), default()))


def test_a_finding_has_the_keys_that_scripts_rely_on(tmp_path: Path) -> None:
    """The flat form has exactly the promised keys, with vocabulary and directive."""
    file = tmp_path / "a.json"
    file.write_text(json.dumps(document()))
    (found,) = told(str(file))
    flat = as_json(found)

    assert list(flat) == KEYS
    assert flat | {
        "file": str(file), "run_id": "ab" * 16, "span_id": "cd" * 8, "step": 1, "action": "wrong", "rule": "tool_error",
        "layer": "runtime", "cause": "action", "severity": "error", "mode": "act",
        "directive": {"kind": "feedback", "level": "L2"},
    } == flat  # fmt: skip


@pytest.mark.parametrize("form", ["json", "pretty", "lines", "gzip"])
def test_every_form_of_file_is_read(tmp_path: Path, form: str) -> None:
    """OTLP/JSON on one line or many, JSON lines, and gzip say the same."""
    data = {
        "json": json.dumps(document()).encode(),
        "pretty": json.dumps(document(), indent=2).encode(),
        "lines": b"".join(json.dumps(document(trace=t * 16)).encode() + b"\n" for t in ("ab", "cd")),
        "gzip": gzip.compress(json.dumps(document()).encode()),
    }[form]
    (tmp_path / "file").write_bytes(data)

    assert {f.finding.failure_type for f in told(str(tmp_path / "file"))} == {"tool_error"}
    assert len(told(str(tmp_path / "file"))) == (2 if form == "lines" else 1)


def test_protobuf_and_json_say_the_same() -> None:
    """A capture as protobuf is judged like its loop, and the standard input is a file too."""
    file = CAPTURES / "langgraph__genai" / "loop.otlp.pb.gz"
    by_name = told(str(file))
    by_stdin = told("-", stdin=file.read_bytes())

    assert {f.finding.failure_type for f in by_name} >= {"loop", "consecutive_errors"}
    assert [(f.finding.key, f.directive and f.directive.kind) for f in by_stdin] == [
        (f.finding.key, f.directive and f.directive.kind) for f in by_name
    ]
    assert {f.file for f in by_stdin} == {"<stdin>"}


def test_files_do_not_know_one_another(tmp_path: Path) -> None:
    """The same trace in two files is judged in each as if the other were not there."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(document()))
    found = told(str(tmp_path / "a.json"), str(tmp_path / "b.json"))

    assert [Path(f.file).name for f in found] == ["a.json", "b.json"]


def test_log_records_complete_the_traces_that_they_belong_to() -> None:
    """Without log records a bare model call says nothing of tools; with them the loop is found, in the trace file."""
    traces = str(CAPTURES / "openai__openai-v2-events" / "loop.otlp.pb.gz")
    logs = str(CAPTURES / "openai__openai-v2-events" / "loop.logs.otlp.pb.gz")

    assert told(traces) == []
    assert {f.finding.failure_type for f in told(logs, traces)} >= {"loop", "silent_error"}
    assert {f.file for f in told(logs, traces)} == {traces}


def test_log_records_under_another_name_find_their_trace(tmp_path: Path) -> None:
    """Names do not matter where the trace ids tell."""
    for name, source in (("traces.gz", "loop.otlp.pb.gz"), ("records.gz", "loop.logs.otlp.pb.gz")):
        (tmp_path / name).write_bytes((CAPTURES / "openai__openai-v2-events" / source).read_bytes())
    found = told(str(tmp_path / "records.gz"), str(tmp_path / "traces.gz"))

    assert {f.finding.failure_type for f in found} >= {"loop"}
    assert {Path(f.file).name for f in found} == {"traces.gz"}


@pytest.mark.parametrize("data", [b"not telemetry", b'{"resourceSpans": [', b"\x1f\x8bxx", b'{"a": 1}'])
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path: Path, data: bytes) -> None:
    """The error names the file and why."""
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(ReplayError) as refused:
        told(str(tmp_path / "bad"))

    assert refused.value.file == str(tmp_path / "bad")
    assert refused.value.reason


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """What is not there is an error like any other."""
    with pytest.raises(ReplayError, match="io"):
        told(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("name", sorted(p.name for p in CAPTURES.iterdir() if p.is_dir()))
def test_a_run_that_went_well_is_quiet(name: str) -> None:
    """No capture of a success has a finding that is more than information, or a directive."""
    folder = CAPTURES / name
    files = [str(p) for p in (folder / "success.otlp.pb.gz", folder / "success.logs.otlp.pb.gz") if p.exists()]

    assert [f.finding for f in told(*files) if f.finding.severity != "info" or f.directive] == []
