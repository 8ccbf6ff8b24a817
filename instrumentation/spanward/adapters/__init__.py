"""Adapters tie the gate to the libraries that agents are written with. Each patches its library once that is imported.

To add one: write a module with ``install(runtime, library) -> Undo``, add one line to :data:`ADAPTERS`, and one to the
contract suite in ``tests/contract``.
"""

import importlib
import logging
import sys
import threading
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

import wrapt

if TYPE_CHECKING:
    from spanward.adapters.patching import Undo
    from spanward.gate import Runtime

log = logging.getLogger("spanward")


class Adapter(NamedTuple):
    """One line of the table.

    Attributes:
        library: name of the import that it patches.
        module: where its ``install(runtime, library) -> Undo`` is.
    """

    library: str
    module: str


ADAPTERS: Final[tuple[Adapter, ...]] = (
    Adapter("openai", "spanward.adapters.openai"),
    Adapter("httpx", "spanward.adapters.http"),
    Adapter("httpx2", "spanward.adapters.http"),
)
"""Every adapter there is."""

_lock = threading.Lock()
_runtime: "Runtime | None" = None
_undo: "dict[str, Undo]" = {}
_watched: set[str] = set()


def install(runtime: "Runtime") -> None:
    """Patches every library that is imported, and the others when they will be. Idempotent; imports none of them.

    Args:
        runtime: that the patches speak to; takes the place of any other.
    """
    global _runtime
    if runtime is _runtime:
        return
    uninstall()
    with _lock:
        _runtime = runtime
        fresh = {adapter.library for adapter in ADAPTERS} - _watched
        _watched.update(fresh)
    for adapter in ADAPTERS:
        if adapter.library in fresh:
            # Called at once for what is imported already. A hook cannot be taken back: it is registered once, and asks
            # for the runtime when it is called.
            wrapt.register_post_import_hook(partial(_patch, adapter), adapter.library)
        elif (library := sys.modules.get(adapter.library)) is not None:
            _patch(adapter, library)


def uninstall() -> None:
    """Takes every patch off. Idempotent."""
    global _runtime
    with _lock:
        _runtime = None
        undone = list(_undo.values())
        _undo.clear()
    for undo in undone:
        undo()


def installed() -> frozenset[str]:
    """Names of the libraries that are patched now."""
    with _lock:
        return frozenset(_undo)


def _patch(adapter: Adapter, library: ModuleType) -> None:
    runtime = _runtime
    if runtime is None or adapter.library in _undo:
        return
    try:
        # Not under our lock: it imports, and whoever holds an import lock may be waiting for ours.
        undo = importlib.import_module(adapter.module).install(runtime, library)
    except Exception:
        # Runs inside the user's own import statement, which must not fail for our sake.
        log.warning("spanward: %s cannot be supervised in this version", adapter.library, exc_info=True)
        return
    with _lock:
        kept = runtime is _runtime and _undo.setdefault(adapter.library, undo) is undo
    if not kept:
        undo()
