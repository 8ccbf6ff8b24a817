"""From YAML text to a validated :class:`Policy`: driven by the dataclasses, every problem told with its line."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import types
import typing
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar

from spanward.semconv import SIDE_EFFECTS

from spanward_detector.detectors import DETECTORS
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.policy.model import RUNG_KINDS, Ladder, Policy, Rung, Strategy, ToolPolicy
from spanward_detector.policy.sections import SectionReader
from spanward_detector.policy.source import MAX_PROBLEMS, Path, PolicyError, Problem, Source, instead, parse

VERSION: Final = 1
MAX_NUMBER: Final = 2**31 - 1
"""What every side can hold: a gate, the store, a clock."""
_RUNG: Final = re.compile(r"([a-z_]+)(?:\s+x\s*(\d{1,3}))?")
_T = TypeVar("_T")


@cache
def rule_fields() -> Mapping[str, Mapping[str, Any]]:
    """Thresholds of every rule: name of the rule → name of the field → its type."""
    table = {}
    for detector in DETECTORS:
        hints = typing.get_type_hints(detector)
        own = [f.name for f in dataclasses.fields(detector) if f.init and not f.metadata.get("section")]
        table[detector.name] = {name: hints[name] for name in own}
    return table


def load(source: str | FilePath) -> Policy:
    """A policy from a file (a path) or from its text, on top of the default policy.

    Sections that are written replace the default's entries key by key: a ladder for ``loop`` replaces that one ladder.
    A folder that the file names is one from the file's own folder on.

    Raises:
        PolicyError: with every problem found.
        OSError: the file cannot be read.
    """
    name = str(source) if isinstance(source, FilePath) else "policy"
    text = source.read_text(encoding="utf-8") if isinstance(source, FilePath) else source
    policy, problems = read(text)
    errors = [p for p in problems if p.level == "error"]
    if errors or policy is None:
        raise PolicyError(errors, name)
    if isinstance(source, FilePath) and (folder := policy.semantic.model):
        beside = str(source.parent / FilePath(folder).expanduser())  # what is absolute stays as it is
        return dataclasses.replace(policy, semantic=dataclasses.replace(policy.semantic, model=beside))
    return policy


@cache
def default() -> Policy:
    """The policy that is in force when none is given."""
    text = default_text()
    policy, problems = _Reader(parse(text), Policy()).policy(text)
    if problems:
        raise PolicyError(problems, "default.yaml")
    return policy


def default_text() -> str:
    """Source of the default policy."""
    return files("spanward_detector.policy").joinpath("default.yaml").read_text(encoding="utf-8")


def read(text: str) -> tuple[Policy | None, list[Problem]]:
    """The policy and every problem; None when the text is not YAML."""
    try:
        return _Reader(parse(text), default()).policy(text)
    except PolicyError as error:
        return None, list(error.problems)


def _not_a(hint: Any, value: object) -> str:
    """What the value should have been, in words; "" when it is that."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits, words = {
        bool: (isinstance(value, bool), "true or false"),
        int: (number and isinstance(value, int), "a whole number"),
        float: (number and value == value, "a number"),
        str: (isinstance(value, str), "text"),
    }.get(hint, (True, ""))
    return "" if fits else words


class _Reader:
    """Walks the parsed source once and collects problems."""

    def __init__(self, source: Source, base: Policy) -> None:
        self.source = source
        self.base = base
        self.problems: list[Problem] = []
        self.sections = SectionReader(self)

    def policy(self, text: str) -> tuple[Policy, list[Problem]]:
        base = self.base
        data = self.mapping(self.source.data, ())
        sections = {f.name for f in dataclasses.fields(Policy)}
        self.unknown(data, sections, (), "a policy has no section")
        if (version := data.get("version", VERSION)) != VERSION:
            self.problem(("version",), f"version {version!r} is not known", f"write version: {VERSION}")
        policy = dataclasses.replace(
            base,
            version=hashlib.sha256(text.encode()).hexdigest(),
            rules={**base.rules, **self.rules(data.get("rules") or {})},
            ladders={**base.ladders, **self.ladders(data.get("ladders") or {}, ("ladders",))},
            strategies={**base.strategies, **self.strategies(data.get("strategies") or {})},
            tools={**base.tools, **self.tools(data.get("tools") or {})},
            budget=self.record(data.get("budget") or {}, ("budget",), base.budget),
            limits=self.record(data.get("limits") or {}, ("limits",), base.limits),
            breaker=self.record(data.get("breaker") or {}, ("breaker",), base.breaker),
            pause=self.record(data.get("pause") or {}, ("pause",), base.pause),
            allowed_tools=self.names(data.get("allowed_tools"), base.allowed_tools),
            order=self.sections.order(data.get("order"), base.order),
            scope=self.record(data.get("scope") or {}, ("scope",), base.scope),
            models={**base.models, **self.sections.models(data.get("models"))},
            custom=self.sections.custom(data.get("custom"), base.custom),
            judge=self.sections.judge(data.get("judge"), base.judge),
            semantic=self.sections.semantic(data.get("semantic"), base.semantic),
        )
        return policy, self.problems

    # ------------------------------------------------------------------------------------------------- sections

    def rules(self, data: object) -> dict[str, Mapping[str, object]]:
        known = rule_fields()
        out: dict[str, Mapping[str, object]] = {}
        for name, body in self.mapping(data, ("rules",)).items():
            path: Path = ("rules", name)
            if name not in known:
                self.problem(path, f"there is no rule {name!r}", instead(name, known))
                continue
            values = self.mapping(body, path)
            self.unknown(values, known[name], path, f"rule {name} has no threshold")
            out[name] = {
                key: self.value(value, known[name][key], (*path, key))
                for key, value in values.items()
                if key in known[name]
            }
        return out

    def ladders(self, data: object, path: Path) -> dict[str, Ladder]:
        out: dict[str, Ladder] = {}
        for failure_type, rungs in self.mapping(data, path).items():
            here = (*path, failure_type)
            if failure_type not in FAILURE_TYPES:
                self.problem(here, f"there is no failure type {failure_type!r}", instead(failure_type, FAILURE_TYPES))
                continue
            if ladder := self.ladder(rungs, here):
                out[failure_type] = ladder
        return out

    def ladder(self, rungs: object, path: Path) -> Ladder:
        if not isinstance(rungs, list) or not rungs:
            self.problem(path, f"ladder of {path[-1]} is empty", "write a list, e.g. [feedback x2, handover]")
            return ()
        return tuple(rung for n, item in enumerate(rungs) if (rung := self.rung(item, (*path, n))) is not None)

    def names(self, data: object, base: tuple[str, ...]) -> tuple[str, ...]:
        """The list of tools that may be called."""
        if data is None:
            return base
        return tuple(map(str, typing.cast("tuple[str, ...]", self.value(data, tuple[str, ...], ("allowed_tools",)))))

    def rung(self, item: object, path: Path) -> Rung | None:
        match = _RUNG.fullmatch(item.strip()) if isinstance(item, str) else None
        if match is None:
            self.problem(path, f"{item!r} is not a rung", "write a directive and a number, e.g. feedback x2")
            return None
        kind, times = match[1], int(match[2] or 1)
        if kind not in RUNG_KINDS:
            self.problem(path, f"there is no directive {kind!r}", instead(kind, RUNG_KINDS))
            return None
        if not 1 <= times <= 20:
            self.problem(path, f"{kind} x{times} is impossible", "1 to 20 times")
            return None
        return Rung(kind, times)

    def strategies(self, data: object) -> dict[str, Strategy]:
        out = {}
        for kind, body in self.mapping(data, ("strategies",)).items():
            if kind not in RUNG_KINDS:
                self.problem(("strategies", kind), f"there is no directive {kind!r}", instead(kind, RUNG_KINDS))
                continue
            out[kind] = self.record(body, ("strategies", kind), self.base.strategy(kind))
        return out

    def tools(self, data: object) -> dict[str, ToolPolicy]:
        return {
            name: self.record(body, ("tools", name), ToolPolicy())
            for name, body in self.mapping(data, ("tools",)).items()
        }

    # ---------------------------------------------------------------------------------------------------- values

    def record(self, data: object, path: Path, base: _T) -> _T:
        """A dataclass from a mapping; what is not written keeps the base's value."""
        values = self.mapping(data, path)
        hints = typing.get_type_hints(type(base))
        self.unknown(values, hints, path, f"{path[0]} has no key")
        changes: dict[str, object] = {}
        for key, value in values.items():
            here = (*path, key)
            if key not in hints:
                continue
            if key == "ladders":
                changes[key] = MappingProxyType(self.ladders(value, here))
            elif key == "ladder":
                changes[key] = self.ladder(value, here)
            elif key == "arguments":
                changes[key] = MappingProxyType(self.sections.arguments(value, here))
            elif key == "side_effect":
                if value not in SIDE_EFFECTS:
                    self.problem(here, f"side effect {value!r} is not known", instead(str(value), SIDE_EFFECTS))
                changes[key] = value
            else:
                changes[key] = self.value(value, hints[key], here)
        return dataclasses.replace(base, **changes)  # type: ignore[type-var]

    def value(self, value: object, hint: Any, path: Path) -> object:
        """A scalar or list of the type that the dataclass says; numbers are never negative."""
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            if value is None and type(None) in args:
                return None
            hint = next(a for a in args if a is not type(None))
            origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is Literal:
            if value not in args:
                self.problem(path, f"{value!r} is not known here", instead(str(value), map(str, args)))
            return value
        if origin in (tuple, frozenset):
            if not isinstance(value, list):
                self.problem(path, f"{value!r} is not a list", "write [a, b]")
                return ()
            items = [self.value(v, args[0], (*path, n)) for n, v in enumerate(value)]
            return frozenset(items) if origin is frozenset else tuple(items)
        wrong = _not_a(hint, value)
        if wrong:
            self.problem(path, f"{path[-1]}: {value!r} is not {wrong}", f"write {wrong}")
        elif isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value <= MAX_NUMBER:
            beyond, instead_of_it = ("below 0", "0 or more") if value < 0 else ("too much", f"at most {MAX_NUMBER}")
            self.problem(path, f"{path[-1]}: {str(value)[:40]} is {beyond}", f"write {instead_of_it}")
        return value

    def mapping(self, data: object, path: Path) -> dict[str, Any]:
        if isinstance(data, dict):
            return data
        if data is not None:
            place = ".".join(map(str, path)) or "a policy"
            self.problem(path, f"{place} is not a mapping", "write key: value")
        return {}

    def unknown(self, data: Mapping[str, object], known: typing.Iterable[str], path: Path, what: str) -> None:
        names = set(known)
        for key in data:
            if key not in names:
                self.problem((*path, key), f"{what} {key!r}", instead(key, names))

    def problem(self, path: Path, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.source.line(path), message, hint))
        if len(self.problems) > MAX_PROBLEMS:
            raise PolicyError(self.problems)
