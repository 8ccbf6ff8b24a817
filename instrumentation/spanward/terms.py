"""What a run states before it starts beside its limits: its checklist, what it may touch, what it may cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from spanward import semconv

if TYPE_CHECKING:
    from spanward.checklist import Completion, Item
    from spanward.facts.scope import Scope

T = TypeVar("T")
INCOMPLETE: Final = "incomplete"
"""End reason of a run with a hard check that does not hold."""


@dataclass(frozen=True, slots=True)
class Terms:
    """See :func:`spanward.run`.

    Attributes:
        checklist: items of :mod:`spanward.checklist`; empty = none.
        scope: what may be touched, its paths resolved; None = not stated.
        stated_scope: the same as it was written.
        max_cost: 0 = not stated.
    """

    checklist: tuple[Item, ...] = ()
    scope: Scope | None = None
    stated_scope: Mapping[str, tuple[str, ...]] | None = None
    max_cost: float = 0.0

    def completion(self) -> Completion | None:
        """A fresh account of the checklist, for one run."""
        if not self.checklist:
            return None
        from spanward.checklist import Completion  # deferred: most runs have none

        return Completion(self.checklist)

    def attributes(self, *, capture: bool) -> dict[str, Any]:
        """What every span of the run tells of them."""
        told: dict[str, Any] = {semconv.RUN_MAX_COST: self.max_cost} if self.max_cost else {}
        if capture and self.stated_scope is not None:
            for key, aspect in zip(semconv.RUN_SCOPE, ("paths", "hosts", "tables"), strict=True):
                if aspect in self.stated_scope:
                    told[key] = list(self.stated_scope[aspect])
        return told


NO_TERMS: Final = Terms()


def around(own: T | None, outer: tuple[T, ...]) -> tuple[T, ...]:
    """What holds for a run: its own, and what the runs around it stated."""
    return (*(() if own is None else (own,)), *outer)


def stated(
    checklist: Iterable[Item | Callable[..., Any]] | None,
    scope: Mapping[str, Iterable[str | os.PathLike[str]]] | None,
    max_cost: float | None,
) -> Terms:
    """Terms as they are given to :func:`spanward.run`.

    Raises:
        ValueError: something in them makes no sense.
    """
    if checklist is None and scope is None and max_cost is None:
        return NO_TERMS
    items: tuple[Item, ...] = ()
    if checklist is not None:
        from spanward.checklist import Completion  # deferred: most runs have none

        items = Completion(checklist).items
    if max_cost is not None and not max_cost > 0:
        raise ValueError(f"max_cost={max_cost!r}: write a number above 0, or leave it out")
    if scope is None:
        return Terms(items, max_cost=max_cost or 0.0)
    from spanward.facts.scope import Scope, real

    made = Scope.of(scope, real)
    written = {"paths": made.paths, "hosts": made.hosts, "tables": made.tables}
    return Terms(items, made, {k: v for k, v in written.items() if v is not None}, max_cost or 0.0)
