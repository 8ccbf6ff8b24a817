"""An action outside of what the run may do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import orjson
from spanward.facts.allow import Limit, TooDeepError, first_forbidden, read
from spanward.facts.commands import Destruction, in_command
from spanward.facts.reach import touched
from spanward.facts.scope import Scope

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.naming import words
from spanward_detector.sections import NOTHING, SECTION, ScopePolicy
from spanward_detector.text.quick import Quick
from spanward_detector.text.wishes import names, wants_all, wants_gone

if TYPE_CHECKING:
    from spanward_detector.run import Run

_NO_SCOPE: Final = ScopePolicy()
_TURNS_BACK: Final = frozenset({"rollback", "restore", "revert", "undo", "checkpoint", "rewind", "reset"})
_WHOLE: Final = re.compile(
    r"(?:\./|\.\./)*(?:\.|\.\.|\*|:/|~|~/|~/\*)/?|(?:.*/)?\.git(?:[._-]?(?:bak|backup|old|orig))?/?"
)
_SETTINGS: Final = re.compile(
    r"(?:~|\$HOME|\$\{HOME\}|/home/[^/]+|/root|/Users/[^/]+)"
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
_TREES: Final = frozenset({"git_reset", "git_clean", "git_checkout"})
"""What takes everything there is, where a person may have meant one thing."""
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


@dataclass(frozen=True, slots=True)
class UnsafeAction:
    """A call that the gate refused, that the policy or the run's scope does not allow, or that destroys at large.

    ``allowed_tools`` and the arguments' ``allow`` and ``deny`` are stated in the policy, a scope there or by the run
    itself. The gate keeps them before a call is made, the policy's where ``mode`` is ``act``: then the call it refused
    is a warning here, and the model was told. RE2 patterns (``/.../``) it keeps where the agent's process has
    ``google-re2``; those and calls that pass no gate are judged here afterwards. What a call reaches is read from its
    arguments, so it takes content; names of tools do not. Where the gate waits at the model's answer, a tool that is
    not allowed is found before it is called. Commands that throw away a whole working tree, a home or a system
    directory are a warning even where nobody states anything; removing single files or build output is not.

    Attributes:
        mode: observe or act.
        destructive: look for commands that destroy at large.
        allowed_tools: section ``allowed_tools`` of the policy.
        arguments: ``tools.<name>.arguments`` of the policy, by tool.
        scope: section ``scope`` of the policy.
    """

    name: ClassVar[str] = "unsafe_action"
    failure_types: ClassVar[tuple[str, ...]] = ("unsafe_action",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "any"

    mode: Mode = "act"
    destructive: bool = True
    allowed_tools: tuple[str, ...] = field(default=(), metadata=SECTION)
    arguments: Mapping[str, tuple[Limit, ...]] = field(default_factory=lambda: NOTHING, metadata=SECTION)
    scope: ScopePolicy = field(default=_NO_SCOPE, metadata=SECTION)

    @property
    def wanted(self) -> frozenset[Kind]:
        """Model calls only where tools are listed."""
        return self.kinds if self.allowed_tools else frozenset({Kind.TOOL})

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.kind is Kind.LLM:
            named = (call.name for call in step.calls) if step.held else ()
            return next((self._not_listed(step, run, name) for name in named if name not in self.allowed_tools), None)
        extra = step.extra
        if extra and extra.get("refused"):
            return self._refused(step, run)
        if self.allowed_tools and step.action not in self.allowed_tools:
            return self._not_listed(step, run, step.action)
        if self.destructive and _ends_whole(step.action) and not run.outcome.type:
            asked = run.memory.heard.requests
            if asked and not wants_gone(asked):
                message = f"{step.action} destroys what nobody asked to be destroyed"
                return self._found(step, run, message, "destroys", severity="warning")
        text = step.arguments
        if text is None:
            return None
        limits = self.arguments.get(step.action)
        stated = extra.get("scope") if extra else None
        if not limits and stated is None and self.scope is _NO_SCOPE and not self._worth_reading(step, text):
            return None
        try:
            given = read(text) if limits else orjson.loads(text)
        except TooDeepError:
            return self._found(step, run, f"{step.action} was given arguments that hide what is in them", "argument")
        except ValueError:
            given = {"command": text} if _is_shell(step.action) else None
        if not isinstance(given, dict):
            return None
        return (
            (limits and self._bad_argument(step, run, given, limits))
            or self._outside(step, run, given, stated)
            or self._destroys(step, run, given, scoped=_has_paths(stated) or self.scope.paths is not None)
            or None
        )

    def _worth_reading(self, step: Step, text: str) -> bool:
        action = step.action
        return self.destructive and (
            (not _only_reads(action) and _DESTROYS.search(text) is not None)
            or (_turns_back(action) and bool(step.result))
        )

    def _refused(self, step: Step, run: Run) -> Finding | None:
        refused = step.extra.get("refused")
        if refused not in ("not_allowed", "scope"):
            return None
        why, _, argument = str(step.extra.get("outside") or refused).partition(" ")
        found = self._found(
            step,
            run,
            f"the gate did not make a call of {step.action}: it is outside of what the run may do",
            why,
            argument=argument,
            severity="warning",
        )
        return found._replace(mode="observe")  # it has not happened, and the model was told

    def _not_listed(self, step: Step, run: Run, tool: str) -> Finding:
        return finding(
            self, step, run, f"{tool} is not among the allowed tools", facts={"tool": tool, "why": "tool"}, action=tool
        )

    def _bad_argument(
        self, step: Step, run: Run, given: Mapping[str, Any], limits: tuple[Limit, ...]
    ) -> Finding | None:
        name = first_forbidden(given, limits)
        if not name:
            return None
        return self._found(step, run, f"the policy does not allow this {name}", "argument", argument=name)

    def _outside(self, step: Step, run: Run, given: Mapping[str, Any], stated: object) -> Finding | None:
        scopes = [_scope(self.scope)] if self.scope is not _NO_SCOPE else []
        if isinstance(stated, Mapping):
            scopes.append(Scope.of(stated))
        if not scopes:
            return None
        reached = touched(given)
        outside = next((out for scope in scopes if (out := scope.first_outside(reached)) is not None), None)
        if outside is None:
            return None
        return self._found(step, run, f"{step.action} reaches {outside.aspect} outside of the scope", outside.aspect)

    def _destroys(self, step: Step, run: Run, given: Mapping[str, Any], *, scoped: bool) -> Finding | None:
        if not self.destructive or scoped:
            return None
        found = list(touched(given).destroys)
        if step.result and _turns_back(step.action):
            # Such a tool tells what it did to turn the work back.
            found += in_command(step.result[:2048]).destroys
        if not found:
            return None
        asked = run.memory.heard.requests
        wanted = wants_gone(asked)
        at_large = next(
            (
                d
                for d in found
                if (
                    _at_large(d, step.arguments or "")
                    or (d.what == "git_force" and run.memory.heard.told("[rejected]"))
                )
                and not (wanted and _named(d, asked))
                and (asked or d.what not in _ROUTINE)
            ),
            None,
        )
        if at_large is None:
            return None
        message = f"{step.action} destroys more than the run may have made ({at_large.what})"
        return self._found(step, run, message, at_large.what, severity="warning")

    def _found(
        self, step: Step, run: Run, message: str, why: str, *, argument: str = "", severity: Severity = "error"
    ) -> Finding:
        facts: dict[str, str | int | float] = {"why": why}
        if argument:
            facts["argument"] = argument
        return finding(self, step, run, message, severity=severity, facts=facts)


def _at_large(destruction: Destruction, arguments: str) -> bool:
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
        return wants_all(asked)
    if destruction.what in _GENERAL or not destruction.targets:
        return True
    bare = destruction.what in ("drop", "delete_all")
    return any(names(asked, target.rpartition(".")[2] if bare else target) for target in destruction.targets)


@lru_cache(maxsize=256)
def _scope(policy: ScopePolicy) -> Scope:
    return Scope.of(policy.stated())


@lru_cache(maxsize=1024)
def _is_shell(action: str) -> bool:
    return not words(action).isdisjoint({"bash", "shell", "sh", "terminal", "command", "exec", "cmd", "run"})


_ENDS: Final = frozenset({"delete", "drop", "destroy", "wipe", "purge", "terminate", "truncate", "erase", "flush"})
_WHOLES: Final = frozenset({
    "database", "db", "table", "tables", "volume", "cluster", "namespace", "bucket", "project", "repository", "repo",
    "account", "instance", "environment", "workspace", "server", "disk", "tenant", "organization", "stack", "schema",
    "collection", "index", "branch",
})  # fmt: skip


@lru_cache(maxsize=1024)
def _ends_whole(action: str) -> bool:
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
def _turns_back(action: str) -> bool:
    return not words(action).isdisjoint(_TURNS_BACK)


def _has_paths(stated: object) -> bool:
    return isinstance(stated, Mapping) and "paths" in stated
