"""Tool calls that the model asked for and nobody has been seen making yet.

One call can be sighted three times: in the model's reply, at ``@tool``, and as the tool message of the next request.
Whoever comes first claims it, so that it is one step.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

CAPACITY: Final = 256


class PendingCall(NamedTuple):
    """A call as the model wrote it.

    Attributes:
        call_id: the provider's.
        name: of the tool, as the model spelt it.
        arguments_digest: of the parsed arguments.
        form: one of :data:`spanward.semconv.ARGUMENT_FORMS`.
        raw: the arguments' text; stays in this process.
    """

    call_id: str
    name: str
    arguments_digest: str
    form: str = "ok"
    raw: str | None = None


class PendingCalls:
    """Bounded, thread-safe; the oldest are forgotten first."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._calls: OrderedDict[str, PendingCall] = OrderedDict()

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call_id: str, name: str, arguments_digest: str, form: str = "ok", raw: str | None = None) -> None:
        """The model asked for a call."""
        with self._lock:
            self._calls[call_id] = PendingCall(call_id, name, arguments_digest, form, raw)
            while len(self._calls) > self._capacity:
                self._calls.popitem(last=False)

    def claim(self, name: str, arguments_digest: str) -> PendingCall | None:
        """The oldest call of this tool with these arguments, else the oldest of this tool.

        The second for callers that convert what the model wrote before they call the tool.
        """
        if not self._calls:
            return None
        with self._lock:
            named = [call for call in self._calls.values() if call.name == name]
            exact = (call for call in named if call.arguments_digest == arguments_digest)
            found = next(exact, named[0] if named else None)
            return self._calls.pop(found.call_id) if found else None

    def unclaimed(self, call_id: str) -> PendingCall | None:
        """Takes a call that nobody claimed, when its result is seen in the next request."""
        with self._lock:
            return self._calls.pop(call_id, None)
