"""Spans that go to the detector on the control stream: a message on an open stream takes a third of a call's time.

Only those that somebody waits for, only where the detector itself is the target of spans, and small ones. They are kept
until the detector says that it has taken them; what it has not when the stream ends goes the usual way. The detector
knows spans by their ids, so twice does no harm.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, NamedTuple

from spanward.ports import SpanSource
from spanward.span_codec import Batch

MAX_BYTES: Final = 64 * 1024
"""Of one message: a larger one would keep verdicts for others waiting."""


class NoSpans:
    """Of a client whose spans go another way."""

    def take(self) -> list[Batch]:
        return []

    def give_back(self, batches: list[Batch]) -> None: ...
    def count_sent(self, spans: int) -> None: ...


class _Away(NamedTuple):
    seq: int
    batch: Batch
    at: float


class Carried:
    """What one stream has carried and the detector has not taken yet. Every method is safe on any thread.

    Args:
        source: where spans come from and go back to.
    """

    def __init__(self, source: SpanSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._away: deque[_Away] = deque()
        self._over = False

    def take(self, seq: int, now: float) -> bytes | None:
        """What is queued, as the request of message ``seq``. None when nothing is, or when it must go another way."""
        first, *rest = self._source.take() or (None,)
        if first is None:
            return None
        if rest or len(first.payload) > MAX_BYTES:
            self._source.give_back([first, *rest])
            return None
        with self._lock:
            if not self._over:
                self._away.append(_Away(seq, first, now))
                return first.payload
        self._source.give_back([first])
        return None

    def taken(self, seq: int) -> None:
        """The detector has dealt with all messages up to this one."""
        arrived = 0
        with self._lock:
            while self._away and self._away[0].seq <= seq:
                arrived += self._away.popleft().batch.spans
        if arrived:
            self._source.count_sent(arrived)

    def recall(self, before: float) -> None:
        """Give back what has been away since before that time, on the clock of :meth:`take`."""
        late: list[Batch] = []
        with self._lock:
            while self._away and self._away[0].at < before:
                late.append(self._away.popleft().batch)
        if late:
            self._source.give_back(late)

    def end(self) -> None:
        """The stream is over. Idempotent."""
        with self._lock:
            self._over = True
        self.recall(float("inf"))
