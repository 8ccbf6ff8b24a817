"""Work beside the path of spans: a few threads and a queue with an end. Nobody waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_log = logging.getLogger(__name__)


class Aside:
    """Threads that are started with the first piece of work.

    Args:
        name: of the threads.
        threads: at most.
        most: pieces of work that are in hand or wait at most.
    """

    def __init__(self, name: str, threads: int, most: int) -> None:
        self._name = name
        self._threads = threads
        self._most = most
        self._lock = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None
        self._waiting = 0
        self._stopped = False

    @property
    def waiting(self) -> int:
        """Pieces of work that are not done."""
        return self._waiting

    @property
    def full(self) -> bool:
        """No more is taken."""
        return self._waiting >= self._most

    def submit(self, work: Callable[[], None]) -> bool:
        """Have something done; False when the queue is full or everything was stopped. Never waits."""
        with self._lock:
            if self.full or self._stopped:
                return False
            self._waiting += 1
            self._workers = self._workers or ThreadPoolExecutor(self._threads, thread_name_prefix=self._name)
            self._workers.submit(self._do, work)
        return True

    def stop(self) -> None:
        """Begin nothing more; what comes of work in hand is lost."""
        with self._lock:
            self._stopped = True
            if self._workers is not None:
                self._workers.shutdown(wait=False, cancel_futures=True)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            if not self._stopped:  # after the end there may be nobody left to tell
                _log.exception("a fault of ours on %s", self._name)
        finally:
            with self._lock:
                self._waiting -= 1
