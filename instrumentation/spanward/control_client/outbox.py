"""What waits to be told to the detector: bounded, coalesced, and kept over a reconnect where it must not be lost."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, NamedTuple

from spanward.ports import FINAL_STATES, DirectiveOutcome, RunView

ITEMS_MAX: Final = 2048
RESEND_S: Final = 60.0
"""What was handed to gRPC so recently may not have arrived when the stream broke: it is said again. The detector knows
directives and runs by their ids."""
RESEND_MAX: Final = 256


class RunChange(NamedTuple):
    """A run began, changed or ended; changes of one run that wait are told as one."""

    run: RunView
    started: bool = False
    ended: bool = False
    reason: str = ""


Item = RunChange | DirectiveOutcome
Key = tuple[str, str]


def _must_arrive(item: Item) -> bool:
    return item.ended if isinstance(item, RunChange) else item.state in FINAL_STATES


class Outbox:
    """Any thread puts, the stream's own thread takes.

    Attributes:
        changed: guards everything here and is notified whenever the stream has something to look at.
        lost: items given up because the box was full.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.changed = threading.Condition()
        self.lost = 0
        self._clock = clock
        self._items: OrderedDict[Key, Item] = OrderedDict()
        self._sent: deque[tuple[float, Key, Item]] = deque(maxlen=RESEND_MAX)

    def __len__(self) -> int:
        return len(self._items)

    def put_run(self, change: RunChange) -> None:
        """Queues a change of a run."""
        key = ("run", change.run.id)
        with self.changed:
            waiting = self._items.get(key)
            if isinstance(waiting, RunChange):
                change = RunChange(
                    change.run, waiting.started or change.started, waiting.ended or change.ended,
                    change.reason or waiting.reason,
                )  # fmt: skip
            self._put(key, change)

    def put_status(self, outcome: DirectiveOutcome) -> None:
        """Queues the state of a directive."""
        with self.changed:
            self._put((outcome.directive_id, outcome.state), outcome)

    def take(self) -> Item | None:
        """The next item, or None. What must arrive is remembered for :meth:`stream_broke`."""
        with self.changed:
            if not self._items:
                return None
            key, item = self._items.popitem(last=False)
            if _must_arrive(item):
                self._sent.append((self._clock(), key, item))
            return item

    def take_open_runs(self) -> list[RunChange]:
        """All changes of open runs that wait. The end of a run keeps its place behind what was done in it."""
        with self.changed:
            runs = {key: item for key, item in self._items.items() if isinstance(item, RunChange) and not item.ended}
            for key in runs:
                del self._items[key]
        return list(runs.values())

    def stream_broke(self) -> None:
        """Puts back what may have been lost on the way; of open runs the next ``Hello`` tells."""
        with self.changed:
            since = self._clock() - RESEND_S
            for sent_at, key, item in reversed(self._sent):
                if sent_at >= since and key not in self._items:
                    self._items[key] = item
                    self._items.move_to_end(key, last=False)
            self._sent.clear()
            for key, item in list(self._items.items()):
                if isinstance(item, RunChange) and not item.ended:
                    del self._items[key]

    def _put(self, key: Key, item: Item) -> None:
        self._items[key] = item
        if len(self._items) > ITEMS_MAX:
            # The oldest that may be lost goes first.
            victim = next((key for key, item in self._items.items() if not _must_arrive(item)), next(iter(self._items)))
            del self._items[victim]
            self.lost += 1
        self.changed.notify_all()
