"""Which traces continue one another: bare model calls make one trace each, and only their message histories tell.

A call continues another when its messages begin with the other's messages and reply. The index answers in either order
of arrival; it is bounded and forgets the oldest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spanward_detector.model import Kind, Step

MAX_ENTRIES: Final = 65_536
PREFIXES: Final = 64
"""Prefixes that are kept of one history, the longest ones: nobody continues a conversation from before those."""
_SHARERS: Final = 8


class Histories:
    """Index of the histories of model calls that have no agent above them."""

    def __init__(self) -> None:
        self._ends: dict[int, str] = {}
        self._prefixes: dict[int, tuple[str, ...]] = {}

    def related(self, step: Step) -> list[str]:
        """Traces that this call continues, or that continue it; the call is entered."""
        history = step.extra.get("history")
        if step.kind is not Kind.LLM or step.parent_id is not None or not isinstance(history, Sequence) or not history:
            return []
        trace_id = step.ref.trace_id
        chain = 0
        prefixes: list[int] = []
        for message in history:
            chain = hash((chain, message))
            prefixes.append(chain)
        reply = step.extra.get("reply")
        found = [self._ends[p] for p in prefixes if p in self._ends]
        if reply:
            # Without its reply a call cannot be told from others that began alike: nobody continues it.
            end = hash((chain, reply))
            found.extend(self._prefixes.get(end, ()))
            self._ends[end] = trace_id
        for prefix in prefixes[-PREFIXES:]:
            sharers = self._prefixes.get(prefix, ())
            if trace_id not in sharers:
                self._prefixes[prefix] = (*sharers, trace_id)[-_SHARERS:]
        for index in (self._ends, self._prefixes):
            while len(index) > MAX_ENTRIES:
                del index[next(iter(index))]
        return list(dict.fromkeys(t for t in found if t != trace_id))
