"""Decide from a tool's result whether the tool failed: top-level JSON first, then exit code, then text, then page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from spanward.canonical import starts_like_json
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

_MESSAGE_FIELDS = (
    "message", "msg", "detail", "error_description", "description", "reason", "title", "error", "type", "code",
    "nachricht", "meldung", "mensaje", "mensagem", "messaggio", "bericht", "üzenet", "komunikat", "сообщение", "消息",
)  # fmt: skip
_ERROR_FIELDS = frozenset({
    "error", "Error", "exception", "error_message", "errorMessage", "error_details", "err", "fehler", "erreur", "erro",
    "errore", "fout", "hiba", "błąd", "ошибка", "错误", "エラー", "오류", "hata",
})  # fmt: skip
_VALIDATION_FIELDS = frozenset({"type", "loc", "msg"})
"""Of each entry in a list of validation errors."""
_FLAGS: Mapping[str, bool] = {
    "success": False, "ok": False, "succeeded": False, "successful": False, "is_success": False, "isSuccess": False,
    "isError": True, "is_error": True, "failed": True, "has_error": True, "hasError": True,
}  # fmt: skip
_FLAG_TEXT: Mapping[object, bool] = {"false": False, "true": True, "False": False, "True": True}
_BAD_STATUS = frozenset({
    "error", "failed", "failure", "fail", "errored", "exception", "fatal", "err", "fehler", "fehlgeschlagen", "erreur",
    "échec", "fallo", "fallido", "erro", "falha", "errore", "fallito", "fout", "mislukt", "hiba", "sikertelen", "błąd",
    "blad", "ошибка", "错误", "失败", "エラー", "失敗", "오류", "실패", "hata",
})  # fmt: skip
_STATUS_FIELDS = ("status", "statusCode", "status_code", "http_status", "httpStatus", "result", "outcome")
_EXIT_FIELDS = ("exit_code", "exitCode", "exitcode", "returncode", "return_code", "returnCode", "exit_status")
_CODE_FIELDS = ("errcode", "errno", "error_code", "errorCode")
_PAYLOAD_FIELDS = ("data", "result", "results", "items", "valid", "is_valid")
_LOOKED_AT = frozenset(
    {*_ERROR_FIELDS, *_FLAGS, *_STATUS_FIELDS, *_EXIT_FIELDS, *_CODE_FIELDS, "errors", "code", "type", "detail"}
)  # fmt: skip
_WRAPPERS = frozenset(
    {"result", "output", "content", "text", "response", "message", "detail", "msg", "value", "return"}
)
"""Names of the only field of an object that merely carries a text."""
_SMALL: Final = 4
"""Fields of an object that carries little more than a text."""


def says_nothing(value: object) -> bool:
    """Whether a parsed result is an object with none of the fields that are looked at: the common case, and cheap."""
    return isinstance(value, dict) and len(value) > 1 and _LOOKED_AT.isdisjoint(value)


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
            value = next((value[name] for name in _MESSAGE_FIELDS if value.get(name)), "")
        else:
            break
    return value if isinstance(value, str) else "" if value is None else str(value)


def _of_text(text: str, foreign: Foreign) -> Sign:
    code = exit_code_in(text, first_only=foreign is True or foreign == "by_name")
    if code is not None:
        return Sign("exit_code" if code else "", text[-TAIL:], None, code)
    if said := _said(text, foreign):
        return Sign("text", said, status_in(said))
    return Sign("page", "page", status_in(text[:TAIL])) if is_block_page(text) else WELL


def _said(text: str, foreign: Foreign) -> str:
    """The text, or the line of it, by which a tool says in words that it failed."""
    if not foreign:
        return text if is_error_text(text) else ""
    if foreign is not True and keeps_out(text):
        return text
    return complaint(text) if foreign == "program" else ""


def _of_object(value: dict[Any, Any], foreign: Foreign) -> Sign:
    if not (value.keys() & _LOOKED_AT):
        return WELL
    status = _status_number(value)
    for name, bad in _FLAGS.items():
        flag = value.get(name)
        if flag is bad or (isinstance(flag, str) and _FLAG_TEXT.get(flag) is bad):
            return Sign("field", message_of(value), status, _exit_code(value))
    for name in _ERROR_FIELDS & value.keys():
        if _is_error_value(value[name]):
            error = value[name]
            return Sign("field", message_of(value if error is True else error), status or _status_number(error))
    if _has_errors(value) or _has_error_code(value) or _of_list(value.get("detail")).sign:
        return Sign("field", message_of(value.get("errors") or value), status)
    stated = next((value[name] for name in ("status", "result", "outcome") if isinstance(value.get(name), str)), "")
    if status is not None or stated.lower() in _BAD_STATUS or (value.get("type") == "error" and "message" in value):
        return Sign("status", message_of(value), status, _exit_code(value))
    code = _exit_code(value)
    if (
        code is None
        and not foreign
        and len(value) <= _SMALL
        and (value.get("success") is True or value.get("ok") is True)
    ):
        # A flag that is always set, beside a text that says otherwise.
        said = next((value[name] for name in _WRAPPERS & value.keys() if isinstance(value[name], str)), "")
        if said and is_error_text(said):
            return Sign("text", said, status_in(said))
    return Sign("exit_code" if code else "", message_of(value) if code else "", None, code)


def _of_list(value: object) -> Sign:
    """A list is a failure when it is a list of validation errors, as pydantic writes them."""
    reports = (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and item.keys() >= _VALIDATION_FIELDS for item in value)
    )
    return Sign("field", message_of(value)) if reports else WELL


def _is_error_value(error: object) -> bool:
    if isinstance(error, str):
        return error.strip().lower() not in NO_ERROR
    if isinstance(error, bool) or error is None:
        return error is True
    if isinstance(error, int):  # a code, not a margin of error
        return error < 0 or 400 <= error < 600
    return bool(error) and isinstance(error, dict | list)


def _has_errors(value: dict[Any, Any]) -> bool:
    """A list of errors beside a payload is part of an answer (a linter's, a batch's); alone it is the answer."""
    errors = value.get("errors")
    if (
        not errors
        or not isinstance(errors, list | dict | str)
        or (isinstance(errors, str) and not _is_error_value(errors))
    ):
        return False
    return (
        not any(value.get(name) not in (None, [], {}) for name in _PAYLOAD_FIELDS) and value.get("success") is not True
    )


def _has_error_code(value: dict[Any, Any]) -> bool:
    for name in _CODE_FIELDS:
        code = value.get(name)
        if (isinstance(code, int) and code != 0) or (isinstance(code, str) and code.strip().lower() not in NO_ERROR):
            return True
    code = value.get("code")
    if isinstance(code, int) and not isinstance(code, bool) and code not in (0, 200):
        message = message_of({name: value[name] for name in ("message", "msg", "detail") if name in value})
        return bool(message) and (400 <= code < 600 or is_error_text(message))
    return False


def _status_number(value: object) -> int | None:
    if not isinstance(value, dict):
        return None
    names: tuple[str, ...] = _STATUS_FIELDS[:5]
    for name in (*names, "code") if value.keys() & {"message", "msg", "detail", "error"} else names:
        number = value.get(name)
        if isinstance(number, str) and number[:3].isdecimal() and not number[3:4].isalnum():
            number = int(number[:3])
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            return number
    return None


def _exit_code(value: dict[Any, Any]) -> int | None:
    for name in _EXIT_FIELDS:
        code = value.get(name)
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
            if name in _WRAPPERS and isinstance(inner, str):
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
