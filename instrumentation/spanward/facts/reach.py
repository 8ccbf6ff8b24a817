"""What a call would reach: files, hosts, tables; and which shell commands destroy what cannot be brought back.

Read from the names and forms of arguments and from command lines and SQL. What cannot be told (a variable, a
substitution) is left out: nothing is ever invented, so a scope can let something through and never stops what it does
not understand. Linear in the length of the arguments, which is capped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from spanward.facts.commands import Destruction, in_command, in_sql, joined

MAX_TEXT: Final = 8192
"""Characters of one value that are read."""
MAX_VALUES: Final = 256
MAX_DEPTH: Final = 6
_MAX_PATH: Final = 1024

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PATHS: Final = frozenset({
    "path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "dir", "dirs", "directory",
    "directories", "folder", "folders", "cwd", "workdir",
})  # fmt: skip
_MAYBE_PATHS: Final = frozenset({
    "src", "dst", "dest", "destination", "source", "target", "output", "input", "root", "location",
})  # fmt: skip
_COMMANDS: Final = frozenset({"command", "commands", "cmd", "script", "shell", "bash", "commandline"})
_SQL: Final = frozenset({"sql", "query", "statement", "statements"})
_TABLES: Final = frozenset({"table", "tables", "tablename"})
_HOSTS: Final = frozenset({"host", "hosts", "hostname", "domain", "url", "urls", "uri", "endpoint", "server"})
_PROSE: Final = frozenset({
    "content", "contents", "text", "body", "message", "messages", "prompt", "question", "pattern", "regex", "route",
    "replacement", "description", "title", "summary", "code", "diff", "patch", "string", "str", "note", "thought",
})  # fmt: skip
"""Words of names whose values are read by people or matched: what looks like a path in there is none."""
_NO_PATH: Final = frozenset({"id", "ids", "type", "format", "count", "size", "name", "mode", "encoding"})
_LOOKS_LIKE_PATH: Final = re.compile(r"(?:/|\.{1,2}/|~/|file:)[^\n\r\0]*|[A-Za-z]:\\[^\n\r\0]*")
_HAS_PARTS: Final = re.compile(r"[^\s\n]+/[^\n]*|[^\s/]+\.[A-Za-z0-9]{1,8}|\.{1,2}")
_URL: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]{1,15})://[^\s]+")
_HOST: Final = re.compile(
    r"(?:(?:[\w\-]+\.)+[\w\-]{2,}|localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])(?::\d+)?(?:/[^\s]*)?"
)
_FIRST_OF_SQL: Final = re.compile(
    r"[\s(]{0,64}(?:select|insert|update|delete|drop|truncate|alter|create|with|replace|merge)\b", re.IGNORECASE
)


class Touched(NamedTuple):
    """What a call would reach, as far as its arguments tell.

    Attributes:
        paths: as they are written, relative ones joined to the directory that the call names.
        hosts: in lower case, without port.
        tables: in lower case, with the schema where it is written.
        destroys: commands in it that destroy something.
    """

    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    destroys: tuple[Destruction, ...] = ()


NOTHING: Final = Touched()


def touched(arguments: object) -> Touched:
    """What a call with these arguments would reach.

    Args:
        arguments: by name, as they were parsed. Anything but a mapping reaches nothing.
    """
    if not isinstance(arguments, Mapping):
        return NOTHING
    base = next((v for k, v in arguments.items() if k in ("cwd", "workdir") and isinstance(v, str)), "")
    paths: dict[str, None] = {}
    hosts: dict[str, None] = {}
    tables: dict[str, None] = {}
    destroys: list[Destruction] = []
    for words, text in _values(arguments):
        if words & _COMMANDS:
            found = in_command(text, base)
            paths |= dict.fromkeys(found.paths)
            hosts |= dict.fromkeys(filter(None, map(host_of, found.urls)))
            destroys += found.destroys
        elif words & _SQL and _FIRST_OF_SQL.match(text):
            names, lost = in_sql(text)
            tables |= dict.fromkeys(names)
            destroys += lost
        elif words & _TABLES:
            tables[text.strip().lower()] = None
        elif (url := _URL.fullmatch(text.strip())) is not None:
            if url[1].lower() == "file":
                paths[_path_of(text.strip())] = None
            elif host := host_of(text):
                hosts[host] = None
        elif words & _HOSTS:
            if _HOST.fullmatch(text.strip()) and (host := host_of(f"//{text.strip()}")):
                hosts[host] = None
        elif _is_path(words, text):
            paths[joined(base, text)] = None
    return Touched(tuple(paths), tuple(hosts), tuple(tables), tuple(destroys))


def host_of(url: str) -> str:
    """Host that a client would speak to, lower case, without port and final dot; "" when there is none."""
    try:
        # Browsers and most clients read a backslash as a slash; what follows "@" is the host, whatever stands before.
        return (urlsplit(url.strip().replace("\\", "/")).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def _path_of(url: str) -> str:
    """Path in a URL of a file, also of one whose host is no host."""
    try:
        return urlsplit(url).path
    except ValueError:
        return "/" + url.partition("://")[2].partition("/")[2]


def _values(arguments: Mapping[Any, Any]) -> Iterator[tuple[frozenset[str], str]]:
    """The texts in arguments with the words of the name that each stands under."""
    waiting: list[tuple[frozenset[str], object, int]] = [(_words(str(k)), v, 0) for k, v in arguments.items()]
    seen = 0
    while waiting and seen < MAX_VALUES:
        seen += 1
        words, value, depth = waiting.pop(0)
        if isinstance(value, str):
            if value and not value.isspace():
                yield words, value[:MAX_TEXT]
        elif isinstance(value, Mapping) and depth < MAX_DEPTH:
            waiting += [(_words(str(k)), v, depth + 1) for k, v in list(value.items())[:MAX_VALUES]]
        elif isinstance(value, list | tuple) and depth < MAX_DEPTH:
            if words & _COMMANDS and value and all(isinstance(v, str) for v in value):
                # A list is a command already taken apart; joined, its blanks must not take it apart again.
                yield words, " ".join(_requoted(v) for v in value)[:MAX_TEXT]
            else:
                waiting += [(words, v, depth + 1) for v in value[:MAX_VALUES]]


def _requoted(part: str) -> str:
    return part if re.fullmatch(r"[\w@%+=:,./~\-]+", part) else "'" + part.replace("'", "'\"'\"'") + "'"


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name[:120]))


def _is_path(words: frozenset[str], text: str) -> bool:
    if len(text) > _MAX_PATH or "\n" in text or words & _PROSE or words & _SQL:
        return False
    if _LOOKS_LIKE_PATH.fullmatch(text):
        return True
    if words & _PATHS:
        return not words & _NO_PATH or bool(_HAS_PARTS.fullmatch(text))
    return bool(words & _MAYBE_PATHS and _HAS_PARTS.fullmatch(text) and " " not in text)
