"""What a message states that stands nowhere before it: numbers, names and a few turns of phrase, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

Statement = Literal["made_up", "new_numbers", "claim", ""]
"""``made_up``: data invented for the purpose goes into code. ``new_numbers``: several numbers that nobody gave.
``claim``: a result is stated, without code, with a name or number that nobody gave."""

NEW_NUMBERS: Final = 3
"""Numbers without a source from which on a message counts as data of its own."""

_CAP: Final = 32_768
_SHORTEST: Final = 60
_MAX_KNOWN: Final = 1 << 20

_NUMBER: Final = re.compile(r"(?<![\w.])\d{1,30}(?:,\d{3}){0,8}(?:\.\d{1,30})?(?!\w)")
_NAME: Final = re.compile(
    r"(?<=[a-z,;:(] )[A-Z][a-z]{2,30}(?: [A-Z][a-z]{1,30}){0,4}|\"[^\"\n]{2,40}\"|\*\*[^*\n]{2,60}\*\*"
)
_FRAME: Final = re.compile(r"^\s{0,12}\d{1,3}[.)]\s|\bstep \d{1,3}|^#[^\n]{0,400}$|https?://\S{1,600}", re.I | re.M)
"""Numbering, headings and addresses: they state nothing."""

_MADE_UP: Final = re.compile(
    r"\b(?:simulat\w{1,6}|hypothetical(?:ly)?|mock(?:ed|-?up)?|sample data(?:set)?|dummy|synthetic|fabricat\w{1,6}"
    r"|for illustration)\b",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"\bhere (?:is|are)\b(?! (?:the|my|a) (?:plan|steps|step-by-step|code|approach|outline|revised|updated|corrected"
    r"|complete|python))"
    r"|\bbased on (?:the|my|our|this|these)\b"
    r"|\b(?:i|we)(?:['’]ve| have) (?:successfully |manually )?(?:found|located|identified|verified|reviewed|checked"
    r"|retrieved|confirmed|gathered|watched|analy[sz]ed|obtained|transcribed)\b"
    r"|\b(?:therefore|thus|hence|in conclusion|the answer is|is confirmed|confirms? that|evident that|upon )\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Known:
    """Everything that was said or returned so far; a bounded text.

    Attributes:
        text: lower case.
    """

    text: str = field(default="", repr=False)

    def add(self, text: str) -> None:
        """Take in one more text."""
        self.text = f"{self.text}\n{text[:_CAP].lower()}"[-_MAX_KNOWN:]

    def judge(self, text: str) -> Statement:
        """What a new message is, next to all that is known; "" when it only plans, asks or passes on."""
        if len(text) < _SHORTEST:
            return ""
        code = "```" in text
        if code and _MADE_UP.search(text):
            return "made_up"
        plain = _FRAME.sub(" ", text[:_CAP])
        numbers = {n for n in _NUMBER.findall(plain) if len(n) > 1 and n not in self.text}
        if len(numbers) >= NEW_NUMBERS:
            return "new_numbers"
        if code or not _STATES.search(plain):
            return ""
        names = (name.strip('"* :').lower() for name in _NAME.findall(plain))
        return "claim" if numbers or any(name not in self.text for name in names) else ""
