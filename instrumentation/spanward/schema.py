"""JSON Schemas of tools, compiled once, with violations that name no content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson

from spanward.canonical import canonical_json

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_MAX_ERRORS: Final = 64
_BACKTRACK_LIMIT: Final = 10_000
_COMBINATORS: Final = ("$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "unevaluatedProperties")
_ALL_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


class Schema:
    """A JSON Schema that can be asked about a value.

    A schema that does not compile (unknown references, impossible patterns) accepts everything: the tool's author
    erred, not the model. References are never fetched.

    Attributes:
        source: the schema as given.
        required: top-level names that must be there.
        properties: top-level names that are declared.
    """

    __slots__ = ("_names", "_validator", "properties", "required", "source")

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.source: Mapping[str, Any] = source
        self.required: tuple[str, ...] = tuple(name for name in _list(source.get("required")) if isinstance(name, str))
        self.properties: frozenset[str] = frozenset(_dict(source.get("properties")))
        self._names = frozenset(_declared_names(source))
        self._validator = _compile(dict(source))

    @classmethod
    def of(cls, source: Mapping[str, Any]) -> Schema:
        """The compiled schema; equal sources share one object. Callers in a hot path keep what they get."""
        key = canonical_json(dict(source))
        return cls(source) if key is None else _cached(key)

    def first_violation(self, value: object) -> str:
        """Say how a value breaks the schema.

        Returns:
            ``keyword:/json/pointer``, the same for every order of names; "" when it fits. The pointer of ``required``
            ends in the missing name. Names that the schema does not declare are written ``*``.
        """
        if self._validator is None:
            return ""
        try:
            if self._validator.is_valid(value):
                return ""
            errors = [self._describe(error) for error in islice(self._validator.iter_errors(value), _MAX_ERRORS)]
        except ValueError:  # a value the validator cannot read
            return ""
        return min(errors, default="")

    def undeclared(self, value: object) -> bool:
        """Whether an object has top-level names that the schema neither declares nor opens itself to."""
        source = self.source
        if not isinstance(value, dict) or not self.properties or "additionalProperties" in source:
            return False
        return not (self.properties >= value.keys() or any(keyword in source for keyword in _COMBINATORS))

    def resolve(self, node: object) -> Iterator[Mapping[str, Any]]:
        """The alternatives of a sub-schema with local references followed; at most 32."""
        pending, seen = [node], 0
        while pending and seen < 32:
            node, seen = pending.pop(), seen + 1
            if not isinstance(node, Mapping):
                continue
            reference = node.get("$ref")
            if isinstance(reference, str):
                pending.append(self._follow(reference))
                continue
            alternatives = [*_list(node.get("anyOf")), *_list(node.get("oneOf"))]
            pending.extend(reversed(alternatives))
            if not alternatives:
                whole = _list(node.get("allOf"))
                if whole and "type" not in node:
                    pending.extend(whole)
                else:
                    yield node

    def types(self, node: object) -> frozenset[str]:
        """JSON types that a sub-schema allows; all of them when it does not say."""
        found: set[str] = set()
        for alternative in self.resolve(node):
            stated = alternative.get("type")
            if stated is None:
                values = _list(alternative.get("enum")) or ([alternative["const"]] if "const" in alternative else [])
                if not values:
                    return _ALL_TYPES
                found.update(json_type(value) for value in values)
            named = [stated] if isinstance(stated, str) else _list(stated)
            found.update(name for name in named if isinstance(name, str))
        return frozenset(found) or _ALL_TYPES

    def _follow(self, reference: str) -> object:
        node: object = self.source
        if not reference.startswith("#"):
            return None
        for part in reference[1:].split("/")[1:]:
            node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
        return node

    def _describe(self, error: ValidationError) -> str:
        path = [str(part) if isinstance(part, int) or part in self._names else "*" for part in error.instance_path]
        if error.kind.name == "required":
            path.append(str(getattr(error.kind, "property", "")))
        pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
        return f"{error.kind.name}:{pointer}"


def json_type(value: object) -> str:
    """Name of a parsed value's JSON type; whole numbers written as integers are "integer"."""
    if value is None:
        return "null"
    if isinstance(value, bool):  # before int, which bool is a kind of
        return "boolean"
    for kind, name in ((str, "string"), (int, "integer"), (float, "number"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "array"


@lru_cache(maxsize=1024)
def _cached(canonical: bytes) -> Schema:
    return Schema(orjson.loads(canonical))


def _compile(source: dict[str, Any]) -> Any:
    # Imported here: its shared library takes tens of milliseconds to load, and agents without schemas need none of it.
    from jsonschema_rs import FancyRegexOptions, RegexOptions, validator_for

    # The linear engine first; patterns with lookaround need the other one, which gets a budget.
    for options in (RegexOptions(), FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT)):
        with suppress(Exception):
            return validator_for(source, pattern_options=options, retriever=_refuse)
    return None


def _refuse(uri: str) -> Any:
    raise LookupError(uri)


def _declared_names(node: object, depth: int = 0) -> Iterator[str]:
    """Names that stand in the schema itself, wherever they stand."""
    if depth > 32:
        return
    if isinstance(node, Mapping):
        yield from _dict(node.get("properties"))
        for value in node.values():
            yield from _declared_names(value, depth + 1)
    elif isinstance(node, list):
        for value in node:
            yield from _declared_names(value, depth + 1)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
