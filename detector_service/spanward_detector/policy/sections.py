"""The sections of a policy that need a look of their own: rules, orders, arguments, models, the judge, meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit

from spanward.facts.allow import ArgumentRule, PatternError, compiled

from spanward_detector.cel_rules import CelError, program
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.model import NUMBERED
from spanward_detector.policy.source import instead
from spanward_detector.sections import CustomRule, JudgePolicy, ModelPolicy, OrderRule, SemanticPolicy

if TYPE_CHECKING:
    from spanward_detector.policy.source import Path

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_MAX_CUSTOM: Final = 64
_SHARES: Final = ("topic", "grounded", "share")
_AT_LEAST: Final = {"sentences": 1, "max_sentences": 1, "max_chars": 1_000}
_T = TypeVar("_T")


class Reader(Protocol):
    """What the sections need of the reader of the whole policy."""

    def record(self, data: object, path: Path, base: _T) -> _T: ...
    def mapping(self, data: object, path: Path) -> dict[str, Any]: ...
    def unknown(self, data: dict[str, Any], known: Iterable[str], path: Path, what: str) -> None: ...
    def problem(self, path: Path, message: str, hint: str = "") -> None: ...


class SectionReader:
    """Reads them; problems go to the reader of the whole policy."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def _records(self, data: object, path: Path, base: _T) -> list[tuple[Path, _T]]:
        if not isinstance(data, list):
            self._reader.problem(path, f"{path[-1]} is not a list", "begin each entry with a dash")
            return []
        return [((*path, n), self._reader.record(item, (*path, n), base)) for n, item in enumerate(data)]

    def order(self, data: object, base: tuple[OrderRule, ...]) -> tuple[OrderRule, ...]:
        """Which tool comes before which."""
        if data is None:
            return base
        rules = self._records(data, ("order",), OrderRule())
        for path, rule in rules:
            if not rule.before or not rule.after or rule.before == rule.after:
                self._reader.problem(path, "an order needs two tools", "write {before: check, after: pay}")
        return tuple(rule for _, rule in rules)

    def models(self, data: object) -> dict[str, ModelPolicy]:
        """Prices and context windows."""
        table = self._reader.mapping(data, ("models",)) if data is not None else {}
        return {name: self._reader.record(body, ("models", name), ModelPolicy()) for name, body in table.items()}

    def arguments(self, data: object, path: Path) -> dict[str, ArgumentRule]:
        """What the arguments of a tool may be."""
        out = {}
        for name, body in self._reader.mapping(data, path).items():
            out[name] = rule = self._reader.record(body, (*path, name), ArgumentRule())
            for key in ("allow", "deny"):
                self._patterns(getattr(rule, key), (*path, name, key))
        return out

    def _patterns(self, values: tuple[str, ...], path: Path) -> None:
        for n, value in enumerate(values):
            try:
                compiled(str(value))
            except PatternError as error:
                self._reader.problem(
                    (*path, n), str(error), "write a value, or an RE2 pattern as in /.*@example\\.com/"
                )

    def custom(self, data: object, base: tuple[CustomRule, ...]) -> tuple[CustomRule, ...]:
        """The user's own rules, each compiled once to see that it can be."""
        if data is None:
            return base
        rules = self._records(data, ("custom",), CustomRule())
        if len(rules) > _MAX_CUSTOM:
            self._reader.problem(("custom",), f"{len(rules)} rules", f"at most {_MAX_CUSTOM} are taken")
        seen: set[str] = set()
        for path, rule in rules:
            for check in _CUSTOM:
                check(self._reader, path, rule)
            if str(rule.name) in seen:
                self._reader.problem((*path, "name"), f"{rule.name!r} stands twice", "keep one, or rename it")
            seen.add(str(rule.name))
        return tuple(rule for _, rule in rules)

    def judge(self, data: object, base: JudgePolicy) -> JudgePolicy:
        """The model that is asked for its opinion."""
        judge = self._reader.record(data or {}, ("judge",), base)
        if judge.endpoint and not _is_url(judge.endpoint):
            self._reader.problem(("judge", "endpoint"), f"{judge.endpoint!r} is no URL", "write http://host:port/v1")
        if judge.endpoint and not judge.model:
            self._reader.problem(("judge",), "the judge has no model", "write model: and its name")
        for n, name in enumerate(judge.ask_on):
            if not isinstance(name, str) or name not in FAILURE_TYPES:
                hint = instead(str(name), FAILURE_TYPES)
                self._reader.problem(("judge", "ask_on", n), f"there is no failure type {name!r}", hint)
        return judge

    def semantic(self, data: object, base: SemanticPolicy) -> SemanticPolicy:
        """The model that holds answers against requests and results."""
        section = self._reader.record(data or {}, ("semantic",), base)
        for key in _SHARES:
            value = getattr(section, key)
            if isinstance(value, int | float) and value > 1:
                self._reader.problem(("semantic", key), f"{key}: {value:g} is more than 1", "write 0 to 1")
        for key, low in _AT_LEAST.items():
            value = getattr(section, key)
            if isinstance(value, int | float) and value < low:
                self._reader.problem(("semantic", key), f"{key}: {value:g} is too little", f"write {low} or more")
        return section


def _is_url(endpoint: str) -> bool:
    try:
        return urlsplit(str(endpoint)).scheme in ("http", "https")
    except ValueError:
        return False


def _named(reader: Reader, path: Path, rule: CustomRule) -> None:
    if not _NAME.fullmatch(str(rule.name)):
        hint = "write name: and lower-case letters, digits, - and _, at most 60"
        reader.problem((*path, "name"), f"{rule.name!r} is no name of a rule", hint)


def _of_known_kinds(reader: Reader, path: Path, rule: CustomRule) -> None:
    known = sorted(map(str, NUMBERED))
    for n, kind in enumerate(rule.kinds):
        if kind not in known:
            reader.problem((*path, "kinds", n), f"there is no kind of step {kind!r}", instead(str(kind), known))


def _compiled(reader: Reader, path: Path, rule: CustomRule) -> None:
    try:
        program(str(rule.when))
    except CelError as error:
        reader.problem((*path, "when"), f"rule {rule.name}: {error}", error.hint)


_CUSTOM: Final[tuple[Callable[[Reader, Path, CustomRule], None], ...]] = (_named, _of_known_kinds, _compiled)
