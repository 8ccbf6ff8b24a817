"""A policy that is tried beside the live one; and live, shadow and replay that all say the same."""

from __future__ import annotations

import asyncio
import io
import json
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grpc
import pytest
from spanward_detector.config import ServerConfig
from spanward_detector.ingest import decode_logs, decode_traces
from spanward_detector.model import SpanRef, Tick
from spanward_detector.pipeline import Pipeline, Verdict
from spanward_detector.policy import Policy, default, load
from spanward_detector.replay import replay, sources
from spanward_detector.server import EmbeddedDetector, StartError
from spanward_detector.shadow import Key, Shadow, Shadowed

from tests.detector.otlp import CAPTURES, capture, captured_logs
from tests.detector.service_fakes import EXPORT, EXPORT_LOGS

OTHER_LADDERS = "version: 1\nladders:\n  loop: [terminate]\n  tool_error: [handover]\n"
"""The same rules, other orders."""
WAYS = [
    ("crewai__openinference", "errstr"),
    ("google-adk__native-latest", "malformed"),
    ("langgraph__genai", "loop"),
    ("langgraph__langsmith-otel", "malformed"),
    ("langgraph__openllmetry", "errstr"),
    ("openai-agents__openinference", "malformed"),
    ("openai__openai-genai-content", "malformed"),
    ("openai__openai-v2-events", "loop"),
    ("pydantic-ai__native", "errstr"),
    ("smolagents__openinference", "loop"),
    ("strands__native", "malformed"),
    ("vercel-ai__otel", "success"),
]
"""Captures of every dialect: tool spans and none, content in spans, events and log records."""


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A policy with other orders."""
    path = tmp_path / "other.yaml"
    path.write_text(OTHER_LADDERS)
    return path


# ------------------------------------------------------------------------------------------- live = shadow = replay


def replayed(name: str, scenario: str) -> set[Key]:
    """What a replay of the files finds."""
    files = [str(p) for p in sorted((CAPTURES / name).glob(f"{scenario}.*"))]
    return {found.finding.key for found in replay(sources(files, io.BytesIO()), default())}


class Live:
    """A running detector, and what its API says."""

    def __init__(self, embedded: EmbeddedDetector) -> None:
        self._embedded = embedded

    def feed(self, name: str, scenario: str) -> None:
        """Send a capture over OTLP/gRPC: traces, then log records."""
        with grpc.insecure_channel(self._embedded.grpc_address) as channel:
            channel.unary_unary(EXPORT)(capture(name, scenario))
            if logs := captured_logs(name, scenario):
                channel.unary_unary(EXPORT_LOGS)(logs)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://{self._embedded.http_address}{path}") as answer:
            return json.load(answer)

    def runs(self) -> list[Any]:
        """All runs with everything in them."""
        return [self.get(f"/api/runs/{run['run_id']}") for run in self.get("/api/runs")["runs"]]

    def states_of_directives(self) -> set[str]:
        """What became of what was ordered."""
        return {directive["state"] for run in self.runs() for directive in run["directives"]}

    def told(self) -> tuple[set[Key], bool]:
        """Findings of all runs, and whether every run that has ended was judged."""
        found: set[Key] = set()
        settled = True
        for whole in self.runs():
            settled = settled and whole["state"] != "WAITING_VALIDATION"
            found |= {(f["rule"], f["failure_type"], SpanRef(f["trace_id"], f["span_id"])) for f in whole["findings"]}
        return found, settled


@pytest.mark.parametrize(("name", "scenario"), WAYS)
def test_live_shadow_and_replay_find_the_same(name: str, scenario: str, tmp_path: Path, other: Path) -> None:
    """The same capture over OTLP/gRPC, to the shadow beside it and from its file: equal rules, types and spans."""
    expected = replayed(name, scenario)
    shadow = Shadow(load(other))
    config = ServerConfig(
        grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=tmp_path, tick_s=0.05, settle_s=0.05,
        foreign_settle_s=0.1,
    )  # fmt: skip
    with EmbeddedDetector(config, lambda: Shadowed(Pipeline(default()), shadow)) as embedded:
        live = Live(embedded)
        live.feed(name, scenario)
        deadline = time.monotonic() + 10
        while (told := live.told()) != (expected, True) and time.monotonic() < deadline:
            pass
        directives = live.states_of_directives()
        beside = embedded.call(lambda: {key for found in shadow.findings.values() for key in found})

    assert told == (expected, True)
    assert beside == expected
    assert directives <= {"observe_only"}  # nobody is there to obey
    assert bool(expected) == (scenario != "success")


# ------------------------------------------------------------------------------------------------------------ shadow


def spans_of(name: str = "langgraph__genai", scenario: str = "loop") -> list[Any]:
    """Decoded spans of a capture."""
    return decode_traces(capture(name, scenario))


def test_its_directives_go_nowhere(other: Path) -> None:
    """The live policy's directive is returned; the shadow's is counted."""
    shadow = Shadow(load(other))
    verdicts = Shadowed(Pipeline(default()), shadow).spans(spans_of())
    kinds = {v.directive.kind for v in verdicts if v.directive}

    assert "handover" not in kinds
    assert kinds
    assert shadow.counters["directives"] > 0


def test_it_has_thresholds_of_its_own(tmp_path: Path) -> None:
    """A stricter rule finds more in the shadow than live; the tally says who found what."""
    path = tmp_path / "strict.yaml"
    path.write_text("version: 1\nrules:\n  loop: {repeats: 2}\n  tool_error: {mode: observe}\n")
    judge = Shadowed(Pipeline(default()), Shadow(load(path)))
    judge.spans(spans_of())
    tally = judge.tally()

    assert tally["loop", "shadow"] == 1
    assert tally["loop", "both"] == 2
    assert tally["tool_error", "both"] == 4
    assert ("loop", "live") not in tally


class Broken(Pipeline):
    """A pipeline with a fault."""

    def spans(self, spans: Iterable[Any]) -> list[Verdict]:
        raise RuntimeError("a fault")


def test_what_it_raises_stops_nothing() -> None:
    """The live verdicts are there, and the fault is counted."""
    shadow = Shadow(default())
    shadow.pipeline = Broken(default())
    verdicts = Shadowed(Pipeline(default()), shadow).spans(spans_of())

    assert len(verdicts) > 0
    assert shadow.counters["errors"] == 1


async def test_no_hold_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an event loop the live verdicts are returned before the shadow looks; what is too much is left out."""
    monkeypatch.setattr("spanward_detector.shadow.WAITING", 2)
    shadow = Shadow(default())
    judge = Shadowed(Pipeline(default()), shadow)
    for _ in range(3):
        judge.spans(spans_of())
    before = dict(shadow.findings)
    for _ in range(3):
        await asyncio.sleep(0)

    assert before == {}
    assert len(shadow.findings) == 1
    assert shadow.counters["skipped"] == 1


def test_it_sees_log_records_time_and_the_end(other: Path) -> None:
    """Everything that the live pipeline is given goes to the shadow too, so that both find the same."""
    live, shadow = Pipeline(default()), Shadow(load(other))
    judge = Shadowed(live, shadow)
    name, scenario = "openai__openai-v2-events", "loop"
    judge.spans(spans_of(name, scenario))
    judge.logs(decode_logs(captured_logs(name, scenario)))
    (run,) = live.runs
    judge.tick(run.id, Tick(run.last_ns + 1))
    judge.settle(run.id)

    assert {f.key for f in run.findings()} == set(shadow.findings[run.id])
    assert judge.find(run.id) is run
    assert judge.policy is live.policy
    judge.policy = changed = Policy(version="x")
    assert live.policy is changed
    assert shadow.pipeline.policy is not changed


def test_a_run_that_is_forgotten_leaves_nothing_behind() -> None:
    """Findings go with their run."""
    shadow = Shadow(default())
    shadow.pipeline.runs.max_runs = 1
    shadow.show(lambda pipeline: pipeline.spans(spans_of("langgraph__genai", "loop")))
    shadow.show(lambda pipeline: pipeline.spans(spans_of("langgraph__openinference", "loop")))

    assert len(shadow.findings) == 1


def test_it_is_a_setting(tmp_path: Path, other: Path) -> None:
    """With a shadow policy the detector shows in its metrics who found what; a wrong one is a reason not to start."""
    config = ServerConfig(
        grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=tmp_path / "a", shadow_policy_path=other
    )
    with EmbeddedDetector(config) as embedded:
        live = Live(embedded)
        live.feed("langgraph__genai", "loop")
        live.get("/api/runs")
        with urllib.request.urlopen(f"http://{embedded.http_address}/metrics") as answer:
            metrics = answer.read().decode()
    (tmp_path / "bad.yaml").write_text("nonsense: true\n")
    broken = ServerConfig(
        grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=tmp_path / "b",
        shadow_policy_path=tmp_path / "bad.yaml",
    )  # fmt: skip

    assert 'spanward_shadow_findings{by="both",rule="loop"}' in metrics
    assert ServerConfig.from_env({"SPANWARD_SHADOW_POLICY": str(other)}).shadow_policy_path == other
    with pytest.raises(StartError, match="policy"), EmbeddedDetector(broken):
        pass
