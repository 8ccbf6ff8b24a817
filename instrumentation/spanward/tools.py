"""``@tool``: a function, sync or async, with the gate around it.

All that can be known of a tool is worked out when it is decorated; a call binds its arguments by a ready-made plan.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, overload

from spanward import semconv
from spanward.facts import foreign_text_tool
from spanward.facts.tools import Foreign
from spanward.flow import call_async, call_sync
from spanward.ports import ToolFacts
from spanward.runtime import runtime

if TYPE_CHECKING:
    from spanward.schema import Schema

P = ParamSpec("P")
R = TypeVar("R")
Reason = str | Callable[[Mapping[str, Any]], str]

_RETRYABLE: Final = frozenset({"read", "scratch"})
_RECEIVERS: Final = frozenset({"self", "cls"})


class Binding:
    """How the arguments of calls become a dictionary and back, for one signature.

    Defaults are not filled in: the dictionary holds what the caller wrote, as the model's own call does. A receiver
    (``self``) is no argument. A call that does not fit the signature is described as well as it goes: the function
    itself will refuse it.
    """

    __slots__ = ("_names", "_offset", "_positional_only", "_rest")

    def __init__(self, fn: Callable[..., Any]) -> None:
        try:
            parameters = list(inspect.signature(fn).parameters.values())
        except (TypeError, ValueError):  # some builtins have none
            parameters = [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        kinds = inspect.Parameter
        first = parameters[0] if parameters else None
        self._offset = int(first is not None and first.name in _RECEIVERS and first.kind is not kinds.KEYWORD_ONLY)
        plain = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        self._names = tuple(p.name for p in plain[self._offset :])
        self._positional_only = sum(p.kind is kinds.POSITIONAL_ONLY for p in plain[self._offset :])
        self._rest = next((p.name for p in parameters if p.kind is kinds.VAR_POSITIONAL), "")

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by parameter name."""
        offset = self._offset
        if offset:
            args = args[offset:]
        bound = dict(zip(self._names, args, strict=False)) if args else {}
        if len(args) > len(self._names):
            bound[self._rest or "*"] = list(args[len(self._names) :])
        if kwargs:
            bound.update(kwargs)
        return bound

    def call(self, fn: Callable[..., Any], args: tuple[Any, ...], arguments: Mapping[str, Any]) -> Any:
        """Calls ``fn`` with other arguments; ``args`` are the original positional ones, for the receiver."""
        left = dict(arguments)
        rest = left.pop(self._rest, ()) if self._rest else ()
        by_position = self._names if rest else self._names[: self._positional_only]
        positional = [left.pop(name) for name in by_position if name in left]
        return fn(*args[: self._offset], *positional, *rest, **left)


@dataclass(frozen=True)
class ToolSpec:
    """What is known of a tool. Made by :func:`tool`, or by an adapter for tools of a framework.

    Attributes:
        side_effect: read, scratch, write or high_risk.
        timeout_s: enforced by the gate; 0 = none stated.
        interruptible: an order may cut a call short; None = where that costs nothing (async).
        idempotent: the same call twice does what one does.
        undo: takes the effect of a call back; kept for whoever rolls a run back.
        fallback: called with the same arguments where the tool cannot be.
        schema: of the arguments; a call that breaks it is not made.
        result_schema: of the result; a result that breaks it is a fact, no more.
        returns_json: the result is JSON text; None = not said.
        foreign_text: the result may contain text that somebody else wrote.
        health: tells whether the service behind the tool is up; kept for whoever pauses a run for it.
        reason: why the agent makes a call, or how to tell from its arguments.
        is_async: it is a coroutine function.
        cross_check: asks a second source whether a result holds.
    """

    name: str
    side_effect: semconv.SideEffect = "write"
    timeout_s: float = 0.0
    interruptible: bool | None = None
    idempotent: bool = False
    undo: Callable[..., Any] | None = None
    fallback: Callable[..., Any] | None = None
    schema: Schema | None = None
    result_schema: Schema | None = None
    returns_json: bool | None = None
    foreign_text: Foreign = False
    health: Callable[[], Any] | None = None
    reason: Reason = ""
    is_async: bool = False
    cross_check: Callable[..., Any] | None = None
    media_type: str | None = field(init=False)
    span_name: str = field(init=False)
    attributes: Mapping[str, Any] = field(init=False)
    facts: ToolFacts = field(init=False)

    def __post_init__(self) -> None:
        """Works out what every call needs."""
        set_ = functools.partial(object.__setattr__, self)
        attributes: dict[str, Any] = {
            semconv.OPERATION_NAME: semconv.OP_EXECUTE_TOOL,
            semconv.TOOL_NAME: self.name,
            semconv.SIDE_EFFECT: self.side_effect,
        }
        if self.timeout_s:
            attributes[semconv.TOOL_TIMEOUT_S] = self.timeout_s
        if self.idempotent:
            attributes[semconv.TOOL_IDEMPOTENT] = True
        if self.fallback is not None:
            attributes[semconv.TOOL_HAS_FALLBACK] = True
        if isinstance(self.reason, str) and self.reason:
            attributes[semconv.STEP_REASON] = self.reason
        set_("media_type", "application/json" if self.returns_json else None)
        set_("span_name", f"{semconv.OP_EXECUTE_TOOL} {self.name}")
        set_("attributes", attributes)
        set_(
            "facts",
            ToolFacts(self.side_effect, self.timeout_s, self.fallback is not None, self.idempotent, self.can_interrupt),
        )

    @property
    def effects(self) -> bool:
        """A call may change the world outside the agent."""
        return self.side_effect != "read"

    @property
    def repeatable(self) -> bool:
        """A call that has been made may be made again without asking anybody."""
        return self.side_effect in _RETRYABLE or (self.side_effect == "write" and self.idempotent)

    @property
    def can_interrupt(self) -> bool:
        """A call can be cut short by an order: async ones can be cancelled, sync ones only on a worker thread."""
        if self.interruptible is None:
            return self.is_async or self.timeout_s > 0
        return self.interruptible


class Tool:
    """A decorated function as the gate sees it: what to call, and what is known of it."""

    __slots__ = ("binding", "fn", "spec")

    def __init__(self, fn: Callable[..., Any], spec: ToolSpec) -> None:
        self.fn = fn
        self.spec = spec
        self.binding = Binding(fn)


@overload
def tool(fn: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool(
    *,
    name: str | None = ...,
    side_effect: semconv.SideEffect = ...,
    timeout: float | None = ...,
    interruptible: bool | None = ...,
    idempotent: bool = ...,
    undo: Callable[..., Any] | None = ...,
    fallback: Callable[..., Any] | None = ...,
    schema: Mapping[str, Any] | None = ...,
    result_schema: Mapping[str, Any] | None = ...,
    returns_json: bool | None = ...,
    foreign_text: bool | None = ...,
    health: Callable[[], Any] | None = ...,
    cross_check: Callable[..., Any] | None = ...,
    reason: Reason = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    side_effect: semconv.SideEffect = "write",
    timeout: float | None = None,
    interruptible: bool | None = None,
    idempotent: bool = False,
    undo: Callable[..., Any] | None = None,
    fallback: Callable[..., Any] | None = None,
    schema: Mapping[str, Any] | None = None,
    result_schema: Mapping[str, Any] | None = None,
    returns_json: bool | None = None,
    foreign_text: bool | None = None,
    health: Callable[[], Any] | None = None,
    cross_check: Callable[..., Any] | None = None,
    reason: Reason = "",
) -> Any:
    """Puts the gate around a function that an agent uses as a tool. Without ``instrument_agent`` it changes nothing.

    A refused or steered call returns text for the model where the function would have returned its result.

    Args:
        fn: the function, sync or async.
        name: as the model knows it; by default the function's.
        side_effect: ``read`` may be repeated; ``scratch`` touches only its own temporary things; ``write`` has effects;
            ``high_risk`` is never run without approval.
        timeout: seconds. An async call is cancelled; a sync one runs on a thread of its own and is left behind there,
            its outcome unknown. So give none to a sync function that must stay on its thread.
        interruptible: whether an order may cut a call short; True puts a sync function on a thread of its own.
        idempotent: calling it twice does what calling it once does.
        undo: takes the effect of a call back: ``undo(result, **arguments)``.
        fallback: called with the same arguments when the tool cannot do it.
        schema: JSON Schema of the arguments; calls that break it are not made.
        result_schema: JSON Schema of the result.
        returns_json: the result is JSON text; by default its form and history tell.
        foreign_text: the result may hold text by others (files, pages), which proves nothing by its words; by default
            the name tells.
        health: ``health()`` tells whether the service behind it is up.
        cross_check: ``cross_check(result, **arguments)`` asks a second source, or reads back what was written. True:
            the result holds; false: it does not; None: that cannot be told. A validation step of its own after each
            call that worked; async where the tool is.
        reason: why the agent makes a call, or a function of the arguments that tells.

    Returns:
        A function with the same signature; as ``@tool`` or ``@tool(...)``.

    Raises:
        ValueError: an option makes no sense, or a schema is none.
    """
    if fn is None:
        return functools.partial(
            tool, name=name, side_effect=side_effect, timeout=timeout, interruptible=interruptible,
            idempotent=idempotent, undo=undo, fallback=fallback, schema=schema, result_schema=result_schema,
            returns_json=returns_json, foreign_text=foreign_text, health=health, cross_check=cross_check, reason=reason,
        )  # fmt: skip
    if side_effect not in semconv.SIDE_EFFECTS:
        raise ValueError(f"side_effect={side_effect!r}: write one of {', '.join(semconv.SIDE_EFFECTS)}")
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout={timeout!r}: write seconds above 0, or leave it out")
    label = name or str(getattr(fn, "__name__", type(fn).__name__))
    spec = ToolSpec(
        label,
        side_effect,
        timeout or 0.0,
        interruptible,
        idempotent,
        undo,
        _supervised_fallback(fallback, side_effect),
        _schema(schema),
        _schema(result_schema),
        returns_json,
        foreign_text_tool(label) if foreign_text is None else foreign_text,
        health,
        reason,
        inspect.iscoroutinefunction(fn),
        cross_check,
    )
    supervised = Tool(fn, spec)
    if spec.is_async:

        @functools.wraps(fn)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            if (active := runtime()) is None:
                return await fn(*args, **kwargs)
            return await call_async(supervised, active, args, kwargs)
    else:

        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if (active := runtime()) is None:
                return fn(*args, **kwargs)
            return call_sync(supervised, active, args, kwargs)

    wrapper.__spanward_tool__ = spec  # type: ignore[attr-defined]
    return wrapper


def spec_of(fn: object) -> ToolSpec | None:
    """What :func:`tool` knows of a function it decorated."""
    found = getattr(fn, "__spanward_tool__", None)
    return found if isinstance(found, ToolSpec) else None


def _supervised_fallback(fallback: Callable[..., Any] | None, side_effect: str) -> Callable[..., Any] | None:
    if fallback is None or spec_of(fallback) is not None:
        return fallback
    # It is a call of its own and passes the gate as one; what stands in for a read is taken for one.
    return tool(side_effect="read" if side_effect == "read" else "write")(fallback)


def _schema(source: Mapping[str, Any] | None) -> Schema | None:
    if source is None:
        return None
    from spanward.schema import Schema  # deferred: the validator is compiled code that most tools do not need

    return Schema.of(source)
