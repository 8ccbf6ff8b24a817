"""Every target of the fuzzer, with a few inputs and always the same ones: long runs are ``make fuzz``."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz.target import Target
from fuzz.targets import TARGETS
from fuzz.worker import Probe, mutants

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
INPUTS = 200


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_hostile_input_breaks_a_parser(target: Target) -> None:
    """It is read or refused, by an exception that the target declares, within a second."""
    probe = Probe(target)
    made = itertools.islice(mutants(target, Random(20)), len(target.seeds()), None)
    for data in itertools.islice(made, INPUTS):
        fault, told = probe.give(data)
        assert not fault, f"{told or fault}\n{data[:300]!r}"

    assert probe.inputs == INPUTS


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_good_input_is_not_refused(target: Target) -> None:
    """A target that says no to what is right would never be reached by what is wrong."""
    probe = Probe(target)
    seeds = target.seeds()[:20]
    for data in seeds:
        fault, told = probe.give(data)
        assert not fault, told

    assert probe.refused < max(1, len(seeds))


def test_a_fault_is_seen() -> None:
    """An exception that a target does not declare is a fault; one that it declares is not."""

    def run(data: bytes) -> None:
        if data == b"a":
            raise KeyError(data)
        raise ValueError(data)

    probe = Probe(Target("x", run, lambda: (b"a", b"b"), refusals=(ValueError,)))

    assert probe.give(b"b") == ("", "")
    assert probe.give(b"a")[0].startswith("KeyError at test_fuzz.py")
    assert (probe.inputs, probe.refused, sum(probe.faults.values())) == (2, 1, 1)


def test_the_runner_says_what_it_did() -> None:
    """As JSON, target by target."""
    command = [sys.executable, "-m", "fuzz", "--target", "headers", "--seconds", "1", "--engine", "mutate", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    (target,) = json.loads(done.stdout)["targets"]
    assert done.returncode == 0, done.stderr
    assert (target["target"], target["crashes"], target["hangs"]) == ("headers", {}, {})
    assert target["inputs"] > 100
