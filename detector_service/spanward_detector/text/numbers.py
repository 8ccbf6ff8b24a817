"""Numbers as people spell them: thousand separators, decimal commas, and what these do to careless readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

_SEPARATORS: Final = (",", ".", " ", "'", "\u00a0", "\u202f", "’")
_DECIMAL: Final = re.compile(r"-?\d{1,15}(?:\.\d{1,6})?")
_WRITTEN: Final = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,4})?|\d{1,12}(?:\.\d{1,6})?)(?!\w)")
_TRIED: Final = 24
_GROUP: Final = 3
_TENS: Final = 1000


def spellings(number: str) -> Iterator[str]:
    """How a number may stand in a text.

    Args:
        number: as JSON writes it, e.g. ``1234.5``; anything else stands only as it is.
    """
    yield number
    if _DECIMAL.fullmatch(number) is None:
        return
    whole, _, part = number.lstrip("-").partition(".")
    part = part.rstrip("0")
    forms = [whole]
    if int(whole) >= _TENS:
        grouped = f"{int(whole):,}"
        forms.extend(grouped.replace(",", separator) for separator in _SEPARATORS)
    for form in forms:
        if not part:
            yield form
        else:
            mark = "," if "." in form else "."
            yield f"{form}{mark}{part}"
            yield f"{form}{',' if mark == '.' else '.'}{part}"


def follows_from(number: str, texts: Iterable[str]) -> bool:
    """Whether a number comes of two numbers in some texts by adding, subtracting, multiplying or dividing.

    Args:
        number: as JSON writes it.
        texts: the latest first; only their first numbers are tried.
    """
    wanted = float(number)
    values = list(islice(dict.fromkeys(v for text in texts for v in _values(text)), _TRIED))
    near = max(0.006, abs(wanted) * 1e-4)
    for at, a in enumerate(values):
        for b in values[at:]:
            if abs(a + b - wanted) < near or abs(abs(a - b) - wanted) < near or abs(a * b - wanted) < near:
                return True
            if a and b and any(abs(share - wanted) < near for share in (a / b, b / a, a / b * 100, b / a * 100)):
                return True
    return False


def _values(text: str) -> Iterator[float]:
    for found in islice(_WRITTEN.finditer(text), _TRIED):
        yield float(found[0].replace(",", ""))


def may_be_cut(number: str) -> bool:
    """Whether a number can be what stands before a thousand separator at all."""
    return _DECIMAL.fullmatch(number) is not None and 0 < int(number.lstrip("-").partition(".")[0]) < _TENS


def cut_short(number: str, text: str) -> bool:
    """Whether a text has a number of which this one is what stands before its thousand separator: 1 for 1,000.

    Args:
        number: as JSON writes it; a decimal part of zeros does not count.
        text: to look in.
    """
    if not may_be_cut(number):
        return False
    whole, _, part = number.partition(".")
    digits = whole if not part.strip("0") else f"{whole}[.]{part.rstrip('0')}"
    grouped = rf"(?<![\d.,]){digits}(?:[,.'’\u00a0\u202f ]\d{{3}}){{1,4}}(?![\d]|[.,]\d{{1,2}}\d{{2}})"
    return re.search(grouped, text) is not None
