"""Agent → Collector → detector → directive → agent, and the same trace read back from Jaeger."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real import stack

POLICY = Path(__file__).resolve().parents[2] / "detector_service" / "spanward_detector" / "policy" / "demo.yaml"
Json = dict[str, Any]


@dataclass(frozen=True)
class Loop:
    """The whole stack, running."""

    control: str
    steps: str
    api: str
    jaeger: stack.Jaeger
    home: Path

    def play(self, scenario: str) -> Json:
        """Run an agent of the demo to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "spanward.demo.agent", scenario],
            env=self.env, capture_output=True, text=True, timeout=90, check=True,
        )  # fmt: skip
        return dict(json.loads(done.stdout.splitlines()[-1]))

    @property
    def env(self) -> dict[str, str]:
        return os.environ | {
            "SPANWARD_ENDPOINT": self.control,
            "SPANWARD_SPANS_ENDPOINT": self.steps,
            # The first span of a process has to wait for connections, and this machine may be busy: what is tested here
            # is that the loop closes, not how fast.
            "SPANWARD_HOLD_MIN_MS": "5000",
            "SPANWARD_HOLD_MAX_MS": "5000",
        }

    def run(self, run_id: str, state: str) -> Json:
        """A run, once it has come to a state."""

        def probe() -> Json | None:
            body = stack.get(f"{self.api}/api/runs/{run_id}")
            found: Json = json.loads(body) if body else {}
            return found if found.get("state") == state else None

        return stack.wait_until(probe, f"run {run_id} to be {state}")


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    """A real Collector, detector and Jaeger, as people run them."""
    home: Path = tmp_path_factory.mktemp("loop")
    grpc_port, http_port, *ports = stack.free_ports(8)
    control = f"127.0.0.1:{grpc_port}"
    with (
        stack.jaeger(workdir=home) as jaeger,
        stack.collector(control, jaeger.otlp_grpc, workdir=home, ports=ports) as collector,
        stack.detector(home, grpc_port, http_port, emit_endpoint=collector.otlp_grpc, SPANWARD_POLICY=str(POLICY)),
    ):
        yield Loop(control, collector.otlp_steps, f"http://127.0.0.1:{http_port}", jaeger, home)


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("scenario", "kinds", "state"),
    [
        ("weather", ["feedback"], "DONE"),
        ("loop", ["feedback", "terminate"], "FAILED"),
        ("flaky", ["retry", "retry"], "DONE"),
        ("malformed", ["repair_arguments"], "DONE"),
        ("hung", ["interrupt_call", "fallback"], "DONE"),
    ],
)
def test_the_loop_closes_through_a_real_collector(loop: Loop, scenario: str, kinds: list[str], state: str) -> None:
    """Each failing agent is steered back by what its spans told through the Collector."""
    ending = loop.play(scenario)
    run = loop.run(ending["run_id"], state)

    assert ending["ok"], ending
    assert [d["kind"] for d in run["directives"]] == kinds
    assert {d["state"] for d in run["directives"]} <= {"applied", "verified", "unverified"}


@pytest.mark.timeout(240)
def test_jaeger_shows_steps_findings_directives_and_transitions_in_one_trace(loop: Loop) -> None:
    """The trace of a repaired run holds all that happened, each span once, and the finding below the offending step."""
    ending = loop.play("weather")
    run = loop.run(ending["run_id"], "DONE")
    (trace_id,) = run["trace_ids"]

    def whole() -> list[Json] | None:
        spans: list[Json] = loop.jaeger.spans(trace_id, 1)
        names = [span["operationName"] for span in spans]
        done = "run WAITING_VALIDATION -> DONE" in names and any(n.startswith("outcome ") for n in names)
        return spans if done else None

    spans = stack.wait_until(whole, "the whole trace in Jaeger")
    names = [span["operationName"] for span in spans]
    by_name = {span["operationName"]: span for span in spans}
    tags = {name: span["tags"] for name, span in by_name.items()}
    ids = [span["spanID"] for span in spans]

    assert len(ids) == len(set(ids))  # each is stored once
    assert names.count("invoke_agent weather-agent") == 1
    assert names.count("execute_tool query_weather") == 2
    assert {"detect silent_error", "directive feedback", "chat demo-model"} <= set(names)
    assert {"run IDLE -> RUNNING", "run RUNNING -> WAITING_VALIDATION"} <= set(names)
    assert tags["invoke_agent weather-agent"]["spanward.run.id"] == ending["run_id"]
    assert tags["execute_tool query_weather"]["gen_ai.tool.name"] == "query_weather"
    assert tags["execute_tool query_weather"]["spanward.payload.digest"].startswith("sha256:")
    assert tags["detect silent_error"]["spanward.failure_type"] == "silent_error"
    assert tags["directive feedback"]["spanward.directive.level"] == "L2"
    assert tags["directive feedback"]["spanward.directive.after.digest"]
    (offending,) = [f["span_id"] for f in run["findings"]]
    assert [r["spanID"] for r in by_name["detect silent_error"]["references"]] == [offending]


@pytest.mark.timeout(240)
def test_an_agent_killed_before_it_executes_executes_nothing_later(loop: Loop) -> None:
    """SIGKILL between receipt and execution: the new process is a new run, and the old directive ends, not executed."""
    marks = loop.home / "executed"
    script = (
        "import os, signal, sys, spanward\n"
        "from spanward import ports, runtime\n"
        "spanward.instrument_agent()\n"
        "@spanward.tool(side_effect='read')\n"
        "def look(n):\n"
        "    raise ValueError('no')\n"
        "if sys.argv[1] == 'die':\n"
        "    runtime.Runtime.accept = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with spanward.run('mortal') as run:\n"
        "    print(run.id, flush=True)\n"
        "    text = look(1)\n"
        "    open(sys.argv[2], 'a').write(text)\n"
    )
    first = subprocess.run(
        [sys.executable, "-c", script, "die", str(marks)], env=loop.env, capture_output=True, text=True, timeout=60
    )
    assert first.returncode == -signal.SIGKILL, first.stderr
    assert not marks.exists()
    old = first.stdout.split()[0]
    second = subprocess.run(
        [sys.executable, "-c", script, "live", str(marks)], env=loop.env, capture_output=True, text=True, timeout=60
    )
    new = second.stdout.split()[0]

    def ended() -> Json | None:
        body = stack.get(f"{loop.api}/api/runs/{old}")
        found: Json = json.loads(body) if body else {}
        over = {"expired", "rejected", "failed"}
        return found if found.get("directives") and all(d["state"] in over for d in found["directives"]) else None

    run = stack.wait_until(ended, "the directive of the dead process to end", timeout_s=90)

    assert new != old
    assert marks.read_text().count("[spanward]") == 1  # the new run's own, once
    assert [d["state"] for d in run["directives"]] == ["expired"]
    assert run["state"] != "DONE"  # nobody saw how it ended
