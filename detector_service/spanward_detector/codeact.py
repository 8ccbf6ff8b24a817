"""Replies of agents that act by writing code: what such a reply says, and what its code calls."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

FINAL_ANSWER: Final = "final_answer"
"""The call by which a code agent ends its run."""

_CAP: Final = 16_384
_BLOCK: Final = re.compile(r"```[a-zA-Z]{0,12}\n(.{0,16384}?)(?:```|\Z)", re.DOTALL)
_STRING: Final = re.compile(
    r'"""(?:[^"]|"(?!"")){0,8192}"""|\'\'\'(?:[^\']|\'(?!\'\')){0,8192}\'\'\''
    r'|"(?:[^"\\\n]|\\.){0,4096}"|\'(?:[^\'\\\n]|\\.){0,4096}\'|#[^\n]{0,1024}'
)
_CALLED: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,127})[ ]{0,4}\(")
_WORD: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w{1,127}")


class Reply(NamedTuple):
    """A reply taken apart.

    Attributes:
        prose: what stands outside of its code blocks.
        has_code: it has a code block.
        calls: names of the functions that its code calls; what only stands in strings and comments is no call.
    """

    prose: str
    has_code: bool
    calls: frozenset[str]


def read(text: str) -> Reply:
    """Takes a reply apart. Only its first 16 kB are looked at."""
    text = text[:_CAP]
    blocks = _BLOCK.findall(text)
    if not blocks:
        bare = f"{FINAL_ANSWER}(" in text  # some write the last call without a block
        return Reply(text, False, frozenset((FINAL_ANSWER,)) if bare else frozenset())
    code = _STRING.sub(" ", "\n".join(blocks))
    prose = _BLOCK.sub(" ", text)
    calls = set(_CALLED.findall(code))
    if f"{FINAL_ANSWER}(" in prose:
        calls.add(FINAL_ANSWER)
    return Reply(prose, True, frozenset(calls))


def named(text: str, tools: Iterable[str]) -> frozenset[str]:
    """Tools that a text names. A name that is also a plain word of the language ("search") does not count."""
    telling = {tool for tool in tools if tool != FINAL_ANSWER and ("_" in tool or not tool.islower())}
    return frozenset(telling.intersection(_WORD.findall(text[:_CAP]))) if telling else frozenset()
