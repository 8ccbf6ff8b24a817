"""What the agents of a run have been given so far: requests, system texts and what tools returned. Bounded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from spanward_detector.model import Step

CAP: Final = 65_536
"""Characters that are kept; what is more goes, oldest first, and from then on nothing is known to be missing."""
LONGEST: Final = 32_768
"""Characters of one text that are kept."""
_TEXTS: Final = 512
_REQUESTS: Final = 8
_CUTS: Final = (
    "[cut ", "[truncated", "<truncated", "(truncated", "…truncated", "... truncated", "[...]", "[…]", "<omitted",
)  # fmt: skip
_GROUPED: Final = ",.'’ \u00a0\u202f"
_EDGES: Final = frozenset({
    128, 256, 512, 1000, 1024, 2000, 2048, 4000, 4096, 8000, 8192, 10_000, 16_384, 32_768,
})  # fmt: skip
"""Lengths at which telemetry cuts values off."""


@dataclass(slots=True)
class Heard:
    """Texts that values may come from.

    Attributes:
        asked: what somebody asked for is among them.
        returned: tools' results among them.
        requests: what people said to the agent that was asked last, latest at the end.
    """

    asked: bool = False
    returned: int = 0
    requests: tuple[str, ...] = ()
    _texts: dict[int, str] = field(default_factory=dict)
    _size: int = 0
    _latest: str | None = None  # the result of the step at hand: nothing in its arguments can come from it
    _lacks: bool = False
    _unread: list[str] = field(default_factory=list)  # nobody has asked yet whether they were cut

    def copy(self) -> Heard:
        """An independent copy."""
        return replace(self, _texts=self._texts.copy(), _unread=self._unread.copy())

    @property
    def partial(self) -> bool:
        """Something was said or returned that is not among the texts, so that no value is known to be new.

        Few steps need to know, and looking through all that is said for marks of a cut costs more than keeping it.
        """
        if not self._lacks:
            self._lacks = any(_is_cut(text) for text in self._unread)
        self._unread.clear()
        return self._lacks

    def tool(self, step: Step) -> None:
        """Take in what a tool returned, from the next step on."""
        self._settle()
        facts = step.result_facts
        if step.result is not None:
            self._latest = step.result
        elif facts is None or facts.size:
            self._lacks = self._lacks or not step.failed
        if step.failed and step.error_text:
            self._keep(step.error_text)

    def model(self, step: Step) -> None:
        """Take in what a model was told."""
        self._settle()
        requests = []
        for role, text in step.said:
            if role == "user":
                requests.append(text)
            self._keep(text)
        if requests:
            self.asked, self.requests = True, tuple(requests[-_REQUESTS:])
        for _, text in step.tool_messages:
            self._keep(text)

    def has(self, value: str) -> bool:
        """Whether a value stands in a text, on its own and in any case."""
        texts = list(self._texts.values())
        if any(_stands(value, text) for text in reversed(texts)):
            return True
        folded = value.lower()
        if any(_stands(folded, text.lower()) for text in reversed(texts)):
            return True
        if value.isascii():
            return False
        escaped = json.dumps(value)[1:-1].lower()
        return any(escaped in text.lower() for text in reversed(texts))

    def told(self, words: str) -> bool:
        """Whether these words stand anywhere in a text."""
        return any(words in text for text in self._texts.values())

    def has_any(self, values: Iterable[str]) -> bool:
        """Whether one of some spellings of a number stands in a text and is not what begins a longer number."""
        texts = self.texts()
        return any(_stands(value, text, _GROUPED) for value in values for text in texts)

    def texts(self) -> list[str]:
        """All texts, the latest first."""
        return list(reversed(self._texts.values()))

    def _settle(self) -> None:
        if (latest := self._latest) is not None:
            self._latest = None
            self.returned += 1
            self._keep(latest)

    def _keep(self, text: str) -> None:
        if not text:
            return
        key = hash(text)
        if key in self._texts:
            return
        if len(text) > LONGEST:
            text, self._lacks = text[:LONGEST], True
        self._texts[key] = text
        self._size += len(text)
        while self._size > CAP or len(self._texts) > _TEXTS:
            self._size -= len(self._texts.pop(next(iter(self._texts))))
            self._lacks = True
        if not self._lacks:
            self._unread.append(text)


def _is_cut(text: str) -> bool:
    return len(text) in _EDGES or any(mark in text for mark in _CUTS)


def _stands(value: str, text: str, separators: str = "") -> bool:
    """Whether a value stands in a text and is no part of a longer word, nor of a number that goes on so."""
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        before, after = text[max(0, at - 1) : at], text[end : end + 1]
        if not before.isalnum() and not after.isalnum():
            apart = not separators or not after or after not in separators
            if apart or not text[end + 1 : end + 4].isdigit():
                return True
        at = text.find(value, at + 1)
    return False
