"""Command lines and SQL, taken apart as far as they can be without running them."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple


class Destruction(NamedTuple):
    """Something that a command destroys for good.

    Attributes:
        what: rm, git_reset, git_clean, git_checkout, find_delete, disk, drop or delete_all.
        targets: what it is destroyed, as written; empty = all of the working tree.
    """

    what: str
    targets: tuple[str, ...] = ()


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
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
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
    for command in _commands(line):
        words = _without_prefixes(_redirected(command, cwd, found))
        if not words:
            continue
        program, rest = words[0].rpartition("/")[2], words[1:]
        if program == "cd":
            target = next((w for w in rest if not w.startswith("-")), "~")
            if not _UNKNOWN.search(target):
                cwd = joined(cwd, target)
            continue
        if program in _SHELLS and "-c" in rest[:-1] and depth < _NESTED:
            inner = in_command(rest[rest.index("-c") + 1], cwd, depth + 1)
            found.paths += inner.paths
            found.urls += inner.urls
            found.destroys += inner.destroys
            continue
        _arguments(program, rest, cwd, found)
        if (lost := _destroyed(program, rest, cwd)) is not None:
            found.destroys.append(lost)
    return found


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
    return words[at:]


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
    if program.startswith("mkfs") or (program == "dd" and any(w.startswith("of=/dev/") for w in rest)):
        return Destruction("disk", tuple(w.removeprefix("of=") for w in rest if "/dev/" in w))
    return _by_git(list(rest), cwd) if program == "git" else None


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
    if verb == "restore" and "--staged" not in options and _plain(options):
        return Destruction("git_checkout", _at(cwd, _plain(options)))
    return None


def _at(cwd: str, words: Sequence[str]) -> tuple[str, ...]:
    return tuple(joined(cwd, word) for word in words if not _UNKNOWN.search(word))


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
_DROPPED: Final = re.compile(r"\b(?:drop\s+(?:table|database|schema)|truncate)\b", re.IGNORECASE)
_DELETED: Final = re.compile(r"\bdelete\s+from\b(?!.*\bwhere\b)", re.IGNORECASE | re.DOTALL)


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
