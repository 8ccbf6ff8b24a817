"""Wrapping other people's methods, and taking the wrapper off again whoever else has wrapped them since."""

from collections.abc import Callable
from typing import Any

import wrapt

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""``(wrapped, instance, args, kwargs) -> result``, as wrapt calls it."""
Undo = Callable[[], None]


def all_of(*undo: Undo) -> Undo:
    """One undo for several."""

    def undo_all() -> None:
        for one in undo:
            one()

    return undo_all


def wrap(owner: type, name: str, wrapper: Wrapper) -> Undo:
    """Wraps a method of a class for all its instances, those made before included.

    Args:
        owner: the class; where it inherits the method, the base class keeps its own.
        name: of the method.
        wrapper: is called instead.

    Returns:
        Takes the wrapper off. One that somebody has wrapped once more cannot be taken out from below; it then stays and
        does nothing.

    Raises:
        AttributeError: the class has no such method.
    """
    inherited = name not in vars(owner)
    original = getattr(owner, name) if inherited else vars(owner)[name]
    active = True

    def switched(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return wrapper(wrapped, instance, args, kwargs) if active else wrapped(*args, **kwargs)

    ours = wrapt.FunctionWrapper(original, switched)
    setattr(owner, name, ours)

    def undo() -> None:
        nonlocal active
        active = False
        if vars(owner).get(name) is not ours:
            return
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    return undo
