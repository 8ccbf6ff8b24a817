"""Python values that a tool may return and JSON cannot write, from JSON with a few marked texts in it."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson


class _Colour(enum.Enum):
    RED = "red"


@dataclass
class _Record:
    a: object = float("nan")


class _Broken:
    """Raises whatever is asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("broken")

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("broken")

    __hash__ = None  # type: ignore[assignment]


class _Model:
    def model_dump(self, mode: str = "python") -> Any:
        raise ValueError(mode)


class _Names(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        return key

    def __iter__(self) -> Iterator[str]:
        return iter(("a", "b"))

    def __len__(self) -> int:
        return 2


def _itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    return value


_MARKED: Final[Mapping[str, Callable[[], object]]] = {
    "@bytes": lambda: b"\xff\x00a", "@nan": lambda: float("nan"), "@inf": lambda: float("-inf"), "@deep": _deep,
    "@set": lambda: {1, "a", None}, "@tuple": lambda: (1, (2,)),
    "@date": lambda: datetime.datetime(1, 1, 1, tzinfo=None),
    "@surrogate": lambda: "\ud800x", "@huge": lambda: 10**400, "@decimal": lambda: decimal.Decimal("sNaN"),
    "@uuid": lambda: uuid.UUID(int=1), "@enum": lambda: _Colour.RED, "@model": _Model, "@mapping": _Names,
    "@broken": _Broken, "@self": _itself, "@dataclass": _Record, "@error": lambda: ValueError(b"\xff", _Broken()),
}  # fmt: skip


def python_value(data: bytes) -> Any:
    """The value that an input stands for; a text where it is no JSON."""
    try:
        return _made(orjson.loads(data))
    except (ValueError, RecursionError):
        return data.decode("utf-8", "surrogateescape")


def _made(value: Any) -> Any:
    if isinstance(value, str):
        return _MARKED[value]() if value in _MARKED else value
    if isinstance(value, list):
        return [_made(item) for item in value]
    if isinstance(value, dict):
        return {(1, "a") if key == "@keys" else key: _made(item) for key, item in value.items()}
    return value
