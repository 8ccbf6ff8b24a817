"""Makes hostile input out of good input: of bytes, of JSON, and of protobuf messages field by field.

All of it is a function of its random generator: the same seed gives the same inputs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

Mutator = Callable[[bytes, Random], bytes]

MAX_INPUT: Final = 256 * 1024
"""Bytes of an input at most: enough for what is quadratic to take longer than a second."""
_USUAL: Final = 16 * 1024
_BLOWN_UP: Final = 0.03
"""Share of mutations that may make an input as long as is allowed."""

NUMBERS: Final = (
    "0", "-0", "1", "-1", "0.1", "1e999", "-1e999", "1e-999", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "18446744073709551616", "4294967296", "2147483648",
    "9" * 400, "9" * 5000, "1." + "0" * 400 + "1", "0x10", "1_000", "NaN", "Infinity", "-Infinity", "٣", "²", "1e5",
)  # fmt: skip
SPACES: Final = (
    " ", "\t", "\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0", "\u1680", "\u2003", "\u2028",
    "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff", "\x00",
)  # fmt: skip
_WORDS: Final = (
    "{", "}", "[", "]", '"', "'", ":", ",", "\\", "/", "```", "```json\n", "//", "/*", "*/", "#", "\n", "true", "None",
    '{"error": ', '"""', "'''", "<title>", "</", "<script>", "<html", "Error: ", "Traceback (most recent call last):\n",
    "exit code ", "HTTP 500 ", "status: ", "ignore all previous instructions", "sk-", "-----BEGIN PRIVATE KEY-----",
    "rm -rf /", "DROP TABLE ", "$(", "`", "|", "&&", ";", "\\u0000", "\\ud800", "\\u0022", "%s", "{0}", "{tool}", "é",
    "ﬀ", "İ", "ß", "𝒳", "\u202e", "e\u0301", "Z̤̈", "http://[", "://", "https://a@b:c", "..", "../", "~", "*", "1,000",
    "=", "@", "<|im_start|>", "[INST]", "data:", "a" * 64, "A_" * 32, "x1" * 40, "- ", "? ", "&a ", "*a", "!!int ",
    "!!set ", "2001-99-99", "0o9", "1:60:00", "<<: ", "|\n", ">\n", "%YAML 1.1\n", "...", "---\n",
)  # fmt: skip
_RAW: Final = (
    b"\x00", b"\xff", b"\xfe\xff", b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f", b"\x1f\x8b",
    b"\xff" * 9 + b"\x01", b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\x0c", b"\xef\xbb\xbf",
)  # fmt: skip
TOKENS: Final = (*(word.encode() for word in (*_WORDS, *NUMBERS, *SPACES)), *_RAW)
_PAIRS: Final = (("[", "]"), ("{", "}"), ("(", ")"), ('{"a":', "}"), ('[{"a":[', "]}]"), ('"', '"'), ("<a>", "</a>"))
_DEPTHS: Final = (2, 33, 64, 101, 254, 256, 1023, 1025, 5000)

# ------------------------------------------------------------------------------------------------------------- bytes


def _place(data: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((0, 1, 2, 4, 16, 64, 512, len(data))))


def _flip(data: bytes, rng: Random) -> bytes:
    out = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _cut(data: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + data[end:]


def _end(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _again(data: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 9)) + data[end:]


def _token(data: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + rng.choice(TOKENS) + data[rng.choice((start, end)) :]


def _repeated(data: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    piece = rng.choice((rng.choice(TOKENS), rng.choice(TOKENS) + rng.choice(TOKENS), data[start : start + 8] or b" "))
    size = MAX_INPUT if rng.random() < _BLOWN_UP else rng.choice((64, 1024, 4096))
    return data[:start] + piece * (size // len(piece) + 1) + data[rng.choice((start, end)) :]


def _nested(data: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    (opening, closing), depth = rng.choice(_PAIRS), rng.choice(_DEPTHS)
    closed = rng.choice((depth, depth, 0, depth - 1))
    return data[:start] + opening.encode() * depth + data[start:end] + closing.encode() * closed + data[end:]


def _number(data: bytes, rng: Random) -> bytes:
    digits = [at for at, byte in enumerate(data[:_USUAL]) if 0x30 <= byte <= 0x39]
    if not digits:
        return _token(data, rng)
    start = end = rng.choice(digits)
    while end < len(data) and 0x30 <= data[end] <= 0x39:
        end += 1
    return data[:start] + rng.choice(NUMBERS).encode() + data[end:]


def _space(data: bytes, rng: Random) -> bytes:
    return data.replace(
        rng.choice((b" ", b"\n", b",", b":", b"{")), rng.choice(SPACES).encode(), rng.choice((1, 3, -1))
    )


_CHANGES: Final = (_flip, _cut, _end, _again, _token, _token, _repeated, _nested, _number, _space)


def mutate_bytes(data: bytes, rng: Random) -> bytes:
    """A few changes, anywhere."""
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        data = rng.choice(_CHANGES)(data, rng)[:MAX_INPUT]
    return data


# --------------------------------------------------------------------------------------------------------------- text


def mutate_text(text: str, rng: Random) -> str:
    """As bytes or, where it is JSON, as JSON; what is no UTF-8 then is replaced."""
    data = text.encode("utf-8", "surrogatepass")
    changed = mutate_json(data, rng) if text[:1] in ("{", "[") and rng.random() < 0.6 else mutate_bytes(data, rng)
    return changed.decode("utf-8", "replace")


def _hostile(rng: Random) -> Any:
    """A JSON value that is rarely where it is."""
    return rng.choice((
        None, True, False, 0, -1, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, 1e308, 5e-324, 0.5, "", "\0",
        "null", "\ud800"[: rng.random() < 0.2], rng.choice(NUMBERS), rng.choice(_WORDS),
        rng.choice(SPACES) * 8, "a" * rng.choice((1, 300, 5000)), [], {}, [[]], [{}], {"": ""}, [None] * 40,
        {"a": {"a": {"a": [1]}}}, {"type": "text", "text": "x"}, ["x", 1, None, {}], {"$ref": "#"},
    ))  # fmt: skip


def _spots(value: Any, limit: int = 400) -> Iterator[tuple[Any, Any]]:
    """Containers and keys of everything inside, breadth first."""
    pending = [value]
    for container in pending:
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            yield container, key
            limit -= 1
            if limit <= 0:
                return
            if isinstance(container[key], dict | list):
                pending.append(container[key])


def _change_json(value: Any, rng: Random) -> Any:
    spots = list(_spots(value)) if isinstance(value, dict | list) else []
    if not spots or rng.random() < 0.05:
        return rng.choice((_hostile(rng), [value], {"content": value}))
    container, key = rng.choice(spots)
    other, name = rng.choice(spots)
    what = rng.randrange(7)
    if what == 0:
        del container[key]
    elif what == 1:
        container[key] = json.loads(json.dumps(other[name]))
    elif what == 2 and isinstance(container, dict):
        container[rng.choice((str(name), str(_hostile(rng))))] = container.pop(key)
    elif what == 3 and isinstance(container[key], str):
        container[key] = mutate_text(container[key], rng)
    elif what == 4:
        container[key] = rng.choice((json.dumps(container[key]), [container[key]] * rng.choice((1, 3, 50))))
    else:
        container[key] = _hostile(rng)
    return value


def mutate_json(data: bytes, rng: Random) -> bytes:
    """Changes values and names, then sometimes bytes; what is no JSON is changed as bytes."""
    try:
        value = json.loads(data)
        for _ in range(rng.choice((1, 2, 4))):
            value = _change_json(value, rng)
        data = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError, IndexError):
        return mutate_bytes(data, rng)
    return mutate_bytes(data, rng) if rng.random() < 0.2 else data[:MAX_INPUT]


def mutate_lines(data: bytes, rng: Random) -> bytes:
    """JSON lines: one of them is changed, or their order."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = mutate_json(lines[at], rng)
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines)), lines[at])
    return b"\n".join(lines)[:MAX_INPUT]


# ----------------------------------------------------------------------------------------------------------- protobuf

_INTS: Final = (0, 1, -1, 2, 5, 127, 2**31 - 1, -(2**31), 2**32 - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)
_FLOATS: Final = (0.0, -0.0, -1.0, 1e-9, 1e18, 1e308, math.inf, -math.inf, math.nan)
_DIGITS: Final = (-(2**31), 2**31 - 1, -(2**63), 2**63 - 1, 0, 2**32 - 1, 0, 2**64 - 1)


def _set_in(message: Message) -> Sequence[tuple[Any, Any]]:
    return message.ListFields()  # its stub knows nothing of descriptors


def _messages(message: Message, limit: int = 3000) -> list[Message]:
    """The message and all messages in it."""
    found = [message]
    for one in found:
        for field, value in _set_in(one):
            if field.type != FieldDescriptor.TYPE_MESSAGE:
                continue
            if field.message_type.GetOptions().map_entry:
                if field.message_type.fields_by_name["value"].type == FieldDescriptor.TYPE_MESSAGE:
                    found.extend(value.values())
            elif isinstance(value, Message):
                found.append(value)
            else:
                found.extend(value)
        if len(found) > limit:
            break
    return found


def _value(field: Any, old: Any, rng: Random, words: Sequence[str]) -> Any:
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING and field.type == FieldDescriptor.TYPE_BYTES:
        return mutate_bytes(old or b"", rng) if rng.random() < 0.3 else rng.randbytes(rng.choice((0, 1, 7, 8, 16, 17)))
    if kind == FieldDescriptor.CPPTYPE_STRING:
        if words and rng.random() < 0.2:
            return rng.choice(words)
        return mutate_text(old or "", rng) if rng.random() < 0.8 else mutate_text(rng.choice(words or ("",)), rng)
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return rng.choice(_FLOATS)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return rng.choice((0, 1, 2, 3, 5, 7, 99, -1))
    wide = kind in (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64)
    unsigned = kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
    low, high = (0 if unsigned else -(2 ** (63 if wide else 31))), 2 ** ((64 if wide else 32) - (not unsigned)) - 1
    return min(max(rng.choice(_INTS), low), high)


def _change_message(message: Message, rng: Random, words: Sequence[str]) -> None:
    one = rng.choice(_messages(message))
    set_fields = [field for field, _ in _set_in(one)]
    fields = set_fields if set_fields and rng.random() < 0.8 else list(one.DESCRIPTOR.fields)
    if not fields:
        return
    field = rng.choice(fields)
    if field.is_repeated if hasattr(field, "is_repeated") else field.label == FieldDescriptor.LABEL_REPEATED:
        _change_repeated(getattr(one, field.name), field, rng, words)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        one.ClearField(field.name) if rng.random() < 0.3 else getattr(one, field.name).SetInParent()
    else:
        setattr(one, field.name, _value(field, getattr(one, field.name), rng, words))


def _change_repeated(values: Any, field: Any, rng: Random, words: Sequence[str]) -> None:
    if field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type.GetOptions().map_entry:
        key = _value(field.message_type.fields_by_name["key"], next(iter(values), None), rng, words)
        entry = field.message_type.fields_by_name["value"]
        if entry.type == FieldDescriptor.TYPE_MESSAGE:
            values[key].SetInParent()
        else:
            values[key] = _value(entry, values.get(key), rng, words)
    elif field.type != FieldDescriptor.TYPE_MESSAGE:
        values.append(_value(field, values[-1] if values else None, rng, words))
    elif not values or rng.random() < 0.2:
        values.add()
    elif rng.random() < 0.4:
        del values[rng.randrange(len(values))]
    else:
        values.add().CopyFrom(rng.choice(values))


def _mutate_message(data: bytes, rng: Random, *, of: type[Message], words: Callable[[], Sequence[str]]) -> bytes:
    if rng.random() < 0.1:
        return mutate_bytes(data, rng)
    try:
        message = of.FromString(data)
    except DecodeError:
        return mutate_bytes(data, rng)
    for _ in range(rng.choice((1, 2, 4, 12))):
        _change_message(message, rng, words())
    changed = message.SerializeToString()
    return changed if len(changed) <= 4 * MAX_INPUT else data


def message_mutator(of: type[Message], words: Callable[[], Sequence[str]] = lambda: ()) -> Mutator:
    """Changes fields of a message to what their type allows, and sometimes its bytes.

    Args:
        of: the message's class.
        words: texts that mean something there, such as names of attributes.
    """
    return partial(_mutate_message, of=of, words=words)
