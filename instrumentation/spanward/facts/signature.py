"""The class of an error text, as a hash: the same for other ids, numbers, quoted names and paths."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from spanward.canonical import text_of
from spanward.facts.signs import loads, message_of

_CAP: Final = 2_000
_KEPT: Final = 240
_VARIABLE: Final = re.compile(
    r"""[a-z][a-z0-9+.-]{1,20}://[^\s"'<>]{1,500}"""  # addresses
    r"""|"[^"\n]{0,300}"|'[^'\n]{0,300}'|`[^`\n]{0,300}`"""  # quotations
    r"""|“[^”\n]{0,300}”|«[^»\n]{0,300}»|「[^」\n]{0,300}」"""
    r"""|(?:[a-z]:)?[\\/][^\s"',;:()]{1,300}"""  # paths
    r"""|[\w.+-]{0,64}@[\w.-]{1,100}"""  # mail addresses and handles
    r"""|[\w-]{0,64}[0-9][\w.-]{0,64}"""  # numbers and ids
)
_SPACE: Final = re.compile(r"\s+")
_FRAME_MARK: Final = "traceback (most recent call last)"


def error_signature(text: str) -> str:
    """Hash the class of an error text.

    Args:
        text: as the tool gave it; of JSON the message counts, of a traceback the last line. Read up to 2,000
            characters.

    Returns:
        12 hexadecimal digits.
    """
    head = text[:_CAP].strip()
    if text[:1] in "{[":
        value, is_json = loads(text) if len(text) <= _CAP * 8 else (None, False)
        head = (message_of(value) or text_of(value))[:_CAP].strip() if is_json else head
    head = head.lower().replace("’", "'")
    if _FRAME_MARK in head:
        head = text[-_CAP:].rstrip().rsplit("\n", 1)[-1].strip().lower()
    # An apostrophe inside a word opens no quotation.
    plain = re.sub(r"(?<=\w)'(?=\w)", "", head)
    kept = _SPACE.sub(" ", _VARIABLE.sub("#", plain))[:_KEPT]
    return hashlib.sha256(kept.encode("utf-8", "surrogatepass")).hexdigest()[:12]
