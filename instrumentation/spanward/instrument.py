"""Switching it on and off: one runtime a process, lazily connected, gone in a forked child, ended at exit."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from typing import Final, TypeVar

from spanward import context
from spanward.config import Settings
from spanward.runtime import Approver, Runtime, runtime, set_runtime

log = logging.getLogger("spanward")
A = TypeVar("A")
EXIT_S: Final = 2.0
"""How long ``shutdown`` waits for what is queued, seconds."""
AT_EXIT_S: Final = 0.25
"""The same for a process that ends without calling it: a detector that is stuck must not keep it."""

_lock = threading.Lock()
_hooked = False


def instrument_agent(agent: A = None, *, approver: Approver | None = None, **settings: object) -> A:  # type: ignore[assignment]
    """Supervises this process's agents: tools, model calls, and HTTP below them. Idempotent.

    Decorated tools and the libraries that there are adapters for are watched from now on, clients and agents that were
    made before included. It connects when the first run starts, and never raises or waits because the detector is away.

    Args:
        agent: is returned as it is, supervised; None to supervise what there is.
        approver: ``approver(tool, arguments) -> bool`` decides on calls of ``high_risk`` tools in this process.
        **settings: fields of :class:`spanward.config.Settings`; by default from the environment. They count only in the
            call that switches it on.

    Returns:
        ``agent``.

    Raises:
        ValueError: a setting makes no sense; the message says what to write.
        TypeError: there is no such setting.
    """
    global _hooked
    chosen = Settings.from_env(**settings)
    if chosen.disabled:
        return agent
    with _lock:
        if runtime() is not None:
            return agent
        try:
            _switch_on(chosen, approver)
        except Exception:
            log.warning("spanward: could not be switched on; the agent runs without it", exc_info=True)
            return agent
        if not _hooked:
            _hooked = True
            atexit.register(shutdown, AT_EXIT_S)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_in_child)
    return agent


def _switch_on(settings: Settings, approver: Approver | None) -> None:
    # Deferred: gRPC and the OTel SDK cost a fifth of a second, which a process that is not supervised must not pay.
    from spanward import adapters
    from spanward.control_client import ControlClient
    from spanward.spans import step_spans

    spans = step_spans(settings)
    made = Runtime(settings, spans, approver=approver)
    made.client = client = ControlClient(settings, made, spans_dropped=lambda: made.spans.dropped)
    spans.carried_by(client)
    context.install()
    set_runtime(made)
    adapters.install(made)


def shutdown(timeout_s: float = EXIT_S) -> None:
    """Sends what is queued, takes every patch off, and ends the control stream. Idempotent; also runs at exit."""
    with _lock:
        ending = runtime()
        set_runtime(None)
    if ending is None:
        return
    try:
        from spanward import adapters

        adapters.uninstall()
        context.uninstall()
        ending.close(timeout_s)
    except Exception:
        ending.internal_error("shutdown")


def _in_child() -> None:
    """Threads and channels did not survive the fork: nothing may be asked of them. ``instrument_agent`` starts anew."""
    global _lock
    _lock = threading.Lock()
    inherited = runtime()
    set_runtime(None)
    if inherited is not None:
        for run in list(inherited.runs.values()):
            run.ended = True
