"""What a target is, and what its functions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fuzz.mutate import Mutator, mutate_bytes, mutate_text


@dataclass(frozen=True)
class Target:
    """Something that parses.

    Attributes:
        name: on the command line.
        run: takes one input.
        seeds: gives good inputs.
        mutate: makes bad ones of them.
        refusals: exceptions by which it may say no; any other one is a fault.
    """

    name: str
    run: Callable[[bytes], object]
    seeds: Callable[[], tuple[bytes, ...]]
    mutate: Mutator = mutate_bytes
    refusals: tuple[type[Exception], ...] = ()


class BrokenPromiseError(AssertionError):
    """A target did not raise, and yet did what it says it never does."""


def promise(kept: bool, what: str) -> None:
    """Hold a target to what it says.

    Raises:
        BrokenPromiseError: it did not keep it.
    """
    if not kept:
        raise BrokenPromiseError(what)


def text_of(data: bytes) -> str:
    """As a detector gets it: whatever is no UTF-8 has been replaced."""
    return data.decode("utf-8", "replace")


def host_text(data: bytes) -> str:
    """As a gate gets it from the host's own code: lone surrogates and all."""
    return data.decode("utf-8", "surrogateescape")


def pairs(first: tuple[bytes, ...], second: tuple[bytes, ...], between: bytes) -> tuple[bytes, ...]:
    """Seeds of a target that takes two things at once."""
    return tuple(one + between + second[n % len(second)] for n, one in enumerate(first))


def in_two(mark: bytes, first: Mutator, second: Mutator) -> Mutator:
    """Changes what stands before a mark or what stands behind it."""

    def mutate(data: bytes, rng: Random) -> bytes:
        head, _, tail = data.partition(mark)
        return (first(head, rng) + mark + tail) if rng.random() < 0.6 else (head + mark + second(tail, rng))

    return mutate


def as_text(data: bytes, rng: Random) -> bytes:
    """Changes text to other text, and rarely to what is none."""
    return mutate_text(data.decode("utf-8", "replace"), rng).encode() if rng.random() < 0.9 else mutate_bytes(data, rng)
