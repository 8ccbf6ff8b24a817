"""What the limits of an agent's SDK took from a span: attributes above a count, and the ends of long values.

Nobody may be blamed for what was lost on the way, so what is not whole counts as not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from spanward_detector.ingest import Attrs, RawSpan
from spanward_detector.normalize.messages import Message, finish_reason

if TYPE_CHECKING:
    from spanward_detector.normalize.reading import Reading

ATTRIBUTES: Final = "attributes"
VALUES: Final = "values"

_SHORTEST: Final = 100
"""Nobody sets a lower limit on the length of values; ids and digests are shorter."""
_OPENS: Final = ("{", "[")
_CLOSES: Final = ("}", "]")


def whole(span: RawSpan, reading: Reading) -> Reading:
    """The reading without what the span's limits took a part of; the same one where they took nothing."""
    if span.dropped:
        return replace(
            reading, lost=ATTRIBUTES, request=None, reply=_told(reading), tools=None, schema=None, content=False
        )
    limit = _limit(span)
    return reading if limit is None else _shorter(reading, limit)


def _limit(span: RawSpan) -> int | None:
    """The length at which values of a span were cut; None where none was."""
    found = _cut_at(span.attrs)
    if found is None and span.raw_events and len(max(span.raw_events, key=len)) > _SHORTEST:
        found = next((at for event in span.events if (at := _cut_at(event.attrs)) is not None), None)
    return found


def _cut_at(attrs: Attrs) -> int | None:
    """The length at which these were cut: a round one that the longest have, where a text ends in the middle there."""
    longest = attrs.longest()
    length = len(longest)
    if length < _SHORTEST or not _is_round(length):
        return None
    if _unclosed(longest):
        return length
    same = {text for key in attrs if (text := attrs.value(key)) and isinstance(text, str) and len(text) == length}
    return length if len(same) > 1 or any(map(_unclosed, same)) else None


def _is_round(length: int) -> bool:
    return not length % 50 or not length % 1024 or not length & (length - 1) or not (length + 1) & length


def _unclosed(text: str) -> bool:
    return text.startswith(_OPENS) and not text.endswith(_CLOSES)


def _told(reading: Reading) -> list[Message] | None:
    """The reply, unless its calls may be what is missing."""
    lacks = finish_reason(reading.finish) == "tool_calls" and not any(message.calls for message in reading.reply or ())
    return None if lacks else reading.reply


def _shorter(reading: Reading, limit: int) -> Reading:
    def short(text: str | None) -> str | None:
        return text if text is None or len(text) < limit else None

    def messages(given: Iterable[Message] | None) -> list[Message] | None:
        return None if given is None else [
            message._replace(
                text=short(message.text),
                calls=tuple(
                    call if short(call.arguments) is not None else call._replace(arguments=None, form=None)
                    for call in message.calls
                ),
            )
            for message in given
        ]  # fmt: skip

    return replace(
        reading, lost=VALUES, content=False, tools=None,
        arguments=short(reading.arguments), result=short(reading.result), system=short(reading.system),
        user_input=short(reading.user_input), answer=short(reading.answer), error_text=short(reading.error_text),
        request=messages(reading.request), reply=messages(_told(reading)),
    )  # fmt: skip
