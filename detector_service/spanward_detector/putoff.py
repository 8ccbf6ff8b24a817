"""Work that stands in nobody's way: put off while an agent waits, done before anything builds on it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

_log = logging.getLogger(__name__)

REST_S: Final = 0.001
"""From the commit of a directive to the rest: by then it is written to its stream."""
NEWS_S: Final = 0.005
"""Until the start of a run is told: what it does first may be waiting for a verdict."""

Work = Callable[[], None]


class PutOff:
    """Two queues on one event loop, each in order: news, which only tell, and the rest, which changes the state."""

    def __init__(self) -> None:
        self._news: deque[Work] = deque()
        self._rest: deque[Work] = deque()

    def until_told(self, work: Work) -> None:
        """Only tells of what has happened: nobody has to wait for it, nor it for anybody."""
        self._news.append(work)
        asyncio.get_running_loop().call_later(NEWS_S, self.tell)

    def until_committed(self, commit: asyncio.Future[None], work: Work) -> None:
        """Changes the state, and can wait until the commit is through and what it is for has been sent."""
        self._rest.append(work)
        commit.add_done_callback(lambda done: done.get_loop().call_later(REST_S, self.catch_up))

    @property
    def committing(self) -> bool:
        """Something waits for a commit."""
        return bool(self._rest)

    def tell(self) -> None:
        """Do the news."""
        _do(self._news)

    def settle(self) -> None:
        """Do whatever changes the state; costs nothing when nothing does. To be called before the state is used."""
        if self._rest:
            self.catch_up()

    def catch_up(self) -> None:
        """Do everything. To be called before the state is changed from elsewhere."""
        self.tell()
        _do(self._rest)


def _do(queue: deque[Work]) -> None:
    """A fault in one must not cost the others, nor whoever happens to come next."""
    while queue:
        try:
            queue.popleft()()
        except Exception:
            _log.exception("what was put off could not be done")
