"""Which directives this process has seen: each is executed at most once, however often it is delivered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from spanward.ports import FINAL_STATES, DirectiveOutcome

CAPACITY: Final = 4096


class DirectiveLedger:
    """Bounded memory of directive ids and of what became of them; the oldest final ones are forgotten first."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: OrderedDict[str, DirectiveOutcome] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def claim(self, directive_id: str) -> DirectiveOutcome | None:
        """None for the one caller that may execute it; everybody else gets its state so far."""
        with self._lock:
            if (known := self._known.get(directive_id)) is not None:
                return known
            self._known[directive_id] = DirectiveOutcome(directive_id, "received")
            self._forget()
            return None

    def settle(self, outcome: DirectiveOutcome) -> None:
        """Its final state. The first one stands."""
        with self._lock:
            known = self._known.get(outcome.directive_id)
            if known is None or known.state not in FINAL_STATES:
                self._known[outcome.directive_id] = outcome
                self._forget()

    def outcomes(self) -> Sequence[DirectiveOutcome]:
        """All final ones that are remembered, oldest first."""
        with self._lock:
            return [outcome for outcome in self._known.values() if outcome.state in FINAL_STATES]

    def _forget(self) -> None:
        excess = len(self._known) - self._capacity
        if excess <= 0:
            return
        # One that is being executed now must stay, or its second copy would be executed too.
        final = (key for key, outcome in self._known.items() if outcome.state in FINAL_STATES)
        for key in [key for key, _ in zip(final, range(excess), strict=False)]:
            del self._known[key]
