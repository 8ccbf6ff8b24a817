"""What was about to be done and what came of it: intent before a call with effects, result before the hold.

In memory it keeps results, so that a finished call is not made twice; in the optional file only names, ids and digests,
so that a process that died leaves "started, outcome unknown" and not silence.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

CAPACITY: Final = 4096
CallState = Literal["started", "ok", "error", "unknown", "cancelled"]


@dataclass(slots=True)
class Entry:
    """One call.

    Attributes:
        arguments_digest: of its canonical arguments.
        state: ``started`` until it is known; ``unknown`` when it was abandoned.
        value: what it returned, in memory only.
    """

    run_id: str
    call_id: str
    tool: str
    arguments_digest: str
    state: CallState = "started"
    result_digest: str = ""
    value: object = None


class Journal:
    """Bounded, thread-safe. A file that cannot be written raises OSError: the caller decides what that means."""

    def __init__(self, path: str = "", capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        # O_APPEND: one write() a line is whole, whoever else writes, and survives the death of the process.
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if path else -1

    def intent(self, entry: Entry) -> None:
        """Before the call. Only for calls with effects."""
        with self._lock:
            self._entries[entry.run_id, entry.call_id] = entry
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        if self._fd >= 0:
            self._write(entry)

    def result(self, entry: Entry, state: CallState, result_digest: str, value: object) -> None:
        """After the call and before anybody waits: what happened is never lost by a cancellation."""
        entry.state, entry.result_digest, entry.value = state, result_digest, value
        if self._fd >= 0:
            self._write(entry)

    def finished(self, run_id: str, call_id: str, arguments_digest: str) -> Entry | None:
        """The entry of this very call when it has already succeeded."""
        entry = self._entries.get((run_id, call_id))
        if entry is not None and entry.state == "ok" and entry.arguments_digest == arguments_digest:
            return entry
        return None

    def forget(self, run_id: str) -> None:
        """The run is over: its results are not kept alive."""
        with self._lock:
            for key in [key for key in self._entries if key[0] == run_id]:
                del self._entries[key]

    def close(self) -> None:
        """Ends the file. Idempotent."""
        with self._lock:
            fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _write(self, entry: Entry) -> None:
        line = {
            "t": time.time_ns(),
            "pid": os.getpid(),
            "run": entry.run_id,
            "call": entry.call_id,
            "tool": entry.tool,
            "arguments": entry.arguments_digest,
            "state": entry.state,
            "result": entry.result_digest,
        }
        os.write(self._fd, json.dumps(line, separators=(",", ":")).encode() + b"\n")


def unfinished(path: str | Path) -> Sequence[Entry]:
    """Calls of a journal file whose outcome is unknown: they started and never ended, or were abandoned.

    Lines that are cut off or are no journal lines are passed over: the last one of a dead process may be.
    """
    open_calls: dict[tuple[str, str], Entry] = {}
    with Path(path).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                row = json.loads(line)
                entry = Entry(row["run"], row["call"], row["tool"], row["arguments"], row["state"], row["result"])
            except (ValueError, KeyError, TypeError):
                continue
            if entry.state in ("started", "unknown"):
                open_calls[entry.run_id, entry.call_id] = entry
            else:
                open_calls.pop((entry.run_id, entry.call_id), None)
    return list(open_calls.values())
