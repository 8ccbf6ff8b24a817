"""Instructions to the model inside what a tool returned: words in several languages, forged markup, hidden text.

Deterministic and wary: a page about attacks, a manual and a program all speak of instructions, so what counts is an
order to the reader, not a subject. Text is first tried for a few stems; only what has one is looked at closely. All
repetitions in patterns are bounded.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from spanward.facts.injection_phrases import ENGLISH, LATIN, OTHER, Phrase

EDGE: Final = 32_768
"""Characters that are looked at, from either end of a result."""
_TAGS: Final = 8
_SELECTORS: Final = 8
_ZERO_WIDTH: Final = 24

_BEFORE, _AFTER = 200, 320
"""Characters around a stem in which a phrase lies, longer than any phrase."""
_NEAR: Final = 4
"""Stems of one kind around which is looked; in a text with more of them it is looked everywhere."""


_ASCII: Final = ENGLISH + LATIN
STEMS: Final = frozenset(stem for phrase in _ASCII for stem in phrase.stems)
"""A text in ASCII that has none of these, in any case, is no injection."""
BITS: Final = (
    "<", "ignor", "instru", "prompt", "are ", "ou can", "he user", "anweisung", "disregard", "orget e", "read this",
    "ing this:", "note ", "ttention ", "i:", "ou must", "e you to", "ed to", "your developer", "now on", "[inst",
    "[system", "end of ",
)  # fmt: skip
"""Each of :data:`STEMS` has one of these, and they are fewer."""
_BY_BIT: Final = {
    bit: tuple(
        (stem, phrase) for phrase in _ASCII for stem in phrase.stems if bit == next(b for b in BITS if b in stem)
    )
    for bit in BITS
}

_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_FLAG: Final = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
_HIDDEN: Final = re.compile(
    f"[\U000e0020-\U000e007e]{{{_TAGS}}}"
    f"|[\U000e0100-\U000e01ef]{{{_SELECTORS}}}|[\ufe00-\ufe0f]{{{_SELECTORS}}}"
    f"|[\u200b\u200c\u200d\u2060-\u2064\ufeff]{{{_ZERO_WIDTH}}}"
)
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
_DRESSED: Final = re.compile("[\uff21-\uff5a\U0001d400-\U0001d7ff]")
_MIXED: Final = re.compile(r"[a-z][а-яіѕј]|[а-яіѕј][a-z]")
_LOOKALIKES: Final = str.maketrans("аеорсхуіѕј", "aeopcxyisj")
_BEYOND_LATIN: Final = re.compile(
    "[\u00ad\u200b-\u2064\ufeff\uff21-\uff5a\u0400-\u04ff\ufe00-\ufe0f\U0001d400-\U000e01ef]"
)


def injection_in(text: str) -> str:
    """Name of the pattern by which a tool's result reads like instructions to the model; "" when it does not.

    Args:
        text: of the result. Only its first and last :data:`EDGE` characters are looked at.

    Returns:
        One of :data:`spanward.semconv.INJECTION_SIGNS`, or "".
    """
    if len(text) > 2 * EDGE:
        text = f"{text[:EDGE]}\n{text[-EDGE:]}"
    if "\\u" in text:
        text = _unescaped(text)
    if text.isascii():
        return _first_ascii(text.lower())
    if _BEYOND_LATIN.search(text) is not None:
        if (hidden := _HIDDEN.search(text)) is not None and _HIDDEN.search(_FLAG.sub("", text), hidden.start() // 8):
            return "hidden_text"
        text = _plain(text)
    lower = text.lower()
    if (sign := _first_ascii(lower) or _first(OTHER, lower)) or _MIXED.search(lower) is None:
        return sign
    return _first_ascii(lower.translate(_LOOKALIKES))


def _first_ascii(lower: str) -> str:
    for bit, stems in _BY_BIT.items():
        if bit in lower:
            for stem, phrase in stems:
                if stem in lower and _found(phrase.pattern, stem, lower):
                    return phrase.sign
    return ""


def _first(phrases: tuple[Phrase, ...], lower: str) -> str:
    for phrase in phrases:
        for stem in phrase.stems:
            if stem in lower and _found(phrase.pattern, stem, lower):
                return phrase.sign
    return ""


def _found(pattern: re.Pattern[str], stem: str, lower: str) -> bool:
    at = lower.find(stem)
    for _ in range(_NEAR):
        if pattern.search(lower, max(0, at - _BEFORE), at + _AFTER) is not None:
            return True
        at = lower.find(stem, at + _AFTER - _BEFORE)
        if at < 0:
            return False
    return pattern.search(lower, at - _BEFORE) is not None


def _unescaped(text: str) -> str:
    """JSON's escapes of characters undone, pairs of surrogates joined."""
    plain = _ESCAPE.sub(lambda m: chr(int(m[1], 16)), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(text: str) -> str:
    """What a reader sees: without invisible characters, letters undressed."""
    text = _INVISIBLE.sub("", text)
    return unicodedata.normalize("NFKC", text) if _DRESSED.search(text) is not None else text
