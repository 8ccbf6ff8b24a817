"""Which threads a piece of code leaves running, whatever the rest of the process does at that moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def left_running() -> Iterator[list[str]]:
    """Names of the threads that the calling thread started inside the block and that live at its end.

    Counting all threads would not tell: servers and clients of other tests may start theirs at any time.
    """
    mine = threading.get_ident()
    started: list[threading.Thread] = []
    names: list[str] = []
    start = threading.Thread.start

    def recorded(thread: threading.Thread) -> None:
        if threading.get_ident() == mine:
            started.append(thread)
        start(thread)

    with mock.patch.object(threading.Thread, "start", recorded):
        yield names
        names += [thread.name for thread in started if thread.is_alive()]
