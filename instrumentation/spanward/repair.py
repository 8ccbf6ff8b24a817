"""Repair the form of tool arguments without inventing or losing a byte of their values.

The ladder: strict parse, then the slips that :mod:`spanward.relaxed` reads, then what the tool's schema says about the
type of a value (a number in quotes, an array encoded twice). What comes out fits the schema, or nothing comes out: cut
off texts, several objects in a row, NaN and duplicate names are for the model to write again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from spanward import canonical, relaxed
from spanward.schema import Schema, json_type

DOUBLE_ENCODING: Final = "double_encoding"
QUOTED_SCALAR: Final = "quoted_scalar"
UNQUOTED_STRING: Final = "unquoted_string"
NESTED_JSON: Final = "nested_json"

REPAIRS: Final[tuple[str, ...]] = (*relaxed.DEVIATIONS, DOUBLE_ENCODING, NESTED_JSON, QUOTED_SCALAR, UNQUOTED_STRING)
"""Every repair, in the order in which it is tried: the deviations of :mod:`spanward.relaxed`; the whole object encoded
as a string; and where the schema asks for it, a nested value encoded as a string, a number, boolean or null in quotes,
and an integer where a string is wanted."""

DROPS_OR_GUESSES: Final = frozenset({relaxed.COMMENTS, relaxed.ESCAPES})
"""Not for tools that write: comments are dropped, and a stray backslash may have meant something else."""

_MAX_DEPTH: Final = 64
_MAX_NUMBER: Final = 40
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,307})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_WORDS: Final = {"true": True, "false": False, "True": True, "False": False, "null": None}
_WHITE: Final = " \t\r\n"


class Repaired(NamedTuple):
    """Arguments that parse and fit.

    Attributes:
        arguments: the parsed object, integers exact.
        repairs: what it took, in the order of :data:`REPAIRS`; empty when nothing was wrong.
        text: the object as JSON, names in the order in which the model wrote them.
    """

    arguments: dict[str, Any]
    repairs: tuple[str, ...]
    text: str


def repair_arguments(
    raw: str,
    *,
    schema: Schema | None,
    allowed: Sequence[str] = REPAIRS,
    writes: bool = False,
) -> Repaired | None:
    """Repair the argument text of one tool call.

    Args:
        raw: as the model wrote it. Empty text is an empty object.
        schema: of the tool; None when unknown: then only the form is repaired.
        allowed: repairs that may be used; any other one that is needed means None.
        writes: the tool has effects: repairs of :data:`DROPS_OR_GUESSES` are not used.

    Returns:
        The arguments, or None when they cannot be had without guessing or do not fit the schema.
    """
    permitted = frozenset(allowed) - (DROPS_OR_GUESSES if writes else frozenset())
    used: set[str] = set()
    value = _object(raw, used, schema)
    if value is None or not used <= permitted:
        return None
    if schema is not None and schema.first_violation(value):
        value = _coerce(value, schema.source, schema, permitted, used, 0)
        if schema.first_violation(value):
            return None
    if not isinstance(value, dict):
        return None
    return Repaired(value, tuple(name for name in REPAIRS if name in used), json.dumps(value, ensure_ascii=False))


def _object(raw: str, used: set[str], schema: Schema | None) -> dict[str, Any] | None:
    """The arguments object in a text; None when there is none."""
    if not raw.strip(_WHITE):
        return {}
    value = _value(raw, used)
    for _ in range(2):  # encoded twice, or, rarely, three times
        if not isinstance(value, str):
            break
        if schema is not None and "object" not in schema.types(schema.source):
            return None
        used.add(DOUBLE_ENCODING)
        value = _value(value, used)
    return value if isinstance(value, dict) else None


def _value(text: str, used: set[str]) -> Any:
    try:
        return canonical.parse(text.strip(_WHITE))
    except canonical.NotCanonicalError:
        pass
    try:
        strict, deviations = relaxed.read(text)
        value = canonical.parse(strict)
    except ValueError:
        return None
    used.update(deviations)
    return value


def _coerce(value: Any, node: object, schema: Schema, permitted: frozenset[str], used: set[str], depth: int) -> Any:
    """Give values the type that their schema asks for, where exactly one reading does."""
    if depth > _MAX_DEPTH:
        return value
    types, kind = schema.types(node), json_type(value)
    if kind not in types and not (kind == "integer" and "number" in types):
        name, changed = _retype(value, types)
        if name in permitted:
            used.add(name)
            value = changed
    for alternative in schema.resolve(node):
        properties, items = alternative.get("properties"), alternative.get("items")
        if isinstance(value, dict) and isinstance(properties, Mapping):
            known = value.keys() & properties.keys()
            return value | {
                name: _coerce(value[name], properties[name], schema, permitted, used, depth + 1) for name in known
            }
        if isinstance(value, list) and isinstance(items, Mapping):
            return [_coerce(item, items, schema, permitted, used, depth + 1) for item in value]
    return value


def _retype(value: Any, types: frozenset[str]) -> tuple[str, Any]:
    """The repair that gives a value one of the types, and what it gives; ("", value) when none does."""
    if isinstance(value, int) and not isinstance(value, bool) and "string" in types:
        return UNQUOTED_STRING, str(value)
    if not isinstance(value, str):
        return "", value
    text = value.strip(_WHITE)
    if text[:1] in {"{", "[", '"'}:
        inner = _parsed(text)
        if json_type(inner) in types - {"null"}:
            return NESTED_JSON, inner
        if not isinstance(inner, str):
            return "", value
        text = inner.strip(_WHITE)  # a scalar in two pairs of quotes
    return _scalar(text, types, value)


def _scalar(text: str, types: frozenset[str], value: Any) -> tuple[str, Any]:
    if text in _WORDS and json_type(_WORDS[text]) in types:
        return QUOTED_SCALAR, _WORDS[text]
    if types & {"integer", "number"} and _INTEGER.fullmatch(text):
        return QUOTED_SCALAR, int(text)
    if "number" in types and len(text) <= _MAX_NUMBER and _NUMBER.fullmatch(text):
        number = float(text)
        if math.isfinite(number) and Decimal(repr(number)) == Decimal(text):  # every digit survives
            return QUOTED_SCALAR, number
    return "", value


def _parsed(text: str) -> Any:
    try:
        return canonical.parse(text)
    except canonical.NotCanonicalError:
        return None
