"""An action outside of what the run may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import orjson
from spanward.facts.allow import Limit, TooDeepError, first_forbidden, read
from spanward.facts.commands import in_command
from spanward.facts.reach import touched
from spanward.facts.scope import Scope

from spanward_detector.destruction import ends_whole, first_at_large, holds_moved, may_destroy, turns_back, unwanted
from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.naming import words
from spanward_detector.sections import NOTHING, SECTION, ScopePolicy
from spanward_detector.text.wishes import wants_gone

if TYPE_CHECKING:
    from spanward_detector.run import Run

_NO_SCOPE: Final = ScopePolicy()


@dataclass(frozen=True, slots=True)
class UnsafeAction:
    """A call that the gate refused, that the policy or the run's scope does not allow, or that destroys at large.

    ``allowed_tools`` and the arguments' ``allow`` and ``deny`` are stated in the policy, a scope there or by the run
    itself. The gate keeps them before a call is made, the policy's where ``mode`` is ``act``: then the call it refused
    is a warning here, and the model was told. RE2 patterns (``/.../``) it keeps where the agent's process has
    ``google-re2``; those and calls that pass no gate are judged here afterwards. What a call reaches is read from its
    arguments, so it takes content; names of tools do not. Where the gate waits at the model's answer, a tool that is
    not allowed is found before it is called.

    Commands that throw away a whole working tree, a home, a system directory, a database, infrastructure or what
    others have pushed are a warning even where nobody states anything, unless a person asked for it; removing single
    files, build output, and what is named for tests is not. A tool whose name says that it deletes such a thing is
    observed where people are known to have asked for something else.

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
        if self.destructive and ends_whole(step.action) and not run.outcome.type and unwanted(run.memory.heard):
            message = f"{step.action} destroys what nobody asked to be destroyed"
            # No more than a name speaks for it.
            return self._found(step, run, message, "destroys", severity="warning")._replace(mode="observe")
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
        return self.destructive and (may_destroy(step.action, text) or (turns_back(step.action) and bool(step.result)))

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
        if step.result and turns_back(step.action):
            # Such a tool tells what it did to turn the work back.
            found += in_command(step.result[:2048]).destroys
        work = run.memory.work
        if work.clean:
            found = [destruction for destruction in found if destruction.what != "git_checkout"]
        if (moved := holds_moved(found, work.moved)) and not wants_gone(run.memory.heard.requests):
            message = f"{step.action} removes {moved}, where the run has moved things"
            return self._found(step, run, message, "moved", severity="warning")
        at_large = first_at_large(found, step.arguments or "", run.memory.heard)
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


@lru_cache(maxsize=256)
def _scope(policy: ScopePolicy) -> Scope:
    return Scope.of(policy.stated())


@lru_cache(maxsize=1024)
def _is_shell(action: str) -> bool:
    return not words(action).isdisjoint({"bash", "shell", "sh", "terminal", "command", "exec", "cmd", "run"})


def _has_paths(stated: object) -> bool:
    return isinstance(stated, Mapping) and "paths" in stated
