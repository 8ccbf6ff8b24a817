"""What the arguments of a tool may be: values and RE2 patterns that a policy lists.

One judgement for both sides. The gate asks it before a call is made, the detector afterwards where the telemetry
carries the arguments, and both get the same answer. RE2 is linear in the text, whoever wrote pattern and text; Python's
own engine is not, and a model's arguments could hang it. So a process without RE2 (``google-re2`` is not in the base
install) leaves patterns to the detector and keeps to plain values: those are judged everywhere. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from spanward.canonical import text_of

MAX_PATTERN: Final = 512
MAX_TEXT: Final = 4096
"""Characters of a value that a pattern is matched on. A longer one fits no list of what is allowed."""
MAX_TEXTS: Final = 1024
"""Values of one argument that are looked at. An argument that has more fits no list of what is allowed."""
_MAX_DEPTH: Final = 16


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """What an argument of a tool may be. Both lists hold plain values or RE2 patterns written ``/.../``.

    Attributes:
        allow: the argument has to fit one of them; empty = anything goes.
        deny: and none of these.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class PatternError(ValueError):
    """A pattern that RE2 does not take; the message says why."""


class TooDeepError(ValueError):
    """Arguments nested deeper than any that a tool takes: they cannot be judged, and must not pass for that."""


@lru_cache(maxsize=1024)
def compiled(written: str) -> Any:
    """The compiled pattern of ``/.../``; None for a plain value.

    Raises:
        PatternError: it is no RE2 pattern, or longer than :data:`MAX_PATTERN`.
        ImportError: there is no RE2 here.
    """
    if not _is_pattern(written):
        return None
    if len(written) > MAX_PATTERN:
        raise PatternError(f"a pattern of {len(written)} characters; at most {MAX_PATTERN} are taken")
    import re2  # deferred: compiled code that most policies do not need

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(written[1:-1], options=options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        raise PatternError(f"{written}: {said.decode() if isinstance(said, bytes) else said}") from None


def _is_pattern(written: str) -> bool:
    return len(written) > len("//") and written[0] == written[-1] == "/"


class Values(NamedTuple):
    """One list, ready to be asked.

    Attributes:
        plain: its plain values.
        patterns: its compiled patterns.
        partial: it has patterns that cannot be matched in this process.
    """

    plain: frozenset[str]
    patterns: tuple[Any, ...]
    partial: bool

    @property
    def stated(self) -> bool:
        """There is something on the list."""
        return bool(self.plain or self.patterns or self.partial)

    def hold(self, text: str) -> bool:
        """Whether a text is on the list, as far as this process can tell."""
        if text in self.plain:
            return True
        return bool(self.patterns) and any(p.fullmatch(text[:MAX_TEXT]) is not None for p in self.patterns)


class Limit(NamedTuple):
    """The rule of one argument, ready to be asked."""

    argument: str
    allow: Values
    deny: Values

    def forbids(self, value: object) -> bool:
        """Whether the argument must not have this value. None is no value: the argument was not given."""
        if value is None:
            return False
        if type(value) is str:
            return self._forbids(_whole(value))
        texts = list(islice(_items(_as_json(value), 0), MAX_TEXTS + 1))
        too_many = len(texts) > MAX_TEXTS and self.allow.stated
        return too_many or any(map(self._forbids, texts[:MAX_TEXTS]))

    def _forbids(self, text: str) -> bool:
        allow = self.allow
        if allow.stated and (len(text) > MAX_TEXT or not (allow.partial or allow.hold(text))):
            return True
        return self.deny.hold(text)


def limits_of(rules: Mapping[str, ArgumentRule], *, lenient: bool = False) -> tuple[Limit, ...]:
    """The rules of one tool, by argument, ready to be asked.

    Args:
        rules: by name of the argument.
        lenient: leave out patterns that cannot be matched here. A list of what is allowed that has one then forbids
            only what it would forbid whatever the pattern is.

    Raises:
        PatternError: not ``lenient``, and one of the patterns is none.
        ImportError: not ``lenient``, and there is no RE2 here.
    """
    made = (Limit(name, _values(rule.allow, lenient), _values(rule.deny, lenient)) for name, rule in rules.items())
    return tuple(limit for limit in made if limit.allow.stated or limit.deny.stated)


def _values(written: Iterable[str], lenient: bool) -> Values:
    plain, patterns, partial = set(), [], False
    for entry in written:
        try:
            pattern = compiled(entry)
        except Exception:  # a foreign module by the name of re2 raises whatever it likes
            if not lenient:
                raise
            partial = True
        else:
            plain.add(entry) if pattern is None else patterns.append(pattern)
    return Values(frozenset(plain), tuple(patterns), partial)


def first_forbidden(given: Mapping[str, Any], limits: Iterable[Limit]) -> str:
    """The first argument of a call whose value is forbidden, by name; "" when there is none."""
    return next((limit.argument for limit in limits if limit.forbids(given.get(limit.argument))), "")


def read(text: str) -> Any:
    """Arguments from their JSON text, as the gate holds them: integers keep all their digits.

    Raises:
        TooDeepError: nobody can say what is in them.
        ValueError: it is not JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise TooDeepError("nested too deep") from None


def _items(value: Any, depth: int) -> Iterator[str]:
    """The texts that an argument is judged by: of a list its items, of what is no text its JSON."""
    if isinstance(value, list) and depth < _MAX_DEPTH:
        for item in value:
            yield from _items(item, depth + 1)
    elif value is not None:
        yield _whole(value if isinstance(value, str) else text_of(value))


def _as_json(value: object) -> Any:
    """The value as it is after a way through JSON, which is how the detector gets to see it; else as text."""
    try:
        return read(text_of([value]))[0]
    except (ValueError, TypeError, LookupError):
        return text_of(value)


def _whole(text: str) -> str:
    """Without half surrogate pairs, as it goes over the wire."""
    return text if text.isascii() else text.encode(errors="replace").decode()
