"""Memory that large requests leave behind, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

_ARENA_MAX = -8  # M_ARENA_MAX of mallopt(3)


def give_back() -> None:
    """Return free pages at the end and in the middle of the heap to the system. Takes milliseconds: use a thread.

    The allocator of glibc keeps what a request of many megabytes has used, in pieces too small for the next one.
    """
    if (trim := _function("malloc_trim")) is not None:
        trim(0)


def few_arenas() -> None:
    """Let threads share heaps, so that each does not keep a large one of its own. For a process that is all ours."""
    if (set_option := _function("mallopt")) is not None:
        set_option(_ARENA_MAX, 2)


@cache
def _function(name: str) -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):  # another libc
        return None
    return found
