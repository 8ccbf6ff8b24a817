"""An answer that states what nobody gave."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.text.heard import Heard
from spanward_detector.text.numbers import follows_from, spellings

if TYPE_CHECKING:
    from spanward_detector.run import Run

_CAP: Final = 4_096
_LOOKED_AT: Final = 8
_ADDRESS: Final = re.compile(
    r"https?://[^\s<>()\[\]\"'`]{6,200}|\b[\w.+-]{1,64}@[\w-]{1,64}\.[a-zA-Z.]{2,24}\b"
    r"|\b(?=[A-Z-]{0,12}\d[A-Z-]{0,12}\d[A-Z-]{0,12}\d)(?=\d{0,12}[A-Z])[A-Z0-9][A-Z0-9-]{5,23}\b"
)
"""Addresses and ids: nobody knows those by heart."""
_NUMBER: Final = re.compile(r"(?<![\w.,/:-])\d{1,3}(?:[,.'\u00a0\u202f]\d{3}){1,4}(?:[.,]\d{1,2})?(?![\w/:-])"
                            r"|(?<![\w.,/:-])\d{1,15}(?:[.,]\d{1,4})?(?![\w/:-])")  # fmt: skip
_YEARS: Final = range(1500, 2200)
_SMALL: Final = 100
_LARGE: Final = 10_000
"""From here on a single figure is worth a note."""
_GROUP: Final = 3


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """The final answer states addresses, ids or figures that stand in no request and no result.

    Only in runs that used tools and whose texts are all known. Figures that follow from two others by adding,
    subtracting, multiplying or dividing are given; years and small numbers are not looked at. Less than the thresholds
    is information: one address, or one figure of five digits. With the extra ``[semantic]`` whole sentences are held
    against results by meaning, too: see ``docs/semantic.md``.

    Attributes:
        mode: observe or act.
        addresses: addresses and ids that nobody gave, from which on it is a warning.
        figures: the same for numbers, which must be at least half of the answer's.
    """

    name: ClassVar[str] = "ungrounded"
    failure_types: ClassVar[tuple[str, ...]] = ("ungrounded",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"
    addresses: int = 2
    figures: int = 3

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        heard = run.memory.heard
        if not step.answer or step.n_calls != 0 or run.outcome.type:
            return None
        if not heard.asked or heard.partial or not heard.returned:
            return None
        text = step.answer[:_CAP]
        addresses = sum(not _given(found.rstrip(".,;:!?*_/"), heard) for found in _first(_ADDRESS.findall(text)))
        numbers = [n for n in _first(map(_plain, _NUMBER.findall(_ADDRESS.sub(" ", text)))) if n]
        new = [n for n in numbers if not heard.has_any(spellings(n))]
        if self._worth_telling(new):
            new = [n for n in new if not follows_from(n, heard.texts())]
        if not addresses and not self._worth_telling(new):
            return None
        many = addresses >= self.addresses or (len(new) >= self.figures and len(new) * 2 >= len(numbers))
        severity: Severity = "warning" if many else "info"
        return finding(
            self,
            step,
            run,
            f"the answer states {addresses} addresses or ids and {len(new)} figures that nobody gave",
            severity=severity,
            facts={"addresses": addresses, "figures": len(new), "count": addresses + len(new)},
        )

    def _worth_telling(self, figures: list[str]) -> bool:
        return len(figures) >= self.figures or any(float(n) >= _LARGE for n in figures)


def _first(found: Iterable[str]) -> list[str]:
    return list(islice(dict.fromkeys(found), _LOOKED_AT))


def _given(address: str, heard: Heard) -> bool:
    bare = address.removeprefix("https://").removeprefix("http://").removeprefix("www.")
    return heard.has(bare)


def _plain(number: str) -> str:
    """A number as JSON writes it; "" for one that is not worth a look."""
    *whole, last = digits = re.split(r"[^\d]", number)
    plain = f"{''.join(whole)}.{last}" if whole and len(last) != _GROUP else "".join(digits)
    value = float(plain)
    if value < _SMALL or (value in _YEARS and len(digits) == 1):
        return ""
    return plain
