"""How tools in a language say that something failed. The data are in :mod:`spanward.facts.phrases`."""

from __future__ import annotations

from typing import NamedTuple


class Phrases(NamedTuple):
    """One language.

    Attributes:
        labels: regular expressions (linear ones) for the word before the colon.
        openings: beginnings of a text that reports a failure, whatever follows.
        short_openings: the same for short texts only: a long one may be a rule or a story that begins this way.
        endings: ends of a clause; a leading space keeps the match at a word.
        pairs: words that stand in a short text in this order, for languages whose verb comes last.
        nothing: words that make a "not found" the answer of a search instead of a failure.
    """

    labels: tuple[str, ...] = ()
    openings: tuple[str, ...] = ()
    short_openings: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    pairs: tuple[tuple[str, ...], ...] = ()
    nothing: tuple[str, ...] = ()
