"""Child processes for benchmarks: started, waited for by their first line, measured by the kernel's own accounting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time that a process has used so far, all threads."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


@contextmanager
def python(*args: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A Python child that prints one line when it is ready; yields it with that line."""
    child = subprocess.Popen(
        [sys.executable, *args], stdout=subprocess.PIPE, text=True, env={**os.environ, **env}, start_new_session=True
    )
    try:
        assert child.stdout is not None
        line = child.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"{' '.join(args)} ended before it was ready (exit {child.wait(5)})")
        yield child, line
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
