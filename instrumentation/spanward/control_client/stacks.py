"""Where a thread or an asyncio task stands: file, line, function. Never a value."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio

FRAMES_MAX: Final = 32
"""The innermost ones are kept."""


def thread_stack(thread_id: int) -> tuple[str, ...]:
    """Frames of a live thread, innermost last; empty when it is gone."""
    frame: FrameType | None = sys._current_frames().get(thread_id)
    lines: list[str] = []
    while frame is not None and len(lines) < FRAMES_MAX:
        lines.append(_line(frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(reversed(lines))


def task_stack(task: asyncio.Task[Any]) -> tuple[str, ...]:
    """Frames of a suspended task, innermost last, down the chain of what it awaits; empty when it runs or is over.

    ``Task.get_stack`` gives only the outermost frame of a suspended task.
    """
    if task.done():
        return ()
    lines: list[str] = []
    awaited: Any = task.get_coro()
    for _ in range(1000):
        frame = _attribute(awaited, "cr_frame", "gi_frame", "ag_frame")
        if frame is None:
            break
        lines.append(_line(frame.f_code, frame.f_lineno))
        awaited = _attribute(awaited, "cr_await", "gi_yieldfrom", "ag_await")
        if awaited is None:
            break
    return tuple(lines[-FRAMES_MAX:])


def stack_of(thread_id: int, task: asyncio.Task[Any] | None) -> tuple[str, ...]:
    """Of the task when it is suspended, else of the thread. Never raises."""
    try:
        if task is not None and not _is_running(task):
            return task_stack(task)
        return thread_stack(thread_id)
    except Exception:  # frames change under our hands
        return ()


def _is_running(task: asyncio.Task[Any]) -> bool:
    coroutine: Any = task.get_coro()
    return bool(getattr(coroutine, "cr_running", False) or getattr(coroutine, "gi_running", False))


def _attribute(owner: Any, *names: str) -> Any:
    for name in names:
        if hasattr(owner, name):
            return getattr(owner, name)
    return None


def _line(code: CodeType, line: int | None) -> str:
    return f"{code.co_filename}:{line or 0} {code.co_qualname}"
