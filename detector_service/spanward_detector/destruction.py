"""Destruction at large: more than a run may have made, and nobody asked for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from spanward.facts.commands import Destruction

from spanward_detector.naming import words
from spanward_detector.text.heard import Heard
from spanward_detector.text.quick import Quick
from spanward_detector.text.wishes import names, wants_all, wants_gone

_TURNS_BACK: Final = frozenset({"rollback", "restore", "revert", "undo", "checkpoint", "rewind", "reset"})
_WHOLE: Final = re.compile(
    r"(?:\./|\.\./)*(?:\.|\.\.|\*|:/|~|~/|~/\*)/?|(?:.*/)?\.git(?:[._-]?(?:bak|backup|old|orig))?/?"
)
_SETTINGS: Final = re.compile(
    r"(?:~|/home/[^/]+|/root|/Users/[^/]+)"
    r"/\.(?!(?:cache|npm|yarn|pnpm-store|gradle|m2|cargo|tmp|Trash)\b)[^/*]+/?",
)
"""What a person keeps in a home, but for caches that fill again by themselves."""
_SYSTEM: Final = re.compile(
    r"/\*?|/(?:etc|usr|bin|sbin|lib|lib64|boot|dev|opt|srv|sys|proc)(?:/.*)?|/(?:var|home|root|users|mnt)/?\*?"
    r"|/home/[^/]+/?\*?|[A-Za-z]:/*\*?|[A-Za-z]:/(?:windows|program files[^/]*|users(?:/[^/]+)?)(?:/\*?)?",
    re.IGNORECASE,
)
_AT_LARGE: Final = frozenset({"git_reset", "git_clean", "git_push", "disk"})
_DATA: Final = frozenset({"database", "drop", "delete_all", "infrastructure", "volumes"})
_TREES: Final = {"git_reset": "reset", "git_clean": "git clean", "git_checkout": "git checkout"}
"""What takes everything there is, where a person may have meant one thing; and how people call it by its name."""
_GENERAL: Final = frozenset({"git_push", "database", "infrastructure", "volumes"})
"""What people ask for without naming it."""
_ROUTINE: Final = frozenset({"volumes"})
"""What developers throw away every day: only where people are known not to have asked for it."""
_SPARE: Final = re.compile(
    r"(?:^|[^a-z])(?:te?mp|temporary|tests?|testing|scratch|staging|stg|old|bak|backup|copy|dummy|demo|sample|example|dev"
    r"|development|local|localhost|127\.0\.0\.1|sandbox|memory|ci)(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""Names of what is there to be thrown away."""
_LIVE: Final = re.compile(r"(?:^|[^a-z])(?:prod|production|live|customers?)(?:[^a-z]|$)", re.IGNORECASE)
_DESTROYS: Final = Quick(
    r"(?i)\b(?:rm|rd|ri|rmdir|del|erase|remove|drop|dropdb|delete|destroy|truncate|update|reset|flush\w*|clean|clear-disk|format"
    r"|git|mkfs|dd|shred|wipefs|blkdiscard|down|downgrade|rollback|prune|terminate-instances|undo|wipe|rb|fresh|refresh|push)\b"
    r"|-delete|accept-data-loss|force-reset|mkfs|remove-item|db:|dropdatabase|deletemany"
)
"""One of these stands in every command that destroys."""


def may_destroy(action: str, arguments: str) -> bool:
    """Whether it is worth looking into a call: every tool call comes by here."""
    return not _only_reads(action) and _DESTROYS.search(arguments) is not None


def first_at_large(found: Iterable[Destruction], arguments: str, heard: Heard) -> Destruction | None:
    """The first destruction that is at large and that nobody asked for.

    Args:
        found: what the call destroys.
        arguments: of the call, where the destruction names no command of its own.
        heard: what people said, as far as it is known.
    """
    asked = heard.requests
    wanted: bool | None = None
    for destruction in found:
        large = _is_large(destruction, arguments) or (destruction.what == "git_force" and heard.told("[rejected]"))
        if not large or (destruction.what in _ROUTINE and not asked):
            continue
        wanted = wants_gone(asked) if wanted is None else wanted
        if not (wanted and _named(destruction, asked)):
            return destruction
    return None


def holds_moved(found: Iterable[Destruction], moved: tuple[str, ...]) -> str:
    """The folder that a call removes with what the run has moved into it; "" for none."""
    targets = (
        target.rstrip("/") for destruction in found if destruction.what == "rm" for target in destruction.targets
    )
    return next((target for target in targets if any(m == target or m.startswith(f"{target}/") for m in moved)), "")


def unwanted(heard: Heard) -> bool:
    """People are known to have asked for something, and not for anything to go."""
    return bool(heard.requests) and not wants_gone(heard.requests)


def _is_large(destruction: Destruction, arguments: str) -> bool:
    targets = destruction.targets
    if destruction.what in _AT_LARGE:
        return True
    if destruction.what in _DATA:
        told = destruction.command or arguments
        return _SPARE.search(told) is None or _LIVE.search(told) is not None
    if destruction.what == "find_delete":
        return any(_SYSTEM.fullmatch(t) or t.startswith("~") for t in targets)
    if destruction.what in ("rm", "git_checkout"):
        return any(_WHOLE.fullmatch(t) or _SYSTEM.fullmatch(t) or _SETTINGS.fullmatch(t) for t in targets)
    return False


def _named(destruction: Destruction, asked: tuple[str, ...]) -> bool:
    """Whether a person who wants something gone can have meant this."""
    if destruction.what in _TREES:
        return wants_all(asked) or any(_TREES[destruction.what] in text.lower() for text in asked)
    if destruction.what in _GENERAL or not destruction.targets:
        return True
    bare = destruction.what in ("drop", "delete_all")
    return any(names(asked, target.rpartition(".")[2] if bare else target) for target in destruction.targets)


_ENDS: Final = frozenset({"delete", "drop", "destroy", "wipe", "purge", "terminate", "truncate", "erase", "flush"})
_WHOLES: Final = frozenset({
    "database", "db", "table", "tables", "volume", "cluster", "namespace", "bucket", "project", "repository", "repo",
    "account", "instance", "environment", "workspace", "server", "disk", "tenant", "organization", "stack", "schema",
    "collection", "index", "branch",
})  # fmt: skip


@lru_cache(maxsize=1024)
def ends_whole(action: str) -> bool:
    """True for the name of a tool that destroys a whole that others have filled."""
    name = words(action)
    return not _ENDS.isdisjoint(name) and not _WHOLES.isdisjoint(name)


_READS: Final = frozenset({"search", "read", "get", "list", "fetch", "find", "view", "glob", "grep", "browse"})
_RUNS: Final = frozenset({
    "database", "db", "sql", "query", "execute", "exec", "run", "shell", "bash", "terminal", "command", "cmd", "code",
    "python",
})  # fmt: skip


@lru_cache(maxsize=1024)
def _only_reads(action: str) -> bool:
    """True for the name of a tool that reads, and not by running what it is given."""
    name = words(action)
    return not name.isdisjoint(_READS) and name.isdisjoint(_RUNS)


@lru_cache(maxsize=1024)
def turns_back(action: str) -> bool:
    """True for the name of a tool that turns work back."""
    return not words(action).isdisjoint(_TURNS_BACK)
