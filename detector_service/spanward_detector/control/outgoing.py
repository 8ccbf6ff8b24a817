"""What waits to be written to one agent: bounded, and when it is full the newest orders to stop survive."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from spanward_control.v1 import control_pb2 as pb

from spanward_detector.model import DirectiveKind

Class = Literal["stream", "answer", "directive", "state"]
"""``stream`` holds the stream together and is never dropped (there are only a few); ``answer`` is a hold's answer
without a directive; ``state`` is overtaken by a newer one with the same key."""

URGENT: Final[frozenset[DirectiveKind]] = frozenset({"pause", "terminate", "handover", "deny"})
"""Kinds that stop damage: of these the newest survive a full queue."""


def _nothing() -> None: ...


@dataclass(slots=True)
class Outbound:
    """One message to an agent.

    Attributes:
        key: of a ``state`` message: what it is the state of.
        urgent: it stops damage.
        sent: called once it is handed to the transport.
        dropped: called instead when it never will be, with a reason.
    """

    message: pb.DetectorToAgent
    cls: Class
    key: str = ""
    urgent: bool = False
    sent: Callable[[], None] = _nothing
    dropped: Callable[[str], None] = lambda _reason: None


class ClosedError(Exception):
    """The queue takes and gives no more."""


class Outgoing:
    """A queue with one reader, on one event loop.

    Args:
        limit: messages that may wait.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[Outbound] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._closed = ""

    def __len__(self) -> int:
        return len(self._items)

    def offer(self, item: Outbound) -> None:
        """Add a message; calls ``dropped`` of whatever has to give way, at worst of this one."""
        if self._closed:
            item.dropped(self._closed)
            return
        self._overtake(item)
        self._items.append(item)
        while len(self._items) > self._limit and (victim := self._victim()) is not None:
            self._items.remove(victim)
            victim.dropped("queue_full")
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _overtake(self, item: Outbound) -> None:
        if item.cls != "state":
            return
        for older in self._items:
            if older.cls == "state" and older.key == item.key:
                self._items.remove(older)
                older.dropped("overtaken")
                return

    def _victim(self) -> Outbound | None:
        """The oldest of what is needed least."""
        for wanted in _VICTIMS:
            for item in self._items:
                if (item.cls, item.urgent) == wanted:
                    return item
        return None

    async def get(self) -> Outbound:
        """The oldest message, as soon as there is one.

        Raises:
            ClosedError: there will be none.
        """
        while not self._items:
            if self._closed:
                raise ClosedError(self._closed)
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._items.popleft()

    def close(self, reason: str) -> None:
        """Take no more; what waits is dropped with this reason. Idempotent."""
        self._closed = self._closed or reason
        while self._items:
            self._items.popleft().dropped(self._closed)
        self._wake()


_VICTIMS: Final[tuple[tuple[Class, bool], ...]] = (
    ("answer", False),
    ("state", False),
    ("directive", False),
    ("directive", True),
)
"""Who gives way first. The oldest order to stop gives way only to newer ones."""
