"""YAML with positions: plain data, and for every place in it the line where it stands. Aliases are refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

import yaml

MAX_BYTES: Final = 1 << 17
MAX_DEPTH: Final = 24
MAX_PROBLEMS: Final = 100
"""Told at once; a file that has more is another kind of file."""
_LOADER: Final[type[yaml.SafeLoader] | type[yaml.CSafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The compiled one where there is one: it is ten times faster."""
Path = tuple[str | int, ...]


class Problem(NamedTuple):
    """Something wrong or doubtful in a policy file.

    Attributes:
        line: 1-based; 0 when the file as a whole is meant.
        hint: what to write instead.
        level: "error" (refused) or "warning" (taken, but outside the sane range).
    """

    line: int
    message: str
    hint: str = ""
    level: str = "error"

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.message}" + (f" ({self.hint})" if self.hint else "")


class PolicyError(ValueError):
    """A policy that is not taken. Carries every problem, not just the first."""

    def __init__(self, problems: Iterable[Problem], name: str = "policy") -> None:
        self.problems = tuple(problems)
        self.name = name
        super().__init__("; ".join(f"{name}: {p}" for p in self.problems))


@dataclass(frozen=True, slots=True)
class Source:
    """Parsed YAML and its lines."""

    data: object
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Of the nearest enclosing place that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def parse(text: str) -> Source:
    """Read YAML into plain data.

    Raises:
        PolicyError: not YAML, too large, an alias or anchor (a few hundred bytes of those unfold to gigabytes), a key
            that stands twice, or nested too deep, or a key that is not text.
    """
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise PolicyError([Problem(0, "larger than 128 KiB", "split it, or remove what is not policy")])
    try:
        _look_over(text)
        node = yaml.compose(text, Loader=_LOADER)
        if node is None:
            return Source({}, {})
        lines: dict[Path, int] = {}
        constructor = yaml.constructor.SafeConstructor()
        problems = list(islice(_walk(node, (), lines, constructor), MAX_PROBLEMS))
        if problems:
            raise PolicyError(problems)
        return Source(constructor.construct_document(node), lines)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        raise PolicyError([Problem(line, f"not YAML: {getattr(error, 'problem', None) or error}")]) from None


def _look_over(text: str) -> None:
    """Refuses what would be costly to build, before anything is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise PolicyError([Problem(line, "aliases and anchors are not allowed", "write the value out")])
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise PolicyError([Problem(line, "nested too deep", "a policy needs five levels at most")])


def _walk(
    node: yaml.Node, path: Path, lines: dict[Path, int], constructor: yaml.constructor.SafeConstructor
) -> Iterator[Problem]:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        try:
            constructor.construct_object(node)
        except (ValueError, LookupError, AttributeError):  # "!!int x", a month 13, a number of 5,000 digits
            kind = node.tag.rpartition(":")[2]
            yield Problem(lines[path], f"{node.value[:40]!r} is no value of the type {kind}", "put it in quotes")
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key_node, value_node in node.value:
            key = key_node.value
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != "tag:yaml.org,2002:str":
                yield Problem(line, f"key {key!r} is not text", "put it in quotes")
                continue
            if key in seen:
                yield Problem(line, f"{key!r} stands twice", "keep one")
            seen.add(key)
            yield from _walk(value_node, (*path, key), lines, constructor)
            lines[*path, key] = line
    elif isinstance(node, yaml.SequenceNode):
        for n, item in enumerate(node.value):
            yield from _walk(item, (*path, n), lines, constructor)


def instead(word: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown word."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(known)}" if known else "nothing is allowed here"
