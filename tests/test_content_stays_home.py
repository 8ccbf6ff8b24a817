"""With content capture off, which is the default, nothing that was said leaves the agent's process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from spanward_detector.config import ServerConfig
from spanward_detector.server import EmbeddedDetector

from tests.spanward.wiretap import WireTap

SAID = {
    "weather": ("What is the weather", "北京", "26 °C", "21 °C", "cloudy", "temp_c", "unknown city"),
    "loop": ("Which benchmark", "long-context", "A study of"),
    "flaky": ("US dollars", "EURUSD", "1.0842"),
    "malformed": ("Is there a train", "Berlin", "Wien", "free seats"),
    "hung": ("third quarter", '"Q3"', "4.1 million", "stale"),
}
"""What the user asks, what the model writes as arguments and answers, what tools return, by scenario."""


def play(scenario: str, *, capture: bool) -> tuple[WireTap, dict[str, object]]:
    """Run an agent of the demo against a detector, with every byte to it recorded; returns the tap and the ending."""
    with (
        tempfile.TemporaryDirectory() as folder,
        as_file(files("spanward_detector.policy").joinpath("demo.yaml")) as policy,
    ):
        config = ServerConfig(
            grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=Path(folder), policy_path=policy
        )
        with EmbeddedDetector(config) as detector, WireTap(detector.grpc_address) as tap:
            environment = {
                **{k: v for k, v in os.environ.items() if not k.startswith(("SPANWARD_", "OTEL_"))},
                "SPANWARD_ENDPOINT": tap.address,
                "SPANWARD_HOLD_MIN_MS": "2000",
                "SPANWARD_HOLD_MAX_MS": "2000",
                "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": str(capture).lower(),
            }
            done = subprocess.run(
                [sys.executable, "-m", "spanward.demo.agent", scenario],
                env=environment, capture_output=True, text=True, timeout=60, check=True,
            )  # fmt: skip
    return tap, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("scenario", ["weather", *(pytest.param(s, marks=pytest.mark.slow) for s in [*SAID][1:])])
def test_not_one_byte_of_content_leaves_the_process(scenario: str) -> None:
    """Every byte towards the detector is read: no argument, no result, no message; and the repair works."""
    tap, ending = play(scenario, capture=False)

    assert ending["ok"], ending
    assert len(tap.raw) > 2_000  # steps and heartbeats did pass here
    assert [text for text in SAID[scenario] if text in tap] == []


def test_the_tap_would_see_it() -> None:
    """With capture on the same bytes are found, so the test above is not blind."""
    tap, _ = play("weather", capture=True)

    assert "北京" in tap
    assert "temp_c" in tap
