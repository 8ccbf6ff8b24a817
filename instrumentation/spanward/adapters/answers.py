"""What an adapter tells the gate of a model call, whatever the SDK: plain data, and the shape that each API must give.

SDK objects and the dictionaries of a raw reply are read alike, by :func:`pick`: a server that leaves a field out, or an
SDK version that has it elsewhere, is an absent value here and never an exception.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

Body = Mapping[str, Any]
"""A request body as JSON data; never changed in place, for it may be the user's."""


class ToolCall(NamedTuple):
    """One tool call in a model's reply.

    Attributes:
        id: of the call, as tool results refer to it.
        name: the tool.
        arguments: text as the model wrote it; ``None`` for tools that take free text.
    """

    id: str
    name: str
    arguments: str | None


class ToolMessage(NamedTuple):
    """A tool's result in a request.

    Attributes:
        call_id: of the call that it answers.
        text: the result.
    """

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's reply.

    Attributes:
        text: what it says, ``""`` when it only calls tools; a refusal's words count.
        calls: tool calls that the caller must run, in order.
        finish_reasons: as the API gives them.
        response_id: id of the reply, ``""`` when there is none.
        model: that answered.
        input_tokens, output_tokens: as reported, ``None`` when not.
        whole: false while the reply is not finished on the server, such as a background response.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    response_id: str = ""
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """The facts of a request.

    Attributes:
        model: that is asked.
        max_tokens: limit of the answer's tokens, ``None`` when not stated.
        json_expected: the answer must be JSON.
        tools: declared function tools with the JSON Schema of their parameters, ``None`` where there is none.
        other_tools: names of declared tools that take free text or run on the server.
        messages: the conversation, for content capture only.
        definitions: the tools as declared, for content capture only.
    """

    model: str
    max_tokens: int | None = None
    json_expected: bool = False
    tools: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    other_tools: frozenset[str] = frozenset()
    messages: Sequence[object] = ()
    definitions: Sequence[object] = ()


class Dialect(Protocol):
    """How one API of one SDK writes requests and replies. Functions of a module; pure but for what says "in place"."""

    def asked(self, body: Body) -> Asked: ...
    def answer(self, reply: object) -> Answer: ...
    def rewrite(self, reply: object, arguments: Mapping[str, str]) -> None:
        """Puts other arguments into the reply, by call id, in place."""

    def degrade(self, reply: object, text: str) -> None:
        """Turns the reply into one that calls no tool and says ``text``, in place."""

    def replan(self, body: Body, reply: object, results: Mapping[str, str], notice: str) -> Body:
        """The request that goes on after the reply.

        Args:
            body: the request that was answered.
            reply: the answer that the user does not get to see.
            results: text for every tool call of the reply, by call id.
            notice: for a reply without tool calls, what to tell the model.
        """

    def tool_messages(self, body: Body) -> Iterable[ToolMessage]: ...
    def with_results(self, body: Body, texts: Mapping[str, str]) -> Body:
        """The request with other tool results, by call id."""


def pick(value: object, *path: str | int) -> Any:
    """The value at a path through objects, mappings and lists; ``None`` where the path ends early."""
    for key in path:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list | tuple) and -len(value) <= key < len(value) else None
        elif isinstance(value, Mapping):
            value = value.get(key)
        else:
            value = getattr(value, key, None)
        if value is None:
            return None
    return value


def word(value: object, *path: str | int) -> str:
    """The text at a path; ``""`` where there is none, or something else."""
    found = pick(value, *path)
    return found if isinstance(found, str) else ""


def is_record(value: object) -> bool:
    """Whether a value can have fields."""
    return value is not None and not isinstance(value, str | int | float | list | tuple)


def put(owner: object, key: str, value: object) -> None:
    """Sets a field of an object or a dictionary."""
    if isinstance(owner, dict):
        owner[key] = value
    else:
        setattr(owner, key, value)


def items(value: object) -> Sequence[Any]:
    """The value when it is a list, else nothing."""
    return value if isinstance(value, list | tuple) else ()


def text_of(content: object) -> str:
    """The words of a message's content, be it a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(str(pick(part, "text") or pick(part, "refusal") or "") for part in items(content))


def whole_number(value: object) -> int | None:
    """The value when it is an integer, and no boolean."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
