"""What the openai SDK hands out: parsed models, or raw responses that parse themselves when asked; treated alike."""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

from spanward.adapters.answers import pick

RAW_HEADER: Final = "X-Stainless-Raw-Response"
"""By which ``with_raw_response`` and ``with_streaming_response`` ask for theirs, inside the SDK."""
REPAIRED_HEADER: Final = "x-spanward-repaired"
"""On a raw response whose body is no longer the server's."""

Rawness = Literal["", "true", "stream"]
_BODY_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class Reply(Protocol):
    """An answer on its way to the user.

    Attributes:
        data: the whole answer as a dialect reads it and writes to it in place; ``None`` when it cannot be read.
    """

    data: Any

    def changed(self) -> None:
        """To be called when ``data`` was written to."""

    def give(self) -> Any:
        """What the user gets.

        Raises:
            Exception: what the parser of a ``parse`` raises.
        """


def rawness(options: object) -> Rawness:
    """Whether the user asked for a raw response, and for one whose body is not read yet (``stream``)."""
    headers = pick(options, "headers")
    asked = headers.get(RAW_HEADER) if isinstance(headers, Mapping) else None
    return asked if asked in ("true", "stream") else ""


class ParsedReply:
    """A model of the SDK, with the parser of a ``parse`` still to be applied."""

    def __init__(self, value: Any, parser: object) -> None:
        self.data = value
        self._parser = parser if callable(parser) else None

    def changed(self) -> None:
        """The model itself was changed."""

    def give(self) -> Any:
        if self._parser is None:
            return self.data
        parsed = self._parser(self.data)
        if (request_id := pick(self.data, "_request_id")) is not None:
            parsed._request_id = request_id  # as the SDK does after its parser; public in spite of its name
        return parsed


class RawReply:
    """A raw response whose body is at hand."""

    def __init__(self, value: Any) -> None:
        self._value = value
        try:
            self.data = json.loads(value.http_response.content)
        except ValueError:
            self.data = None

    def changed(self) -> None:
        """Gives the response another body: the user parses it as any other, and a header tells that it was changed."""
        old = self._value.http_response
        headers = {key: value for key, value in old.headers.items() if key.lower() not in _BODY_HEADERS}
        new = type(old)(
            old.status_code,
            headers={**headers, REPAIRED_HEADER: "1"},
            content=json.dumps(self.data, ensure_ascii=False).encode(),
            request=old.request,
            extensions=old.extensions,
            history=old.history,
        )
        new.elapsed = old.elapsed
        self._value.http_response = new

    def give(self) -> Any:
        return self._value
