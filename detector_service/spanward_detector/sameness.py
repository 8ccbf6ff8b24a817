"""When two calls or two answers are the same but for what differs each time: labels, fresh ids, clocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from spanward_detector.naming import words
from spanward_detector.text.words import overlap, subject

_LONGEST: Final = 16_384
_STATUS: Final = 2_048
_ALIKE: Final = 0.4
"""Share of words in common, of two calls that ask for the same."""
_AT_LENGTH: Final = 80
"""Bytes of an answer that says something, of two calls that share a word."""
_DIGITS: Final = 64
_COMMANDS: Final = ("command", "cmd", "commands", "script", "code")
_TEXTS: Final = ("text", "message", "body", "content", "comment", "msg", "html", "note", "description")
_WHERE: Final = ("cwd", "workdir", "working_directory", "timeout", "stdin", "input", "session_id", "session", "host")
_FRESH_NAMES: Final = frozenset({
    "idempotency", "nonce", "uuid", "guid", "timestamp", "ts", "correlation", "trace", "request", "client", "dedupe",
    "dedup", "token", "reference", "ref", "key",
})  # fmt: skip
_FRESH: Final = re.compile(
    r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.{0,16}"
    r"|\d{10}(?:\.\d+)?|\d{13}|\d{16,19}|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-fA-F]{24,64}|(?=[\w-]{0,40}\d)[A-Za-z]{2,12}[_-][\w-]{6,40}"
)
"""Ids that are made for one request, and times."""
_NUMBER: Final = re.compile(r"\d{1,32}")
_CLOCK: Final = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"|\b\d{1,9}(?:[.,]\d{1,9})?\s?(?:ms|s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?)\b"
    r"|\"(?:(?:\w{0,24}_)?(?:elapsed|uptime|duration|idle|latency|time|age)(?:_\w{0,24}|ms|s)?|\w{1,24}_at|now|ts|took"
    r"|(?:request|trace)_id)\""
    r"\s?:\s?(?:\"[^\"]{0,64}\"|[\d.]{1,24})",
    re.IGNORECASE,
)
"""Times and durations, whose change is no news."""


def command_of(arguments: str) -> str | None:
    """What is run, without the words that describe it; None where the arguments are no such call."""
    given = _object(arguments)
    if given is None:
        return None
    run = next((given[name] for name in _COMMANDS if given.get(name)), None)
    if run is None:
        return None
    return repr((run, [(name, given[name]) for name in _WHERE if name in given]))


def without_fresh_ids(arguments: str) -> str | None:
    """Arguments without ids that were made for this one call; None where there are none."""
    given = _object(arguments)
    if given is None:
        return None
    fresh = [
        name
        for name, value in given.items()
        if isinstance(value, str | int)
        and not isinstance(value, bool)
        and not _FRESH_NAMES.isdisjoint(words(str(name)))
        and _FRESH.fullmatch(str(value))
    ]
    left = {name: value for name, value in given.items() if name not in fresh}
    return orjson.dumps(left, option=orjson.OPT_SORT_KEYS).decode() if fresh and left else None


def message_of(arguments: str) -> tuple[str, str] | None:
    """What stands beside a message, and its text; None where the arguments carry none."""
    given = _object(arguments)
    if given is None:
        return None
    name = next((name for name in _TEXTS if isinstance(given.get(name), str)), None)
    if name is None:
        return None
    beside = {key: value for key, value in given.items() if key != name and key not in ("subject", "title")}
    return orjson.dumps(beside, option=orjson.OPT_SORT_KEYS).decode(), given[name]


def numbers_in(text: str) -> frozenset[str]:
    """Runs of digits: texts that differ in one are about different things."""
    return frozenset(_NUMBER.findall(text))


def alike(one: str, other: str, answer: str) -> bool:
    """Whether two calls ask for the same in other words: they share all numbers and many words of their values.

    One word is enough where both were told the same at length: an answer of some lines is not a service's "none".
    """
    if one == other:
        return True
    one, other = one[:_STATUS], other[:_STATUS]
    if numbers_in(one) != numbers_in(other):  # most often so, and quickly told
        return False
    about, before = subject(_values(one)), subject(_values(other))
    at_length = len(answer) >= _AT_LENGTH and (answer[0] in "[{" or "\n" in answer.strip())
    return not about.isdisjoint(before) if at_length else overlap(about, before) >= _ALIKE


def reworded(one: str, other: str) -> tuple[str, str] | None:
    """The two texts of two calls that differ in one text only; None where they differ in anything else."""
    now, before = _object(one), _object(other)
    if now is None or before is None or now.keys() != before.keys():
        return None
    changed = [name for name in now if now[name] != before[name]]
    texts = [(now[name], before[name]) for name in changed if isinstance(now[name], str)]
    return texts[0] if len(texts) == len(changed) == 1 and isinstance(texts[0][1], str) else None


def _values(text: str) -> str:
    given = _object(text)
    return text if given is None else " ".join(str(v) for v in given.values() if isinstance(v, str | int | float))


def same_but_for_clocks(one: str, other: str) -> bool:
    """Whether two different results say the same when times and durations are left out."""
    if abs(len(one) - len(other)) > _DIGITS or max(len(one), len(other)) > _STATUS:
        return False
    return _CLOCK.sub("\0", one) == _CLOCK.sub("\0", other)


def _object(text: str) -> Mapping[str, Any] | None:
    if len(text) > _LONGEST or not text.startswith("{"):
        return None
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
