"""One log line when the detector is lost and one when it is back, however many parts of us notice."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

log = logging.getLogger("spanward")

BURST: Final = 5
REFILL_S: Final = 60.0
"""A link that flaps gets :data:`BURST` pairs of lines, then one a minute; the others are counted."""


class Outage:
    """The health of one address, shared by all that talk to it. Any thread."""

    def __init__(self, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._address = address
        self._clock = clock
        self._lock = threading.Lock()
        self._failing: set[str] = set()
        self._since = 0.0
        self._tokens = float(BURST)
        self._refilled_at = clock()
        self._announced = False
        self._silent = 0

    def failed(self, part: str, reason: str) -> None:
        """``part`` cannot reach the address. ``reason``: a code, for a person."""
        with self._lock:
            if part in self._failing:
                return
            begins = not self._failing
            self._failing.add(part)
            if not begins:
                return
            now = self._since = self._clock()
            self._tokens = min(BURST, self._tokens + (now - self._refilled_at) / REFILL_S)
            self._refilled_at = now
            self._announced = self._tokens >= 1
            if not self._announced:
                self._silent += 1
                return
            self._tokens -= 1
            silent, self._silent = self._silent, 0
        more = f" ({silent} outages before were not logged)" if silent else ""
        log.warning("spanward: %s does not answer (%s); the agent goes on without it%s", self._address, reason, more)

    def recovered(self, part: str) -> None:
        """``part`` got through."""
        with self._lock:
            if part not in self._failing:
                return
            self._failing.discard(part)
            if self._failing or not self._announced:
                return
            seconds = self._clock() - self._since
        log.info("spanward: %s is back after %.1f s", self._address, seconds)

    def forget(self, part: str) -> None:
        """``part`` has stopped trying."""
        with self._lock:
            self._failing.discard(part)


_outages: dict[str, Outage] = {}


def outage(address: str) -> Outage:
    """The one :class:`Outage` of an address."""
    # setdefault is atomic; addresses are as many as settings, so nothing is ever removed.
    return _outages.setdefault(address, Outage(address))
