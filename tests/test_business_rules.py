"""Checklist, cross-check, scope and breaker against a real detector, by an agent in a process of its own."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from spanward_detector.server import EmbeddedDetector

from tests.own_process import agent_file, detector_with, play, told

POLICY = """
version: 1
breaker: {failures: 3, open_s: 30}
ladders: {environment_error: [alert], consecutive_errors: [alert], loop: [alert], no_progress: [alert]}
order: [{before: look, after: publish}]
custom:
- {name: no-friday, when: 'step.action == "deploy"', mode: act, severity: error, ladder: [feedback, handover]}
"""

AGENT = """
    import json, sys
    import spanward
    from spanward import run, tool
    from spanward.checklist import artefact, called, that

    spanward.instrument_agent()
    folder = sys.argv[2]

    @tool(side_effect="read")
    def look(q: str) -> str:
        return "seen " + q

    @tool(side_effect="write", cross_check=lambda result, room: False)
    def book(room: str) -> str:
        return "booked"

    @tool(side_effect="write")
    def write_file(path: str) -> str:
        return "written"

    @tool(side_effect="read")
    def publish() -> str:
        return "published"

    @tool(side_effect="write")
    def deploy() -> str:
        return "deployed"

    calls = 0

    @tool(side_effect="read", fallback=lambda n: "from the cache")
    def quote(n: int) -> str:
        global calls
        calls += 1
        raise ConnectionError("down")

    def done():
        with run("bot", run_id="r", checklist=[called("look"), that("soft", lambda: False, hard=False)]):
            return look("a")

    def incomplete():
        with run("bot", run_id="r", checklist=[artefact(folder + "/report.csv"), called("look")]) as r:
            look("a")
        return [c.reason for c in r.checks]

    def broken():
        try:
            with run("bot", run_id="r"):
                look("a")
                raise ValueError("x")
        except ValueError:
            return "raised"

    def contradicted():
        with run("bot", run_id="r"):
            return book("12")

    def outside():
        with run("bot", run_id="r", scope={"paths": [folder]}):
            return write_file("/etc/passwd")

    def unordered():
        with run("bot", run_id="r"):
            return publish()

    def custom():
        with run("bot", run_id="r"):
            return deploy()

    def breaker():
        import time
        said = []
        with run("bot", run_id="r"):
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and len(said) < 200:
                before = calls
                try:
                    said.append(quote(len(said)))
                except ConnectionError:
                    said.append("down")
                if calls == before:  # the gate did not make the call
                    break
        return [calls, said[-1]]

    print(json.dumps(globals()[sys.argv[1]]()))
    spanward.shutdown()
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent's file."""
    return agent_file(tmp_path_factory.mktemp("agent"), AGENT)


@pytest.fixture
def detector(tmp_path: Path) -> Iterator[EmbeddedDetector]:
    """A detector with a policy of its own."""
    with detector_with(POLICY, tmp_path) as running:
        yield running


def test_a_run_whose_checklist_is_met_is_done(detector: EmbeddedDetector, script: Path) -> None:
    """A soft item that does not hold is a warning and no more."""
    _, found = play(detector, script, "done")

    assert found["state"] == "DONE"
    assert told(found) == {"incomplete": ("warning", "observe")}
    assert found["directives"] == []


def test_a_run_whose_checklist_is_not_met_failed(detector: EmbeddedDetector, script: Path) -> None:
    """It ended without an exception, and is not done all the same; nobody is ordered about who is gone."""
    reasons, found = play(detector, script, "incomplete")

    assert reasons == ["missing", ""]
    assert found["state"] == "FAILED"
    assert told(found) == {"incomplete": ("error", "act")}
    assert found["directives"] == []


def test_a_run_that_ended_by_an_exception_failed(detector: EmbeddedDetector, script: Path) -> None:
    """FAILED and incomplete, never DONE."""
    _, found = play(detector, script, "broken")
    deadline = time.monotonic() + 10
    while not found["findings"] and time.monotonic() < deadline:
        with urllib.request.urlopen(f"http://{detector.http_address}/api/runs/r", timeout=5) as answer:
            found = json.load(answer)

    assert found["state"] == "FAILED"
    assert [finding["failure_type"] for finding in found["findings"]] == ["incomplete"]


def test_a_cross_check_that_does_not_agree_is_told_to_the_model(detector: EmbeddedDetector, script: Path) -> None:
    """The tool said "booked", the second source did not find it: the feedback takes the result's place."""
    said, found = play(detector, script, "contradicted")

    assert "book" in said
    assert said != "booked"
    assert told(found)["cross_check"] == ("error", "act")
    assert found["directives"][0]["kind"] == "feedback"


def test_a_call_outside_of_the_scope_is_refused(detector: EmbeddedDetector, script: Path) -> None:
    """At the gate, before it is made; the detector records it."""
    said, found = play(detector, script, "outside")

    assert "outside" in said
    assert told(found) == {"unsafe_action": ("warning", "observe")}


def test_order_and_custom_rules_act(detector: EmbeddedDetector, script: Path) -> None:
    """Both come back to the model as feedback."""
    said, found = play(detector, script, "unordered")

    assert "look" in said
    assert told(found)["order_violation"] == ("error", "act")


def test_a_custom_rule_follows_its_own_ladder(detector: EmbeddedDetector, script: Path) -> None:
    """Feedback first, as the rule says, where the default for custom rules orders nothing."""
    said, found = play(detector, script, "custom")

    assert "no-friday" in said
    assert told(found) == {"custom.no-friday": ("error", "act")}


def test_a_tool_that_is_out_for_all_is_kept_back(detector: EmbeddedDetector, script: Path) -> None:
    """After three failures in a row its breaker opens, and the gate gives the fallback instead of calling."""
    (calls, said), found = play(detector, script, "breaker")

    assert 3 <= calls < 100
    assert said == "from the cache"
    assert "circuit_open" in told(found)
