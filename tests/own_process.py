"""An agent in a process of its own against a real detector that has a policy of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spanward_detector.config import ServerConfig
from spanward_detector.server import EmbeddedDetector


def agent_file(folder: Path, code: str) -> Path:
    """The agent's file, from indented code."""
    file = folder / "agent.py"
    file.write_text(textwrap.dedent(code))
    return file


@contextmanager
def detector_with(policy: str, folder: Path) -> Iterator[EmbeddedDetector]:
    """A detector with this policy, which settles quickly."""
    file = folder / "policy.yaml"
    file.write_text(policy)
    config = ServerConfig(
        grpc_address="127.0.0.1:0",
        http_address="127.0.0.1:0",
        data_dir=folder / "data",
        policy_path=file,
        settle_s=0.2,
        tick_s=0.1,
    )
    with EmbeddedDetector(config) as running:
        yield running


def play(detector: EmbeddedDetector, script: Path, scenario: str) -> tuple[Any, dict[str, Any]]:
    """Run a scenario; returns what it came to and the run as the API tells it, once it is over."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("SPANWARD_", "OTEL_"))},
        "SPANWARD_ENDPOINT": detector.grpc_address,
        "SPANWARD_HOLD_MIN_MS": "2000",
        "SPANWARD_HOLD_MAX_MS": "2000",
    }
    ran = subprocess.run(
        [sys.executable, str(script), scenario, str(script.parent)],
        env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    deadline = time.monotonic() + 10
    while True:
        with urllib.request.urlopen(f"http://{detector.http_address}/api/runs/r", timeout=5) as answer:
            found = json.load(answer)
        if found["state"] in ("DONE", "FAILED") or time.monotonic() > deadline:
            return json.loads(ran.stdout.splitlines()[-1]), found


def told(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Severity and mode of what was found, by rule."""
    return {finding["rule"]: (finding["severity"], finding["mode"]) for finding in found["findings"]}
