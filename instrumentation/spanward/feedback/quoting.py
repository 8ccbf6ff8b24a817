"""Show data to a model so that it stays data: quoted, capped, and unable to end its own quotation."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import orjson

CAP: Final = 400
"""Characters of quoted content, before escaping."""
SLOT_CAP: Final = 120

_MARKUP: Final = re.compile(r"<(?=[/|!?A-Za-z])|(?<=\|)>|\[(?=/?(?:INST|SYS)\b)", re.IGNORECASE)
_SAFE_SLOT: Final = re.compile(r"[\w.:/@+,%()*# -]{1,120}")
_HIDDEN: Final = frozenset({"Cf", "Cc", "Cs", "Co", "Zl", "Zp"})


def quoted(text: str, cap: int = CAP) -> str:
    """Text as a JSON string literal.

    Quotes, backslashes and line ends are escaped, so the text cannot end its quotation; invisible characters are
    dropped, so it cannot hide; the openings of tags and of chat markers are escaped, so it cannot look like structure.
    Longer text keeps its beginning and its end.
    """
    if len(text) > cap:
        text = f"{text[: cap * 3 // 4]} … {text[-(cap // 4) :]}"
    visible = "".join(char if char in "\n\t" or unicodedata.category(char) not in _HIDDEN else " " for char in text)
    literal = orjson.dumps(visible).decode()
    return _MARKUP.sub(lambda found: f"\\u{ord(found.group()):04x}", literal)


def slot(value: object) -> str:
    """A slot's value: numbers and names as they are; anything that is more than a name is quoted."""
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text if _SAFE_SLOT.fullmatch(text) else quoted(text, SLOT_CAP)
