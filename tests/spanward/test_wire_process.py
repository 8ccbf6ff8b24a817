"""Whole processes: exits, forks, and what they leave on stderr."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spanward.fake_detector import FakeDetector, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

AGENT = """
import os, sys, time
from spanward.control_client import ControlClient
from spanward.spans import step_spans
from tests.spanward.fakes import FakeGate, FakeRun, settings

def step(name, **attributes):
    spans.end(spans.start(name, "internal", attributes), urgent=True)

chosen, gate, run = settings(sys.argv[1]), FakeGate(), FakeRun()
client, spans = ControlClient(chosen, gate), step_spans(chosen)
gate.runs.append(run)
client.register_run(run)
"""


@pytest.fixture
def detector() -> Iterator[FakeDetector]:
    with FakeDetector() as running:
        yield running


def agent(address: str, code: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Runs an agent's process to its end."""
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", AGENT + textwrap.dedent(code), address],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{ROOT}/instrumentation:{ROOT}/proto"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def test_a_process_that_just_ends_loses_nothing(detector: FakeDetector) -> None:
    """Without any shutdown the last spans leave, the detector hears a goodbye, and the exit is quiet and quick."""
    done = agent(
        detector.address,
        """
        assert client.wait_connected(10)
        step("last", **{"spanward.run.id": "r"})
        began = time.monotonic()
        import atexit
        atexit._run_exitfuncs()
        print(time.monotonic() - began)
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) < 0.5
    until(lambda: detector.named("last"))
    until(lambda: [bye.reason for bye in detector.sessions[0].of("goodbye")] == ["shutdown"])


@pytest.mark.parametrize("state", ["absent", "frozen"])
def test_a_process_ends_quickly_whatever_the_detector_does(detector: FakeDetector, state: str) -> None:
    """Absent or frozen, it does not keep the process; at most the one line of the outage is on stderr."""
    code = """
    step("a")
    if sys.argv[1] != "127.0.0.1:1":
        client.wait_connected(0.2)
        step("b")
    began = time.monotonic()
    import atexit
    atexit._run_exitfuncs()
    print(time.monotonic() - began)
    """
    if state == "frozen":
        detector.freeze()
    done = agent("127.0.0.1:1" if state == "absent" else detector.address, code)
    assert done.returncode == 0
    assert float(done.stdout) < 0.9
    assert len(done.stderr.splitlines()) <= 1


def test_killed_by_the_interpreter_in_the_middle_of_everything(detector: FakeDetector) -> None:
    """An exit while streams and calls are busy is clean, run after run."""
    for _ in range(3):
        done = agent(
            detector.address,
            """
            client.wait_connected(10)
            for number in range(200):
                step(str(number))
            raise SystemExit(3)
            """,
        )
        assert (done.returncode, done.stderr) == (3, "")


def test_a_forked_child_is_left_in_peace(detector: FakeDetector) -> None:
    """In a child everything is off and quick, it ends by itself, and the parent goes on as before."""
    began = time.monotonic()
    done = agent(
        detector.address,
        """
        assert client.wait_connected(10)
        step("before")
        assert spans.flush(5)
        for number in range(3):
            child = os.fork()
            if child == 0:
                assert not client.connected
                step("in child")
                assert client.hold("a" * 32, "b" * 16).wait(10).kind == "skipped"
                client.status("d", "applied")
                second = ControlClient(chosen, gate)
                second.register_run(run)
                assert not second.wait_connected(10)
                assert not step_spans(chosen).flush(10)
                client.shutdown(1)
                spans.shutdown(1)
                sys.exit(7)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 7, status
        assert client.connected
        step("after")
        assert spans.flush(5)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 30
    assert [span.name for span in detector.spans] == ["before", "after"]
    assert len(detector.sessions) == 1
    assert "Traceback" not in done.stderr


def test_subprocesses_are_no_forks(detector: FakeDetector) -> None:
    """Tools that run programs work beside an open stream."""
    done = agent(
        detector.address,
        """
        import subprocess
        assert client.wait_connected(10)
        for _ in range(20):
            subprocess.run(["true"], check=True)
        assert client.connected
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_wire_brings_no_grpc() -> None:
    """Both gRPC and the generated protobuf code load on our own threads, when the first run starts."""
    code = "import sys; import spanward.control_client, spanward.sender; print('grpc' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": f"{ROOT}/instrumentation"}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "False"
