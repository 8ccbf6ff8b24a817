"""Decide from a tool's result whether the tool failed: top-level JSON first, then exit code, then text, then page."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from spanward.canonical import starts_like_json
from spanward.facts.envelopes import (
    BAD,
    CARRIERS,
    CODES,
    ENVELOPES,
    ERRORS,
    EXITS,
    FIELDS,
    FLAGS,
    LISTS,
    MESSAGES,
    PAYLOADS,
    SENTENCES,
    STATED,
    STATUSES,
    is_error_value,
    is_named_fault,
    is_thin,
    is_turned_away,
    message_in,
    said,
)
from spanward.facts.phrases import NO_ERROR
from spanward.facts.programs import complaint
from spanward.facts.tools import Foreign
from spanward.facts.wording import TAIL, bounded, exit_code_in, is_block_page, is_error_text, keeps_out, status_in


class Sign(NamedTuple):
    """How a result says that the tool failed.

    Attributes:
        sign: one of :data:`spanward.semconv.ERROR_SIGNS`; "" when it says that all is well.
        message: the text whose class makes the signature.
        status: HTTP-like status in it, 400 to 599, or None.
        exit_code: of a process, or None; 0 is a success that settles the matter.
    """

    sign: str
    message: str = ""
    status: int | None = None
    exit_code: int | None = None


WELL: Final = Sign("")

_VALIDATION_FIELDS = frozenset({"type", "loc", "msg"})
"""Of each entry in a list of validation errors."""
_FLAG_TEXT: Mapping[object, bool] = {
    "false": False, "true": True, "False": False, "True": True, "no": False, "yes": True, 0: False,
}  # fmt: skip
_XML_FAULT: Final = re.compile(
    r"(?:<\?xml[^>]{0,200}\?>\s{0,9})?<(?:\w{1,20}:)?(?:Error|ErrorResponse|Fault|ExceptionReport|ServiceExceptionReport"
    r"|errors?|exception|Exception|fault)\b"
)
_SOAP_FAULT: Final = re.compile(r"<(?:\w{1,20}:)?Fault>")
_XML_MESSAGE: Final = re.compile(
    r"<(?:\w{1,20}:)?(?:[Mm]essage|faultstring|reason|ExceptionText|Text)\b[^>]{0,200}>([^<]{1,500})<"
)
_LITERAL: Final = re.compile(r"'(?:[Ee]rrors?|exception|success|ok|status|is_?[Ee]rror|message|detail|code)'\s?:")
_LITERALS: Final = ("{'", "[{'")
_STREAMS: Final = ("{", "data:", "event:")
_LITERAL_CAP: Final = 4_096
_EVENTS: Final = 3
"""Events at the end of a stream of them that are read."""
_SMALL: Final = 4
"""Fields of an object that carries little more than a text."""
_ANSWER: Final = 30
"""Fields of an answer; an object with more of them is a table, and "error" a name in it."""
_FORM: Final = 20
"""Fields of a form."""


def says_nothing(value: object) -> bool:
    """Whether a parsed result is an object with none of the fields that are looked at: the common case, and cheap."""
    return (
        isinstance(value, dict)
        and len(value) > 1
        and FIELDS.keys().isdisjoint(value)
        and not isinstance(next(iter(value.values())), list)
    )


def of_result(value: Any, text: str, *, is_json: bool, foreign: Foreign) -> Sign:
    """Judge a result.

    Args:
        value: the parsed JSON, when it is JSON.
        text: the whole text.
        is_json: whether ``value`` counts.
        foreign: the text may be somebody else's (a page, a file): then only JSON fields and block pages speak, and a
            short word of a failed access.
    """
    for _ in range(3):  # an envelope in a wrapper in a string: deeper ones say nothing at the top level
        if not is_json:
            return _of_text(text, foreign)
        inner = _unwrap(value)
        if isinstance(inner, Sign):
            return inner
        if inner is None:
            return _of_object(value, foreign) if isinstance(value, dict) else _of_list(value)
        text = inner
        value, is_json = loads(inner)
    return WELL


def message_of(value: object) -> str:
    """The sentence in an error field: the text itself, or the message of an object."""
    for _ in range(3):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict):
            fields = said(value)
            value = next((fields[name] for name in MESSAGES if fields.get(name)), "")
        else:
            break
    return value if isinstance(value, str) else "" if value is None else str(value)


def _of_text(text: str, foreign: Foreign) -> Sign:
    code = exit_code_in(text, first_only=foreign is True or foreign == "by_name")
    if code is not None:
        return Sign("exit_code" if code else "", text[-TAIL:], None, code)
    if words := _words(text, foreign):
        return Sign("text", words, status_in(words))
    if text.startswith("<") and (_XML_FAULT.match(text) or _SOAP_FAULT.search(text[:TAIL])):
        message = _XML_MESSAGE.search(text[:TAIL])
        return Sign("field", message[1] if message else text[:TAIL])
    if text.startswith(_LITERALS) and (sign := _of_literal(text, foreign)).sign:
        return sign
    if text.startswith(_STREAMS) and (sign := _of_events(text)).sign:
        return sign
    return Sign("page", "page", status_in(text[:TAIL])) if is_block_page(text, stated=foreign is True) else WELL


def _of_events(text: str) -> Sign:
    """The last events of a stream that came as text: JSON lines, or server-sent events."""
    for line in text[-TAIL * 2 :].rstrip().split("\n")[-2 * _EVENTS :]:
        value, is_json = loads(line.removeprefix("data:").strip())
        if is_json and isinstance(value, dict) and len(line) < len(text):
            fields = said(value)
            error = fields.get("error")
            if is_error_value(error) or (fields.get("type") == "error" and message_in(fields)):
                return Sign("field", message_of(error or value), _status_number(_fields_of(error)))
    return WELL


def _of_literal(text: str, foreign: Foreign) -> Sign:
    """What Python writes of a dictionary: tools return it where they meant JSON."""
    if len(text) > _LITERAL_CAP or not _LITERAL.search(text):
        return WELL
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return WELL
    return of_result(value, text, is_json=isinstance(value, dict | list), foreign=foreign)


def _words(text: str, foreign: Foreign) -> str:
    """The text, or the line of it, by which a tool says in words that it failed."""
    if not foreign:
        return text if is_error_text(text) else ""
    if foreign is not True and keeps_out(text):
        return text
    return complaint(text) if foreign == "program" else ""


def _of_object(value: dict[Any, Any], foreign: Foreign, depth: int = 2) -> Sign:
    fields = said(value)
    if not fields:
        first = "" if foreign else _first_complaint(value)
        return Sign("field", first) if first else _of_envelope(value, fields, foreign, depth) if depth else WELL
    status = _status_number(fields)
    if any(_is_bad_flag(name, fields) for name in FLAGS.keys() & fields.keys()):
        return Sign("field", message_of(value), status, _exit_code(fields))
    for name in (*ERRORS, *SENTENCES) if len(value) <= _ANSWER else ():
        if name in fields and is_error_value(fields[name]) and (name in ERRORS or isinstance(fields[name], str)):
            error = fields[name]
            return Sign(
                "field", message_of(value if error is True else error), status or _status_number(_fields_of(error))
            )
    if (
        (len(value) <= _ANSWER and _has_errors(fields))
        or _has_error_code(fields)
        or _of_list(fields.get("detail")).sign
    ):
        return Sign("field", message_of(fields.get("errors") or value), status)
    stated = any(isinstance(fields.get(name), str) and fields[name].lower() in BAD for name in STATED)
    refused = fields.get("status") is False and message_in(fields) != ""
    if status is not None or stated or refused or (fields.get("type") == "error" and "message" in fields):
        return Sign("status", message_of(value), status, _exit_code(fields))
    if not foreign and (sign := _of_thin(value, fields)).sign:
        return sign
    code = _exit_code(fields)
    if code == 0 and "stdout" in value and not value["stdout"] and isinstance(errors := value.get("stderr"), str):
        # A wrapper that worked around a program that did not.
        line = complaint(errors)
        return Sign("text" if line else "", line, None, None if line else code)
    if code is None and depth and (sign := _of_envelope(value, fields, foreign, depth)).sign:
        return sign
    if (
        code is None
        and not foreign
        and len(value) <= _SMALL
        and (fields.get("success") is True or fields.get("ok") is True)
    ):
        # A flag that is always set, beside a text that says otherwise.
        text = next((fields[name] for name in CARRIERS & fields.keys() if isinstance(fields[name], str)), "")
        if text and is_error_text(text):
            return Sign("text", text, status_in(text))
    return Sign("exit_code" if code else "", message_of(value) if code else "", None, code)


def _of_thin(value: dict[Any, Any], fields: Mapping[str, Any]) -> Sign:
    """An object that carries a message and little more: the name of an error beside it, or what it says."""
    message = message_in(fields)
    if not message or not is_thin(value):
        return WELL
    if len(fields) > 1 and is_named_fault({**fields, "message": None}):
        return Sign("field", message)
    if is_turned_away(message) or (len(value) > 1 and fields.get("message") == message and is_error_text(message)):
        return Sign("text", message, status_in(message))
    return WELL


def _of_envelope(value: dict[Any, Any], fields: Mapping[str, Any], foreign: Foreign, depth: int) -> Sign:
    """Another service's answer inside of one that says that all is well; only where it brings nothing but an error."""
    inners = list(value.values()) if len(value) == 1 else [fields[name] for name in ENVELOPES if name in fields]
    for inner in inners:
        answer = loads(inner)[0] if isinstance(inner, str) and inner.startswith("{") else inner
        if not isinstance(answer, dict) or not is_thin(answer):
            continue
        if said(answer).get("is_error") is True:
            return Sign("flag", _block_text(answer.get("content")) or message_of(answer))
        if (sign := _of_object(answer, foreign, depth - 1)).sign:
            return sign
    return WELL


def _of_list(value: object) -> Sign:
    """A list is a failure when it is a list of validation errors, as pydantic writes them, or of coded errors."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        return WELL
    if all(item.keys() >= _VALIDATION_FIELDS for item in value):
        return Sign("field", message_of(value))
    coded = all(_has_error_code(said(item)) and message_in(said(item)) and is_thin(item) for item in value)
    return Sign("field", message_of(value)) if coded else WELL


def _first_complaint(value: Mapping[Any, Any]) -> str:
    """What an object says that has a list of complaints for each field of a form; "" when it is another one."""
    if not 0 < len(value) <= _FORM or not all(isinstance(item, list) and item for item in value.values()):
        return ""
    complaints = [text for item in value.values() for text in item]
    every = all(isinstance(text, str) and text.endswith(".") and is_error_text(text) for text in complaints)
    return complaints[0] if every else ""


def _is_bad_flag(name: str, fields: Mapping[str, Any]) -> bool:
    """Whether a flag says failure; a number may be a count, and says it only beside a message."""
    flag, bad = fields[name], FLAGS[name]
    if isinstance(flag, bool):
        return flag is bad
    return (
        isinstance(flag, str | int)
        and _FLAG_TEXT.get(flag) is bad
        and (isinstance(flag, str) or message_in(fields) != "")
    )


def _has_errors(fields: Mapping[str, Any]) -> bool:
    """A list of errors beside a payload is part of an answer (a linter's, a batch's); alone it is the answer."""
    errors = next((fields[name] for name in LISTS if fields.get(name)), None)
    if not isinstance(errors, list | dict | str) or (isinstance(errors, str) and not is_error_value(errors)):
        return False
    return not any(fields.get(name) not in (None, [], {}) for name in PAYLOADS) and fields.get("success") is not True


def _has_error_code(fields: Mapping[str, Any]) -> bool:
    for name in CODES:
        code = fields.get(name)
        if isinstance(code, bool) or (name == "ret" and not message_in(fields)):
            continue
        if (isinstance(code, int) and code != 0) or (isinstance(code, str) and code.strip().lower() not in NO_ERROR):
            return True
    code = fields.get("code")
    if isinstance(code, int) and not isinstance(code, bool) and code not in (0, 200):
        message = message_of({name: fields[name] for name in ("message", "msg", "detail") if name in fields})
        return bool(message) and (400 <= code < 600 or code < 0 or is_error_text(message))
    return False


def _fields_of(error: object) -> Mapping[str, Any]:
    return said(error) if isinstance(error, Mapping) else {}


def _status_number(fields: Mapping[str, Any]) -> int | None:
    for name in (*STATUSES, "code") if fields.keys() & {"message", "msg", "detail", "error"} else STATUSES:
        number = fields.get(name)
        if isinstance(number, str) and number[:3].isdecimal() and not number[3:4].isalnum():
            number = int(number[:3])
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            return number
    return None


def _exit_code(fields: Mapping[str, Any]) -> int | None:
    for name in EXITS:
        code = fields.get(name)
        if isinstance(code, int) and not isinstance(code, bool):
            return bounded(code)
    return None


def _unwrap(value: object) -> str | Sign | None:
    """The text inside an MCP result, a list of text blocks or an object of one known field; None for other values."""
    if isinstance(value, str):
        return value
    blocks = value
    if isinstance(value, dict):
        if len(value) == 1:
            ((name, inner),) = value.items()
            if name in CARRIERS and isinstance(inner, str):
                return inner
        blocks = value.get("content")
        if value.get("isError") is True:
            return Sign("flag", _block_text(blocks) or message_of(value))
        if "isError" not in value and len(value) != 1 and value.get("type") != "text":
            return None
        if value.get("type") == "text" and isinstance(value.get("text"), str):
            return str(value["text"])
    return _block_text(blocks)


def _block_text(blocks: object) -> str | None:
    """The text of a list of text blocks, ``{"type": "text", "text": ...}`` or ``{"text": ...}`` alone."""
    if not isinstance(blocks, list) or not blocks:
        return None
    texts: list[str] = []
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else None
        if not isinstance(text, str) or (block.get("type") != "text" and len(block) > 1):
            return None
        texts.append(text)
    return "\n".join(texts)


def loads(text: str) -> tuple[Any, bool]:
    """Parse text that may be JSON: the value and whether it was. NaN is not JSON."""
    if starts_like_json(text):
        try:
            return orjson.loads(text), True
        except ValueError:
            pass
    return None, False
