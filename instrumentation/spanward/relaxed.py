"""Read JSON as models write it when they slip, and say which slips there were. Adds and drops nothing that is a value.

One pass over the text turns the deviations of :data:`DEVIATIONS` into strict JSON. Everything that could mean two
things (an apostrophe that may end a string, a word that may be a value, a second object, an end that never came) is
refused.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import orjson

CONTROL_CHARACTERS: Final = "control_characters"
FENCES: Final = "fences"
COMMENTS: Final = "comments"
TRAILING_COMMAS: Final = "trailing_commas"
SINGLE_QUOTES: Final = "single_quotes"
ESCAPES: Final = "escapes"
BARE_NAMES: Final = "bare_names"
LITERAL_OBJECT: Final = "literal_object"

DEVIATIONS: Final = (
    CONTROL_CHARACTERS, FENCES, COMMENTS, TRAILING_COMMAS, SINGLE_QUOTES, ESCAPES, BARE_NAMES, LITERAL_OBJECT,
)  # fmt: skip
"""Raw control characters in strings, a Markdown fence round the whole, comments, a comma before a closing bracket,
strings in single quotes, backslashes that escape nothing, names without quotes, and Python's True, False and None."""

MAX_LENGTH: Final = 1 << 18
"""Longer texts are refused unread."""
MAX_TOKENS: Final = 1 << 15
"""Texts of more brackets, commas and values are refused there: the agent waits, a tenth of a second for so many."""

_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.+-])")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"""[^"'\\]*""")}
_ESCAPE = re.compile(r'["\\/bfnrt]|u[0-9a-fA-F]{4}')
_CONTROLS = re.compile(r"[\x00-\x1f]")
_ESCAPED = {code: orjson.dumps(chr(code)).decode()[1:-1] for code in range(0x20)}
_CUT_ESCAPE = re.compile(r"u[0-9a-fA-F]{0,3}")
_FENCE = re.compile(r"\s*```[A-Za-z0-9_-]*[ \t]*\r?\n")
_FENCE_END = re.compile(r"\n[ \t]*```\s*\Z")
_CONSTANTS = {"true": "true", "false": "false", "null": "null"}
_PYTHON_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_NON_FINITE = frozenset({"NaN", "Infinity", "nan", "inf"})
_CLOSES = {"}": "{", "]": "["}


class UnreadableError(ValueError):
    """The text cannot be read without guessing.

    Attributes:
        form: what it is then: one of "malformed", "truncated", "non_finite".
    """

    def __init__(self, form: str) -> None:
        super().__init__(form)
        self.form = form


class Read(NamedTuple):
    """Strict JSON and the deviations, in the order of :data:`DEVIATIONS`, that it took to get there."""

    text: str
    deviations: tuple[str, ...]


def read(text: str) -> Read:
    """Turn near-JSON into JSON.

    Raises:
        UnreadableError: with the form that the text has.
    """
    if len(text) > MAX_LENGTH:
        raise UnreadableError("malformed")
    reader = _Reader(text)
    reader.run()
    return Read("".join(reader.out), tuple(name for name in DEVIATIONS if name in reader.found))


class _Reader:
    """Position and output of one pass; the grammar itself is left to the strict parser that reads the output."""

    __slots__ = ("end", "found", "open", "out", "position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.position = 0
        self.out: list[str] = []
        self.open: list[str] = []
        self.found: set[str] = set()

    def run(self) -> None:
        fence = _FENCE.match(self.text)
        if fence:
            closing = _FENCE_END.search(self.text, fence.end() - 1)
            if closing is None:
                raise UnreadableError("truncated")
            self.found.add(FENCES)
            self.position, self.end = fence.end(), closing.start()
        complete = False
        while self.skip():
            if complete:  # something after the value: a second object, or prose
                raise UnreadableError("malformed")
            self.token(self.text[self.position])
            if len(self.out) > MAX_TOKENS:
                raise UnreadableError("malformed")
            complete = not self.open
        if not complete:
            raise UnreadableError("truncated" if self.out else "malformed")

    def skip(self) -> bool:
        """Pass white space and comments; false at the end."""
        while True:
            space = _SPACE.match(self.text, self.position, self.end)
            self.position = space.end() if space else self.position
            if self.position >= self.end:
                return False
            if self.text[self.position] not in "/#":
                return True
            self.comment()

    def comment(self) -> None:
        block = self.text.startswith("/*", self.position)
        if not block and not self.text.startswith(("//", "#"), self.position):
            raise UnreadableError("malformed")
        stop = self.text.find("*/" if block else "\n", self.position + 2, self.end)
        if stop < 0 and (block or self.open):
            raise UnreadableError("truncated")
        self.found.add(COMMENTS)
        self.position = self.end if stop < 0 else stop + (2 if block else 1)

    def token(self, char: str) -> None:
        if char in "{[":
            self.open.append(char)
            self.put(char)
        elif char in "}]":
            if not self.open or self.open.pop() != _CLOSES[char]:
                raise UnreadableError("malformed")
            self.put(char)
        elif char in ":,":
            self.comma() if char == "," else self.put(char)
        elif char in "\"'":
            self.string(char)
        else:
            self.word_or_number()

    def put(self, char: str) -> None:
        self.out.append(char)
        self.position += 1

    def comma(self) -> None:
        self.position += 1
        after_value = bool(self.out) and self.out[-1] not in ("{", "[", ",", ":")
        if after_value and self.skip() and self.text[self.position] in "}]":
            self.found.add(TRAILING_COMMAS)
        else:
            self.out.append(",")

    def word_or_number(self) -> None:
        number = _NUMBER.match(self.text, self.position, self.end)
        if number:
            self.position = number.end()
            self.out.append(number.group())
            return
        word = _WORD.match(self.text, self.position + (self.text[self.position] == "-"), self.end)
        if word is None:
            cut = self.end - self.position <= 1 and self.text[self.position] == "-"
            raise UnreadableError("truncated" if cut else "malformed")
        name, self.position = word.group(), word.end()
        more = self.skip()
        if more and self.text[self.position] == ":":
            self.found.add(BARE_NAMES)
            self.out.append(orjson.dumps(name).decode())
        elif name in _CONSTANTS:
            self.out.append(_CONSTANTS[name])
        elif name in _PYTHON_CONSTANTS:
            self.found.add(LITERAL_OBJECT)
            self.out.append(_PYTHON_CONSTANTS[name])
        elif not more and self.open:
            raise UnreadableError("truncated")
        else:
            raise UnreadableError("non_finite" if name in _NON_FINITE else "malformed")

    def string(self, quote: str) -> None:
        pieces = ['"']
        self.position += 1
        while True:
            plain = _PLAIN[quote].match(self.text, self.position, self.end)
            if plain:
                piece = plain.group()
                if _CONTROLS.search(piece):
                    self.found.add(CONTROL_CHARACTERS)
                    piece = piece.translate(_ESCAPED)
                pieces.append(piece)
                self.position = plain.end()
            if self.position >= self.end:
                raise UnreadableError("truncated")
            char = self.text[self.position]
            self.position += 1
            if char == quote:
                break
            if char == "\\":
                pieces.append(self.escape(quote))
            else:  # the other kind of quotation mark
                pieces.append('\\"')
        if quote == "'":
            self.found.add(SINGLE_QUOTES)
            # An apostrophe inside ends the string too early: then no separator follows.
            if self.skip() and self.text[self.position] not in ",:}]":
                raise UnreadableError("malformed")
        self.out.append("".join((*pieces, '"')))

    def escape(self, quote: str) -> str:
        """What follows a backslash; the backslash itself is already passed."""
        known = _ESCAPE.match(self.text, self.position, self.end)
        if known:
            self.position = known.end()
            return "\\" + known.group()
        if self.position >= self.end or _CUT_ESCAPE.fullmatch(self.text, self.position, self.end):
            raise UnreadableError("truncated")
        char = self.text[self.position]
        self.position += 1
        if char == "'":
            if quote == '"':
                self.found.add(ESCAPES)
            return "'"
        # \d of a regular expression or a path keeps its backslash; \u, \x, octal digits and line ends would be guesses.
        if (char.isalpha() and char.isascii() and char not in "uUxN") or char in ".()[]{}+*?$^|-":
            self.found.add(ESCAPES)
            return "\\\\" + char
        raise UnreadableError("malformed")
