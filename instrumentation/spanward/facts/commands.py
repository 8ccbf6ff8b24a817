"""Command lines and SQL, taken apart as far as they can be without running them."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spanward.facts.destroyers import RUNNERS, RUNNERS_BY_VERB, SQL_CLIENTS, destroyed_by, overwrites_branch


class Destruction(NamedTuple):
    """Something that a command destroys for good.

    Attributes:
        what: rm, find_delete, disk, git_reset, git_clean, git_checkout, git_push (a branch of others), git_force,
            database, infrastructure, volumes, drop or delete_all.
        targets: what is destroyed, as written; empty = all of the working tree.
        command: that does it, with what is set for it; "" for SQL that no command was given.
    """

    what: str
    targets: tuple[str, ...] = ()
    command: str = ""


@dataclass(slots=True)
class Found:
    """What a command line reaches."""

    paths: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    destroys: list[Destruction] = field(default_factory=list)


_OPERATORS: Final = frozenset({";", "&", "&&", "|", "||", "|&", "(", ")", "\n", ";;", "{", "}"})
_REDIRECTS: Final = frozenset({">", ">>", "<", ">|", "&>", "&>>", "<>", ">&"})
_PREFIXES: Final = frozenset({
    "sudo", "env", "nohup", "time", "command", "exec", "nice", "doas", "then", "do", "else", "!",
})  # fmt: skip
_POSIX_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_SHELLS: Final = _POSIX_SHELLS | {"cmd", "powershell", "pwsh"}
_INNER: Final = frozenset({"-c", "-lc", "/c", "/k", "-command"})
_WINDOWS: Final = re.compile(
    r"\b(?:rd|rmdir|del|erase)\s+(?:\S+\s+)?/[a-z]\b|\b(?:remove-item|ri)\b|\b(?:cmd|powershell|pwsh)(?:\.exe)?\s",
    re.IGNORECASE,
)
"""Commands of Windows, where a backslash is no escape."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_FILE_PROGRAMS: Final = frozenset({
    "rm", "rmdir", "cp", "mv", "cat", "touch", "mkdir", "tee", "head", "tail", "less", "more", "ln", "shred",
    "truncate", "unlink", "ls", "stat", "wc", "install",
})  # fmt: skip
"""Programs all of whose plain arguments are files."""
_NUMBER: Final = re.compile(r"[+\-]?\d+")
_HARMLESS: Final = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|zero|u?random|fd/\d+)")
_CLEAR_PATH: Final = re.compile(r"(?:/|\.{1,2}/|~/)\S*|.*/\.\./.*|\.\.|~")
_UNKNOWN: Final = re.compile(r"[$`]")
_URL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]{1,15}://\S+")
_FORCE: Final = re.compile(r"-[a-zA-Z]*[fF][a-zA-Z]*")
_RECURSIVE: Final = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*")
_MAX_TOKENS: Final = 2048
_NESTED: Final = 2


def joined(base: str, path: str) -> str:
    """A path relative to a directory; absolute ones, those of the home directory and those without a base stay."""
    return path if not base or path.startswith(("/", "~")) else posixpath.join(base, path)


def in_command(line: str, cwd: str = "", depth: int = 0) -> Found:
    """What a command line reaches and destroys.

    Args:
        line: of a POSIX shell, several commands and lines included.
        cwd: directory that it starts in; "" = not known.
        depth: how many shells it is inside of.
    """
    found = Found()
    if _WINDOWS.search(line):
        line = line.replace("\\", "/")
    for command in _commands(line):
        words = _without_prefixes(_redirected(command, cwd, found))
        if not words:
            continue
        program, rest = words[0].rpartition("/")[2].removesuffix(".exe"), words[1:]
        if program == "cd":
            target = next((w for w in rest if not w.startswith("-")), "~")
            if not _UNKNOWN.search(target):
                cwd = joined(cwd, target)
            continue
        if program.lower() in _SHELLS and depth < _NESTED and (within := _inner(program, rest)):
            inner = in_command(within, cwd, depth + 1)
            found.paths += inner.paths
            found.urls += inner.urls
            found.destroys += inner.destroys
            continue
        _arguments(program, rest, cwd, found)
        if (lost := _destroyed(program, rest, cwd)) is not None:
            found.destroys.append(lost._replace(command=" ".join(command)))
    return found


def _inner(program: str, rest: list[str]) -> str:
    """What a shell is given to run; "" when that is a file or nothing."""
    at = next((n for n, word in enumerate(rest[:-1]) if word.lower() in _INNER), None)
    if at is not None:
        return rest[at + 1] if program in _POSIX_SHELLS else " ".join(rest[at + 1 :])
    return " ".join(rest) if program.lower() in ("powershell", "pwsh") else ""


def _tokens(line: str) -> list[str]:
    lexer = shlex.shlex(line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    tokens: list[str] = []
    try:
        for token in lexer:
            tokens.append(token)
            if len(tokens) >= _MAX_TOKENS:
                break
    except ValueError:  # an open quotation mark: what came before it counts, the rest is no more than words
        tokens += line.split()[len(tokens) : _MAX_TOKENS]
    return tokens


def _commands(line: str) -> Iterator[list[str]]:
    command: list[str] = []
    for token in _tokens(line):
        if token in _OPERATORS:
            if command:
                yield command
            command = []
        else:
            command.append(token)
    if command:
        yield command


def _redirected(command: Sequence[str], cwd: str, found: Found) -> list[str]:
    """The words of a command without its redirections, whose files are noted."""
    words: list[str] = []
    taken = iter(command)
    for word in taken:
        if word in _REDIRECTS:
            target = next(taken, "")
            if target and not _NUMBER.fullmatch(target) and not target.startswith("&"):
                _note(target, cwd, found)
        else:
            words.append(word)
    return words


def _without_prefixes(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and (words[at] in _PREFIXES or _ASSIGNMENT.fullmatch(words[at])):
        at += 1
        while at < len(words) and words[at].startswith("-") and words[at - 1] in _PREFIXES:
            at += 1
    if at < len(words) and words[at] == "xargs":
        at += 1
        while at < len(words) and words[at].startswith("-"):
            at += 1
    return _run_by(words[at:])


def _run_by(words: list[str]) -> list[str]:
    """The words of the program that another one runs, as ``npx`` and ``docker exec`` do."""
    if words[:1] and words[0] in RUNNERS and len(words) > 1:
        left = words[1:]
    elif tuple(words[:2]) in RUNNERS_BY_VERB:
        left = words[2:]
    else:
        return words
    known = (n for n, w in enumerate(left) if destroyed_by(w, left[n + 1 :]) or w in SQL_CLIENTS)
    return next((left[n:] for n in known), words)


def _note(word: str, cwd: str, found: Found) -> None:
    if _UNKNOWN.search(word) or _HARMLESS.fullmatch(word):
        return
    found.paths.append(joined(cwd, word))


def _arguments(program: str, rest: Sequence[str], cwd: str, found: Found) -> None:
    for word in rest:
        if _URL.match(word):
            found.urls.append(word)
            continue
        value = word
        if word.startswith("-"):
            _, equals, value = word.partition("=")
            if not equals:
                continue
        if _CLEAR_PATH.fullmatch(value) or (
            program in _FILE_PROGRAMS and not word.startswith("-") and not _NUMBER.fullmatch(word)
        ):
            _note(value, cwd, found)


_WINDOWS_DELETES: Final = {"rd": "/s", "rmdir": "/s", "del": "/s", "erase": "/s", "remove-item": "-rec", "ri": "-rec"}
"""What deletes on Windows, and the switch that makes it take all that is below."""
_STATEMENTS: Final = frozenset({"drop", "truncate", "delete", "update"})
_ONTO_DISK: Final = re.compile(r"of=/dev/(?!null\b|zero\b|std|tty|fd/|shm/)")
_SWITCH: Final = re.compile(r"/[a-zA-Z]")


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _destroyed(program: str, rest: Sequence[str], cwd: str) -> Destruction | None:
    if program == "rm":
        force = any(_FORCE.fullmatch(w) or w == "--force" for w in rest)
        recursive = any(_RECURSIVE.fullmatch(w) or w == "--recursive" for w in rest)
        return Destruction("rm", _at(cwd, _plain(rest))) if force and recursive else None
    if program == "find":
        if "-delete" in rest or ("-exec" in rest and rest[rest.index("-exec") + 1 : rest.index("-exec") + 2] == ["rm"]):
            starts = []
            for word in rest:
                if word.startswith("-"):
                    break
                starts.append(word)
            return Destruction("find_delete", _at(cwd, starts or ["."]))
        return None
    if program.startswith("mkfs") or (program == "dd" and any(_ONTO_DISK.match(w) for w in rest)):
        return Destruction("disk", tuple(w.removeprefix("of=") for w in rest if "/dev/" in w))
    if program == "git":
        return _by_git(list(rest), cwd)
    program = program.lower()
    if program in SQL_CLIENTS:
        return next(iter(in_sql(" ; ".join(rest))[1]), None)
    if program in _STATEMENTS:  # a line of what a client is given to read
        return next(iter(in_sql(" ".join((program, *rest)))[1]), None)
    if program in _WINDOWS_DELETES:
        wanted = _WINDOWS_DELETES[program]
        if any(w.lower().startswith(wanted) for w in rest):
            named = [w for w in rest if not w.startswith("-") and not _SWITCH.fullmatch(w)]
            return Destruction("rm", _at(cwd, named or ["."]))  # what another command lists, here as a rule
        return None
    what = destroyed_by(program, list(rest))
    return Destruction(what, tuple(w for w in rest if not w.startswith("-"))) if what else None


def _by_git(rest: list[str], cwd: str) -> Destruction | None:
    while rest and rest[0] in ("-C", "-c", "--git-dir", "--work-tree"):
        if rest[0] == "-C" and len(rest) > 1:
            cwd = joined(cwd, rest[1])
        rest = rest[2:]
    if not rest:
        return None
    verb, options = rest[0], rest[1:]
    tree = (cwd,) if cwd else ()
    if verb == "reset" and "--hard" in options:
        return Destruction("git_reset", tree)
    if verb == "clean" and any(_FORCE.fullmatch(w) or w == "--force" for w in options):
        dry = any(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-run", w) for w in options)
        parts = _at(cwd, _plain(options))
        return None if dry else Destruction("rm", parts) if parts else Destruction("git_clean", tree)
    if verb == "checkout" and ("--" in options or "." in options):
        files = options[options.index("--") + 1 :] if "--" in options else ["."]
        return Destruction("git_checkout", _at(cwd, files))
    if verb == "push" and (branch := overwrites_branch(options)):
        return Destruction("git_push", (branch,))
    if verb == "push" and ("-f" in options or "--force" in options):
        return Destruction("git_force", tuple(_plain(options)[1:]))
    if verb == "restore" and "--staged" not in options and _plain(options):
        return Destruction("git_checkout", _at(cwd, _plain(options)))
    return None


_HOME: Final = re.compile(r"(?:\$\{?HOME\}?|\$env:USERPROFILE|%USERPROFILE%)(?=[/\\]|$)", re.IGNORECASE)


def _at(cwd: str, words: Sequence[str]) -> tuple[str, ...]:
    at_home = (_HOME.sub("~", word) for word in words)
    return tuple(joined(cwd, word) for word in at_home if not _UNKNOWN.search(word))


# ------------------------------------------------------------------------------------------------------------------ SQL

_NOISE: Final = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
_NO_SOURCE: Final = re.compile(
    r"\b(?:extract|substring|trim|overlay|position)\s*\([^()]*\)|\bis\s+(?:not\s+)?distinct\s+from\b", re.IGNORECASE
)
_NAME: Final = r"[\w$\"`\[\]]+(?:\s*\.\s*[\w$\"`\[\]]+){0,3}"
_SOURCE: Final = re.compile(
    rf"\b(?:from|join|into|update|table|truncate)\s+(?:table\s+)?(?:if\s+(?:not\s+)?exists\s+|only\s+)?"
    rf"({_NAME}(?:\s+(?:as\s+)?\w+)?(?:\s*,\s*{_NAME}(?:\s+(?:as\s+)?\w+)?)*)(\s*\()?",
    re.IGNORECASE,
)
_DEFINED: Final = re.compile(
    r"(?:\bwith\s+(?:recursive\s+)?|,\s*)(\w+)\s*(?:\([^()]*\)\s*)?as\s*(?:not\s+)?(?:materialized\s*)?\(",
    re.IGNORECASE,
)
_KEYWORDS: Final = frozenset({"select", "set", "values", "where", "lateral", "unnest", "only", "table"})
_DROPPED: Final = re.compile(
    r"\bdrop\s+(?:table|database|schema|keyspace|collection)\b|(?:^|[\"'])\s*truncate\s+(?:table\s+)?[\w\"`\[]",
    re.IGNORECASE,
)
_DELETED: Final = re.compile(
    r"\b(?:delete\s+from|update\s+[\w.$\"`\[\]]+\s+set)\b(?!.*\b(?:where|limit|join|using)\b)",
    re.IGNORECASE | re.DOTALL,
)


def in_sql(text: str) -> tuple[tuple[str, ...], tuple[Destruction, ...]]:
    """Tables that SQL names, lower case, and what it destroys as a whole."""
    tables: dict[str, None] = {}
    destroys: list[Destruction] = []
    for statement in _NO_SOURCE.sub(" ", _NOISE.sub(" ", text)).split(";"):
        defined = {name.lower() for name in _DEFINED.findall(statement)}
        named: dict[str, None] = {}
        for sources, called in _SOURCE.findall(statement):
            parts = sources.split(",")
            for number, part in enumerate(parts):
                name = re.sub(r"[\s\"`\[\]]", "", re.match(_NAME, part.strip())[0]).lower()  # type: ignore[index]
                is_function = called and number == len(parts) - 1 and "into" not in statement.lower()
                if name and name not in _KEYWORDS and name not in defined and not is_function:
                    named[name] = None
        tables |= named
        if _DROPPED.search(statement):
            destroys.append(Destruction("drop", tuple(named)))
        elif _DELETED.search(statement):
            destroys.append(Destruction("delete_all", tuple(named)))
    return tuple(tables), tuple(destroys)
