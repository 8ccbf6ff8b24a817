"""What normalization remembers between spans: bounded, and never needed for a span's own facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

import orjson

from spanward_detector.model import Kind, SpanRef, Step, ToolCall

K = TypeVar("K")
V = TypeVar("V")

MAX_PER_TRACE: Final = 4096
"""Entries of each kind kept for one trace."""
MAX_ANCESTORS: Final = 64
"""Levels walked up a trace: deeper nesting is a cycle or an attack."""


class Generations(Generic[K, V]):
    """A map that forgets what has not been touched for long, in constant time and without an order to maintain.

    Two dictionaries: when the new one is full it becomes the old one, and what the old one held is gone. A look-up in
    the old one moves the entry to the new one.

    Args:
        limit: entries per generation; at most twice as many are held.
    """

    __slots__ = ("_limit", "_new", "_old")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of ``key``, or None."""
        value = self._new.get(key)
        if value is None and self._old:
            value = self._old.pop(key, None)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Sets the value of ``key``."""
        if len(self._new) >= self._limit:
            self._old, self._new = self._new, {}
        self._new[key] = value

    def pop(self, key: K) -> V | None:
        """Removes ``key`` and returns its value, or None."""
        old = self._old.pop(key, None)
        return self._new.pop(key, old)

    def __len__(self) -> int:
        return len(self._new) + len(self._old)


class AgentNote(NamedTuple):
    """A span that stands for an agent.

    Attributes:
        name: of the agent.
        explicit: the telemetry names the agent; else the name is the span's, and frameworks mark inner nodes so too.
    """

    name: str
    explicit: bool


@dataclass(slots=True)
class TraceContext:
    """What is known of one trace.

    Attributes:
        agents: span id -> agent that the span stands for.
        tool_spans: span id -> tool that the span stands for.
        tools: declared tools, name -> JSON Schema or None.
        calls: call id (or ``name#n`` without one) -> tool call as a model wrote it.
        conversation_id: told by any span of the trace.
        ours: kinds of steps of which our own gate makes spans in this trace.
        sightings: id of a model call's span -> tool steps that were read from its request.
    """

    agents: dict[str, AgentNote] = field(default_factory=dict)
    tool_spans: dict[str, str] = field(default_factory=dict)
    tools: dict[str, object] = field(default_factory=dict)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    conversation_id: str = ""
    ours: set[Kind] = field(default_factory=set)
    sightings: dict[str, dict[SpanRef, Step]] = field(default_factory=dict)

    def declare(self, tools: dict[str, object]) -> None:
        """Remembers tools; a schema is never replaced by the lack of one."""
        for name, schema in tools.items():
            if len(self.tools) < MAX_PER_TRACE and (schema is not None or name not in self.tools):
                self.tools[name] = schema

    def note_calls(self, calls: tuple[ToolCall, ...]) -> None:
        """Remembers the tool calls of a reply, so that a tool's own span can be completed from them."""
        for call in calls:
            if call.name and len(self.calls) < MAX_PER_TRACE:
                self.calls[call.id or f"{call.name}#{len(self.calls)}"] = call

    def find_call(self, name: str, call_id: str, bare: str) -> ToolCall | None:
        """The call of a tool by its id, else one of the same tool whose only argument is ``bare``."""
        known = self.calls.get(call_id) if call_id else None
        if known is not None:
            return known
        for call in self.calls.values():
            if call.name == name and call.arguments is not None and _only_value(call.arguments) == bare:
                return call
        return None


def _only_value(arguments: str) -> str | None:
    """The value of the only member of a JSON object, as text; None when there is no such thing."""
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or len(value) != 1:
        return None
    only = next(iter(value.values()))
    try:
        return str(only)
    except RecursionError:  # nested so deep that nobody can have written it bare either
        return None
