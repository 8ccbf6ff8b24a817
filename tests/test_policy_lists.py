"""Allow-lists of a policy file against a real detector: the agent's gate keeps them before a call is made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from spanward_detector.server import EmbeddedDetector

from tests.own_process import agent_file, detector_with, play, told

POLICY = """
version: 1
allowed_tools: [look, send]
tools:
  send: {arguments: {to: {allow: ['/.*@example\\.com/', boss], deny: [eve@example.com]}}}
"""

AGENT = """
    import json, sys
    import spanward
    from spanward import run, tool

    if sys.argv[1] == "without_re2":
        sys.modules["re2"] = None
    spanward.instrument_agent()
    done = []

    @tool(side_effect="read")
    def look(q: str) -> str:
        return "seen " + q

    @tool(side_effect="write")
    def send(to: str) -> str:
        done.append(to)
        return "sent"

    @tool(side_effect="write")
    def pay(to: str) -> str:
        done.append("paid " + to)
        return "paid"

    with run("bot", run_id="r"):
        said = [look("a")]  # the first verdict that it waits for comes with the policy
        if sys.argv[1] == "tool":
            said += [pay("boss")]
        elif sys.argv[1] == "argument":
            said += [send("eve@evil.test"), send("eve@example.com"), send("a@example.com")]
        else:
            said += [send("eve@example.com"), send("b@example.com")]
        said += [look("b")]
    print(json.dumps([said, done]))
    spanward.shutdown()
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent's file."""
    return agent_file(tmp_path_factory.mktemp("agent"), AGENT)


@pytest.fixture
def detector(tmp_path: Path) -> Iterator[EmbeddedDetector]:
    """A detector with the policy."""
    with detector_with(POLICY, tmp_path) as running:
        yield running


def test_a_write_that_is_not_listed_never_happens(detector: EmbeddedDetector, script: Path) -> None:
    """The function is not run, the model is told, the run goes on; the detector notes it and orders nothing."""
    (said, done), found = play(detector, script, "tool")

    assert done == []
    assert said[0] == "seen a"
    assert "outside of what this run may do" in said[1]
    assert said[2] == "seen b"
    assert told(found) == {"unsafe_action": ("warning", "observe")}
    assert found["findings"][0]["facts"] == {"tool": "pay", "why": "tool"}
    assert found["directives"] == []
    assert found["state"] == "DONE"


def test_a_write_with_a_forbidden_argument_never_happens(detector: EmbeddedDetector, script: Path) -> None:
    """Content stays home, so that the gate is the only one who can judge the arguments at all."""
    (said, done), found = play(detector, script, "argument")

    assert done == ["a@example.com"]
    assert ["argument to" in text for text in said] == [False, True, True, False, False]
    assert said[3:] == ["sent", "seen b"]
    assert told(found) == {"unsafe_action": ("warning", "observe")}
    assert [finding["facts"]["argument"] for finding in found["findings"]] == ["to", "to"]
    assert found["directives"] == []


def test_an_agent_without_re2_keeps_plain_values(detector: EmbeddedDetector, script: Path) -> None:
    """The base install has none; what only a pattern tells is left to the detector."""
    (said, done), _ = play(detector, script, "without_re2")

    assert done == ["b@example.com"]
    assert "argument to" in said[1]
