"""Texts in pieces: sentences that state something, and passages that a sentence may rest on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_END: Final = re.compile(r"(?<=[.!?。！？])\s+|[\r\n]+")
_FENCED: Final = re.compile(r"```[^`]*(?:```|$)|~~~[^~]*(?:~~~|$)")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_EDGES: Final = " \t-*#>•|\"'_"
_SAYS: Final = 6
"""Words that a sentence has at least, for it to state something."""
_LONGEST: Final = 600
_CODE: Final = frozenset("{}[]<>=;\\|")
_CODE_SHARE: Final = 0.05
_META: Final = re.compile(
    r"(?:hi|hello|dear|hey|thanks?|thank you|sorry|i(?:['’]m| am) (?:sorry|glad|happy)|great|sure|certainly|of course"
    r"|please|let me|let['’]s|i(?:['’]ll| will| can| would|['’]d)\b|if you|feel free|would you|could you|have a"
    r"|you(?:['’]re| are) welcome|here (?:is|are)|note that i|as an ai)\b",
    re.IGNORECASE,
)
"""How sentences begin that talk about the talk: courtesy, offers, announcements."""


def sentences(text: str, most: int) -> list[str]:
    """Sentences that state something, in their order: no short ones, courtesy, questions, announcements or code.

    Args:
        text: of an answer.
        most: sentences at most; those after them are left out.
    """
    out: list[str] = []
    for piece in _END.split(_FENCED.sub("\n", text)):
        said = piece.strip(_EDGES)
        if _states(said):
            out.append(said)
            if len(out) >= most:
                break
    return out


def _states(said: str) -> bool:
    if not said or len(said) > _LONGEST or said.endswith(("?", "？", ":", "：")) or _META.match(said):
        return False
    if sum(c in _CODE for c in said) > _CODE_SHARE * len(said):
        return False
    return len(_WORD.findall(said)) >= _SAYS


def passages(text: str, size: int) -> Iterator[str]:
    """A text as pieces of at most some characters, cut between sentences and lines where that can be.

    Args:
        text: any; every character that is no space at an edge comes in exactly one piece.
        size: characters.
    """
    piece = ""
    for part in _END.split(text):
        part = part.strip()
        while part:
            room = size - len(piece) - 1 if piece else size
            if len(part) <= room:
                piece = f"{piece} {part}" if piece else part
                break
            if piece:
                yield piece
                piece = ""
                continue
            cut = part.rfind(" ", size // 2, size + 1)
            cut = cut if cut > 0 else size
            yield part[:cut].rstrip()
            part = part[cut:].lstrip()
    if piece:
        yield piece
