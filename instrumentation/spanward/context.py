"""The current run, and how it travels: into tasks by itself, into threads and executors with our help."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import wrapt
from opentelemetry import context as otel_context

if TYPE_CHECKING:
    from spanward.runs import Run

P = ParamSpec("P")
R = TypeVar("R")

RUN_KEY: Final = otel_context.create_key("spanward-run")
"""The run's key in the OTel context, for whoever carries that one by hand."""

_RUN: contextvars.ContextVar[Run | None] = contextvars.ContextVar("spanward-run", default=None)


def current_run() -> Run | None:
    """The innermost open run of this task or thread, or None."""
    found = _RUN.get()
    if found is None:
        found = otel_context.get_value(RUN_KEY)  # type: ignore[assignment]  # only we set it
    # A thread or task that outlives its run has none.
    return None if found is None or found.ended else found


def enter(entered: Run) -> contextvars.Token[Run | None]:
    """Makes a run the current one; hand the token to :func:`leave`."""
    return _RUN.set(entered)


def leave(token: contextvars.Token[Run | None]) -> None:
    """Ends what :func:`enter` began, also when another task or thread does it (as async generators may)."""
    try:
        _RUN.reset(token)
    except ValueError:
        _RUN.set(None)


def bind(fn: Callable[P, R]) -> Callable[P, R]:
    """``fn``, to be called in another thread as if in the current run.

    Executors and threads need no help while instrumented; other ways to another thread do.
    """
    captured = contextvars.copy_context()

    @functools.wraps(fn)
    def bound(*args: P.args, **kwargs: P.kwargs) -> R:
        # One Context cannot be entered twice at once, and bound functions are mapped over pools.
        return captured.copy().run(fn, *args, **kwargs)

    return bound


def _submit(wrapped: Callable[..., Any], _instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not args or current_run() is None:
        return wrapped(*args, **kwargs)
    return wrapped(contextvars.copy_context().run, *args, **kwargs)


def _start(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # Workers of pools serve many runs: what they inherit is decided for each submitted call.
    if current_run() is not None and not _is_pool_worker(instance):
        instance.run = functools.partial(contextvars.copy_context().run, instance.run)
    return wrapped(*args, **kwargs)


def _is_pool_worker(thread: threading.Thread) -> bool:
    module = getattr(getattr(thread, "_target", None), "__module__", "") or ""
    return module.startswith(("concurrent.futures", "multiprocessing", "grpc", "spanward"))


_PATCHES: Final[tuple[tuple[type, str, Callable[..., Any]], ...]] = (
    (ThreadPoolExecutor, "submit", _submit),
    (threading.Thread, "start", _start),
)


def install() -> None:
    """Carries the run into threads and executors from now on. Idempotent."""
    for owner, name, wrapper in _PATCHES:
        if not isinstance(owner.__dict__[name], wrapt.FunctionWrapper):
            setattr(owner, name, wrapt.FunctionWrapper(owner.__dict__[name], wrapper))


def uninstall() -> None:
    """Puts back what :func:`install` found, unless somebody has wrapped it once more since."""
    for owner, name, wrapper in _PATCHES:
        current = owner.__dict__[name]
        if isinstance(current, wrapt.FunctionWrapper) and current._self_wrapper is wrapper:
            setattr(owner, name, current.__wrapped__)
