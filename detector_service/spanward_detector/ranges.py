"""Which parts of something an agent has read already, from calls that page through it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_FROM: Final = re.compile(
    r'"(?:offset|start|start_line|from|from_line|line_start|skip|begin)"\s{0,4}:\s{0,4}(\d{1,12})\b'
)
_TO: Final = re.compile(r'"(?:end|end_line|to|to_line|line_end)"\s{0,4}:\s{0,4}(\d{1,12})\b')
_LENGTH: Final = re.compile(r'"(?:limit|length|count|n|size|num_lines|lines)"\s{0,4}:\s{0,4}(\d{1,12})\b')
_CAP: Final = 1024
_TARGETS: Final = 32
_SPANS: Final = 64


class Page(NamedTuple):
    """One range of one target, ends included."""

    target: str  # the arguments without the numbers
    first: int
    last: int


@dataclass(slots=True)
class Ranges:
    """Ranges read, merged, per tool and target. Bounded: the oldest target is forgotten first."""

    read: dict[tuple[str, str], tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @staticmethod
    def of(arguments: str) -> Page | None:
        """The page that a call asks for; None when it does not page."""
        if len(arguments) > _CAP or (start := _FROM.search(arguments)) is None:
            return None
        first = int(start[1])
        if (end := _TO.search(arguments)) is not None:
            last = int(end[1])
        elif (length := _LENGTH.search(arguments)) is not None:
            end, last = length, first + int(length[1]) - 1
        else:
            return None
        low, high = sorted((start.span(), end.span()))
        target = arguments[: low[0]] + arguments[low[1] : high[0]] + arguments[high[1] :]
        return Page(target, first, last) if last >= first else None

    def covers(self, tool: str, page: Page) -> bool:
        """True when every part of the page was read before."""
        return any(first <= page.first and page.last <= last for first, last in self.read.get((tool, page.target), ()))

    def add(self, tool: str, page: Page) -> None:
        key = (tool, page.target)
        merged: list[tuple[int, int]] = []
        for first, last in sorted((*self.read.pop(key, ()), (page.first, page.last))):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self.read[key] = tuple(merged[-_SPANS:])
        if len(self.read) > _TARGETS:
            del self.read[next(iter(self.read))]

    def copy(self) -> Ranges:
        return Ranges(self.read.copy())
