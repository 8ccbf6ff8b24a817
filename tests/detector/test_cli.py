"""The commands as people and scripts use them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spanward_detector.cli import console
from spanward_detector.config import ServerConfig
from spanward_detector.server import EmbeddedDetector

FIXTURES = Path(__file__).parents[1] / "fixtures" / "spans"
KEYS = {
    "file", "run_id", "trace_id", "span_id", "step", "agent", "action", "rule", "failure_type", "layer", "cause",
    "severity", "mode", "message", "directive",
}  # fmt: skip


def spanward(*args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "spanward_detector", *args], input=stdin, capture_output=True, timeout=60, check=False
    )


def lines(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    """JSON objects that it printed."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def capture(name: str) -> Path:
    """A capture of the fixtures, by the beginning of its path."""
    return next(p for p in sorted(FIXTURES.rglob("*.gz")) if name in str(p) and ".logs." not in p.name)


def test_replay_prints_one_finding_a_line_with_all_its_keys() -> None:
    """Scripts rely on the keys; the exit code is 0 whatever is found."""
    done = spanward("replay", "--json", str(capture("langgraph__openinference/loop")))
    found = lines(done)

    assert done.returncode == 0, done.stderr
    assert found
    assert all(set(one) >= KEYS for one in found)
    assert {one["severity"] for one in found} <= {"info", "warning", "error"}
    assert {"loop", "tool_error"} <= {one["failure_type"] for one in found}
    assert any(one["directive"] and set(one["directive"]) == {"kind", "level"} for one in found)


def test_replay_reads_standard_input_and_gzip_alike() -> None:
    """The same telemetry gives the same findings however it comes."""
    path = capture("langgraph__openinference/loop")
    by_file = lines(spanward("replay", "--json", str(path)))
    piped = lines(spanward("replay", "--json", "-", stdin=gzip.decompress(path.read_bytes())))

    assert [{**one, "file": ""} for one in by_file] == [{**one, "file": ""} for one in piped]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"garbage\n", b"byte 0", id="neither JSON nor protobuf"),
        pytest.param(b'{"resourceSpans": [', b"json", id="JSON that ends too soon"),
        pytest.param(None, b"No such file", id="no such file"),
    ],
)
def test_what_cannot_be_read_exits_with_2_and_says_where(tmp_path: Path, content: bytes | None, said: bytes) -> None:
    """Reason and position stand on standard error."""
    path = tmp_path / "trace.json"
    if content is not None:
        path.write_bytes(content)
    done = spanward("replay", "--json", str(path))

    assert done.returncode == 2
    assert said.lower() in done.stderr.lower()
    assert b"Traceback" not in done.stderr


def test_runs_export_and_tail_agree_on_an_empty_store(tmp_path: Path) -> None:
    """Nothing has run yet: each says so, and what to do next."""
    config = ServerConfig(grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=tmp_path)
    with EmbeddedDetector(config) as detector:
        url = f"http://127.0.0.1:{detector.http_port}"
        shown, listed, missing = (spanward("runs", "--url", url, *more) for more in ((), ("--json",), ("nope",)))
        tailed = spanward("tail", "--once", "--json", "--url", url)
    exported = spanward("export", "--data-dir", str(tmp_path))

    assert b"spanward demo" in shown.stdout
    assert (listed.stdout, tailed.stdout, exported.stdout) == (b"", b"", b"")
    assert (missing.returncode, exported.returncode) == (1, 0)


def test_no_detector_is_told_in_words() -> None:
    """A wrong address is no traceback."""
    done = spanward("runs", "--url", "http://127.0.0.1:9")

    assert done.returncode == 2
    assert b"spanward up" in done.stderr


def test_policy_lint_tells_line_and_remedy(tmp_path: Path) -> None:
    """Exit 1 for a policy that is refused, 0 for a sound one."""
    bad, good = tmp_path / "bad.yaml", tmp_path / "good.yaml"
    bad.write_text("version: 1\nladders:\n  lop: [feedback]\n")
    good.write_text("version: 1\n")
    refused, sound = spanward("policy", "lint", "--json", str(bad)), spanward("policy", "lint", str(good))

    assert (refused.returncode, sound.returncode) == (1, 0)
    assert [(p["line"], p["level"]) for p in lines(refused)] == [(3, "error")]
    assert "loop" in lines(refused)[0]["hint"]


@pytest.mark.slow
def test_demo_prints_one_object_a_scenario() -> None:
    """The fixed form of the demo's output, on the scenario that is quickest."""
    done = spanward("demo", "--json", "weather")
    (told,) = lines(done)

    assert done.returncode == 0, done.stderr
    assert set(told) == {"scenario", "ok", "findings", "directives", "outcome"}
    assert (told["scenario"], told["ok"], told["outcome"]) == ("weather", True, "DONE")
    assert [f["failure_type"] for f in told["findings"]] == ["silent_error"]
    assert [set(d) for d in told["directives"]] == [{"kind", "level", "state", "latency_ms"}]
    assert told["directives"][0]["latency_ms"] > 0


@pytest.mark.slow
def test_demo_without_shows_the_failure() -> None:
    """The same agent without Spanward ends wrong; that is what the option is for, so the exit code is 0."""
    done = spanward("demo", "--json", "--without", "weather")

    assert done.returncode == 0
    assert [(told["ok"], told["directives"]) for told in lines(done)] == [(False, [])]


def test_the_base_install_says_what_to_install() -> None:
    """Without the detector's packages the command exits with 2 and names the extra."""
    code = "import sys; sys.modules['typer'] = None\nfrom spanward_detector.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode == 2
    assert "pip install 'spanward[detector]'" in done.stderr


def test_a_command_loads_only_what_it_needs() -> None:
    """Looking at runs starts without detectors and policies; help knows all commands."""
    code = (
        "import sys; from spanward_detector.cli.app import COMMANDS, make_app; make_app(['runs', 'r1']); "
        "print(sorted({'spanward_detector.pipeline', 'spanward_detector.policy'} & sys.modules.keys())); "
        "app = make_app(['--help']); "
        "print({c.name for c in app.registered_commands} | {g.name for g in app.registered_groups} == set(COMMANDS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.split() == ["[]", "True"]


def test_brackets_in_what_is_wrong_are_shown() -> None:
    """Names of extras and lists to write are no markup."""
    with console.err.capture() as shown, pytest.raises(SystemExit) as ended:
        console.fail("write [a, b]", "pip install 'spanward[detector,semantic]'")

    assert ended.value.code == 2
    assert "write [a, b]" in shown.get()
    assert "'spanward[detector,semantic]'" in shown.get()
