"""What a streamed reply says: collects its events into a whole reply, and tells which of them may pass at once.

Words pass at once. Tool calls are kept back until the reply is whole: only then can their arguments be judged, repaired
or replaced. One collector serves one streamed reply and is not shared between threads.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from spanward.adapters.answers import is_record, items, pick, put, whole_number, word

Fate = Literal["pass", "keep", "release"]
"""Of an event: to the user at once, past what is kept; kept back; or to the user behind all that was kept."""


class Collector(Protocol):
    """Reads one streamed reply."""

    @property
    def resumable(self) -> bool:
        """Another reply can still take the place of this one."""

    @property
    def replaceable(self) -> bool:
        """Plain words can take the place of what is kept back."""

    def take(self, event: object) -> Fate:
        """Takes in the next event."""

    def reply(self) -> object:
        """The reply as if it had not been streamed, from what was seen so far."""

    def rewrite(self, kept: Sequence[object], arguments: Mapping[str, str]) -> None:
        """Puts other arguments, by call id, into the events that were kept back, in place."""

    def degrade(self, kept: Sequence[object], text: str) -> None:
        """Turns the events that were kept back into ones that call no tool and say ``text``, in place."""


class ChatCollector:
    """Chat completion chunks; calls are read from the first choice. Its end is kept until the verdict is there.

    Args:
        resumed: a reply before has already begun to pass, so that this one must not introduce itself again.
    """

    def __init__(self, *, resumed: bool = False) -> None:
        self._resumed = resumed
        self._calls: dict[int, dict[str, Any]] = {}
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._whole: dict[str, Any] = {}
        self._finish: str | None = None

    @property
    def resumable(self) -> bool:
        # Words before a call are an announcement and may stand; an answer that was read cannot be unsaid.
        return bool(self._calls) or not any(self._text)

    @property
    def replaceable(self) -> bool:
        return self.resumable and (bool(self._calls) or self._finish is not None)  # either stands in a kept event

    def take(self, event: object) -> Fate:
        for key in ("id", "model", "usage"):
            if (value := pick(event, key)) is not None:
                self._whole[key] = value
        choice = pick(event, "choices", 0)
        if choice is None or pick(choice, "index"):
            # The usage comes after the end: behind what is kept it must wait for its turn.
            return "keep" if self._calls or self._finish else "pass"
        delta = pick(choice, "delta")
        if self._resumed and is_record(delta) and pick(delta, "role"):
            # Readers that add up deltas would make it "assistantassistant".
            put(delta, "role", None)
        self._text.append(word(delta, "content"))
        self._refusal.append(word(delta, "refusal"))
        self._finish = pick(choice, "finish_reason") or self._finish
        calls = items(pick(delta, "tool_calls"))
        for piece in calls:
            self._add(piece)
        return "keep" if calls or self._finish else "pass"

    def _add(self, piece: object) -> None:
        call = self._calls.setdefault(whole_number(pick(piece, "index")) or 0, {"id": "", "type": "function"})
        call["id"] = call["id"] or word(piece, "id")
        for kind, field in (("function", "arguments"), ("custom", "input")):
            if (part := pick(piece, kind)) is not None:
                inner = call.setdefault(kind, {"name": "", field: ""})
                inner["name"] += word(part, "name")
                inner[field] += word(part, field)

    def reply(self) -> object:
        message = {
            "role": "assistant",
            "content": "".join(self._text) or None,
            "refusal": "".join(self._refusal) or None,
            "tool_calls": [self._calls[index] for index in sorted(self._calls)] or None,
        }
        return {**self._whole, "choices": [{"index": 0, "message": message, "finish_reason": self._finish}]}

    def rewrite(self, kept: Sequence[object], arguments: Mapping[str, str]) -> None:
        texts = {index: arguments[call["id"]] for index, call in self._calls.items() if call["id"] in arguments}
        for event in kept:
            for piece in items(pick(event, "choices", 0, "delta", "tool_calls")):
                index = whole_number(pick(piece, "index")) or 0
                if index in texts and is_record(function := pick(piece, "function")):
                    # The first piece carries the whole; the rest stay, emptied, so that their number is unchanged.
                    put(function, "arguments", texts[index])
                    texts[index] = ""

    def degrade(self, kept: Sequence[object], text: str) -> None:
        for event in kept:
            choice = pick(event, "choices", 0)
            delta = pick(choice, "delta")
            if not is_record(delta) or pick(choice, "index"):
                continue
            put(delta, "tool_calls", None)
            put(delta, "content", text or None)
            text = ""
            if pick(choice, "finish_reason"):
                put(choice, "finish_reason", "stop")


class ResponsesCollector:
    """Events of the responses API.

    The opening events are kept until there is something to see, so that a reply which only calls tools can be replaced
    by another one without a trace: the SDK's reader refuses a stream that changes its response id. From the first tool
    call on all events are kept, for their positions refer to each other; and always the last one, until the verdict is
    there.

    Args:
        resumed: ignored; a reply that has begun to pass is never followed by another.
    """

    _OPENING = frozenset({"response.created", "response.queued", "response.in_progress"})
    _CLOSING = frozenset({"response.completed", "response.incomplete", "response.failed"})

    def __init__(self, *, resumed: bool = False) -> None:  # noqa: ARG002 - both collectors are made alike
        self._reply: object = None
        self._items: list[object] = []
        self._calling = False
        self._speaking = False

    @property
    def resumable(self) -> bool:
        return not self._speaking

    @property
    def replaceable(self) -> bool:
        return False  # its events refer to each other: words would need other events, not other contents

    def take(self, event: object) -> Fate:
        kind = str(pick(event, "type") or "")
        if (whole := pick(event, "response")) is not None:
            self._reply = whole
        if kind == "response.output_item.done":
            self._items.append(pick(event, "item"))
        item = word(event, "item", "type")
        self._calling = self._calling or item in {"function_call", "custom_tool_call"}
        quiet = not self._speaking and (kind in self._OPENING or item == "reasoning")
        if self._calling or quiet or kind in self._CLOSING:
            return "keep"
        self._speaking = True
        return "release"

    def reply(self) -> object:
        if items(pick(self._reply, "output")) or not self._items:
            return self._reply
        known = {key: pick(self._reply, key) for key in ("id", "model", "status", "usage")}
        return {**known, "output": self._items}

    def rewrite(self, kept: Sequence[object], arguments: Mapping[str, str]) -> None:
        ids = {word(item, "id"): word(item, "call_id") for item in self._items if word(item, "call_id") in arguments}
        begun: set[object] = set()
        for event in kept:
            kind, item_id = word(event, "type"), word(event, "item_id")
            if kind == "response.function_call_arguments.delta" and item_id in ids:
                put(event, "delta", "" if item_id in begun else arguments[ids[item_id]])
                begun.add(item_id)
            elif kind == "response.function_call_arguments.done" and item_id in ids:
                put(event, "arguments", arguments[ids[item_id]])
            finished = [pick(event, "item")] if kind == "response.output_item.done" else []
            for item in (*finished, *items(pick(event, "response", "output"))):
                if word(item, "call_id") in arguments:
                    put(item, "arguments", arguments[word(item, "call_id")])

    def degrade(self, kept: Sequence[object], text: str) -> None:
        """Never asked for: see :attr:`replaceable`."""
