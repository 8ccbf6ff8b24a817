"""Words that carry a text's subject, and how many of them two texts share."""

from __future__ import annotations

import re
from typing import Final

_CAP: Final = 4_096
_WORD: Final = re.compile(r"[^\W\d_]{4,32}|\d[\d.,:/-]{0,30}\d|[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]{2}")
_STEM: Final = 5
_EMPTY: Final[dict[str, frozenset[str]]] = {
    "en": frozenset({
        "the", "and", "for", "with", "that", "this", "you", "are", "can", "what", "have", "from", "please", "which",
        "would", "your", "will", "how", "should", "not", "is", "of", "to", "in", "it",
    }),
    "de": frozenset({
        "der", "die", "das", "und", "nicht", "mit", "für", "ist", "ein", "eine", "auf", "sie", "ich", "wie", "den",
        "von", "bitte", "wird", "sind", "auch", "zu", "im",
    }),
    "es": frozenset({
        "el", "los", "las", "que", "para", "con", "una", "por", "del", "como", "está", "más", "qué", "cuál", "es", "de",
        "la", "en", "y",
    }),
    "fr": frozenset({
        "le", "les", "des", "une", "pour", "avec", "est", "dans", "que", "qui", "vous", "sur", "pas", "je", "du", "et",
        "au", "quel", "quelle",
    }),
    "nl": frozenset({
        "het", "een", "voor", "niet", "met", "zijn", "ik", "wat", "naar", "van", "op", "te", "je", "deze",
    }),
    "it": frozenset({"il", "che", "per", "con", "una", "sono", "della", "di", "non", "come", "quale", "gli", "è", "e"}),
    "pt": frozenset({"os", "que", "para", "com", "uma", "não", "por", "como", "qual", "está", "do", "da", "em", "o"}),
    "hu": frozenset({"az", "és", "egy", "hogy", "nem", "van", "mi", "kérem", "meg", "ez", "a", "is", "milyen"}),
}  # fmt: skip
"""Words that every text of a language has."""
_FILLER: Final[frozenset[str]] = frozenset().union(*_EMPTY.values())
_PLAIN: Final = re.compile(r"[^\W\d_]{1,12}")
_TELLING: Final = 3
_WIDE: Final = 20


def subject(text: str) -> frozenset[str]:
    """Stems of the words, and the numbers, that a text is about. Only its first 4,096 characters are read."""
    return frozenset(word[:_STEM] for word in _WORD.findall(text[:_CAP].lower()) if word not in _FILLER)


def language(text: str) -> str:
    """Language of a text by its commonest words: a code, the name of a script, or "" when that cannot be told."""
    sample = text[:_CAP].lower()
    if sum("\u3040" <= c <= "\ud7af" for c in sample[:400]) >= _WIDE:
        return "cjk"
    counts = dict.fromkeys(_EMPTY, 0)
    for word in _PLAIN.findall(sample[:2_000]):
        for code, plain in _EMPTY.items():
            counts[code] += word in plain
    best, second = sorted(counts.values(), reverse=True)[:2]
    if best < _TELLING or best == second:
        return ""
    return max(counts, key=lambda code: counts[code])


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of the words of two texts that both have, 0 to 1."""
    return len(one & other) / max(1, len(one | other))


def covered(wanted: frozenset[str], text: str) -> float:
    """Share of some words' stems that a text has, 0 to 1."""
    return len(wanted & subject(text)) / len(wanted) if wanted else 1.0
