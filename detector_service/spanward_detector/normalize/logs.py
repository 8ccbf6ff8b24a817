"""Content of model calls that travels as log records, joined to its span in either order of arrival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from spanward_detector.ingest import RawLog
from spanward_detector.normalize import genai
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.messages import Message
from spanward_detector.normalize.reading import Reading

DETAILS_EVENT: Final = "gen_ai.client.inference.operation.details"
CHOICE_EVENT: Final = "gen_ai.choice"
MESSAGE_EVENTS: Final[Mapping[str, str]] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events up to v1.36, each with one message in its body -> role of the message."""

_MAX_MESSAGES: Final = 2048


@dataclass(slots=True)
class LogContent:
    """What log records say of one model call.

    Attributes:
        request: messages with the time and the order in which they came.
        choices: index of the choice -> message.
        details: reading of a details event; it needs no other record.
        revision: grows with each record.
    """

    request: list[tuple[int, Message]] = field(default_factory=list)
    choices: dict[int, Message] = field(default_factory=dict)
    details: Reading | None = None
    revision: int = 0

    def messages(self) -> list[Message]:
        """The request in the order in which it was sent: the records' times decide, for they may come in any order."""
        return [message for _, message in sorted(self.request, key=lambda pair: pair[0])]

    def recorded(self) -> bool:
        """Whether records carry content at all: by default they carry names and ids alone."""
        if self.details is not None:
            return self.details.content
        return any(message.text is not None for _, message in self.request)

    def reply(self) -> list[Message] | None:
        """The answer; None when no record of it has come."""
        return [self.choices[index] for index in sorted(self.choices)] or None


def is_content(log: RawLog) -> bool:
    """True for a record that carries content of a model call."""
    name = log.event_name
    return bool(log.span_id) and (name in MESSAGE_EVENTS or name in (CHOICE_EVENT, DETAILS_EVENT))


def add(content: LogContent, log: RawLog) -> None:
    """Adds one record. The same record twice changes nothing."""
    if log.event_name == DETAILS_EVENT:
        content.details = genai.read_llm(log.attrs)
        content.revision += 1
        return
    body = log.body
    body = body if isinstance(body, Mapping) else {}
    if log.event_name == CHOICE_EVENT:
        inner = body.get("message")
        inner = inner if isinstance(inner, Mapping) else {}
        message = _message("assistant", inner)._replace(finish=str(body.get("finish_reason") or ""))
        index = body.get("index")
        content.choices[index if isinstance(index, int) else 0] = message
        content.revision += 1
        return
    entry = (log.ts_ns, _message(MESSAGE_EVENTS[log.event_name], body))
    if entry not in content.request and len(content.request) < _MAX_MESSAGES:
        content.request.append(entry)
        content.revision += 1


def _message(role: str, body: Mapping[str, object]) -> Message:
    found = msg.from_object({"role": role, **{key: value for key, value in body.items() if key != "role"}})
    return found[0] if found else Message(role)
