"""Encoded requests that wait for the peer: bounded by their bytes, the oldest give way."""

from __future__ import annotations

from collections import deque
from typing import Final

from spanward.span_codec import Batch

LIMIT_BYTES: Final = 16 * 1024 * 1024


class Backlog:
    """Not safe by itself: the sender's lock guards it."""

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._batches: deque[Batch] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._batches)

    def keep(self, batch: Batch) -> int:
        """Add a request; how many spans were lost for it."""
        if not batch.spans:
            return 0
        self._batches.append(batch)
        self._bytes += len(batch.payload)
        lost = 0
        while self._bytes > self._limit:
            lost += self.take().spans
        return lost

    def take(self) -> Batch:
        """The oldest; there must be one."""
        batch = self._batches.popleft()
        self._bytes -= len(batch.payload)
        return batch

    def clear(self) -> int:
        """Let all go; how many spans that were."""
        lost = sum(batch.spans for batch in self._batches)
        self._batches.clear()
        self._bytes = 0
        return lost
