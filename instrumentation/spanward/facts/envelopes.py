"""The fields by which services say in JSON that a call failed, whatever the spelling: data, and how to look them up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from spanward.facts.phrases import NO_ERROR

FLAGS: Final[Mapping[str, bool]] = {
    "success": False, "ok": False, "succeeded": False, "successful": False, "is_success": False,
    "is_successful": False, "is_ok": False, "is_error": True, "failed": True, "has_error": True,
}  # fmt: skip
"""Fields that are true or false, and which of both is bad."""
ERRORS: Final = (
    "error", "exception", "error_details", "err", "fault", "fehler", "erreur", "erro", "errore", "fout", "hiba", "błąd",
    "ошибка", "错误", "エラー", "오류", "hata",
)  # fmt: skip
"""Fields whose value is what went wrong."""
SENTENCES: Final = (
    "error_message", "error_msg", "error_description", "err_msg", "exception_message", "fault_string",
)  # fmt: skip
"""Fields whose text is what went wrong."""
LISTS: Final = ("errors", "error_messages")
"""Fields whose value are the things that went wrong."""
MESSAGES: Final = (
    "message", "msg", "detail", "error_message", "error_msg", "err_msg", "return_msg", "fault_string",
    "error_description", "description", "reason", "title", "error", "exception", "fault", "status_message", "type",
    "code", "note", "information", "nachricht", "meldung", "mensaje", "mensagem", "messaggio", "bericht", "üzenet",
    "komunikat", "сообщение", "消息",
)  # fmt: skip
"""Fields with the sentence, the best first."""
STATUSES: Final = ("status", "status_code", "http_status", "cod")
STATED: Final = ("status", "result", "outcome", "return_code", "result_code")
BAD: Final = frozenset({
    "error", "failed", "failure", "fail", "errored", "exception", "fatal", "err", "fehler", "fehlgeschlagen",
    "erreur", "échec", "fallo", "fallido", "erro", "falha", "errore", "fallito", "fout", "mislukt", "hiba",
    "sikertelen", "błąd", "blad", "ошибка", "错误", "失败", "エラー", "失敗", "오류", "실패", "hata", "request_denied",
    "over_query_limit", "over_daily_limit", "invalid_request", "unknown_error", "invalid_argument",
    "permission_denied", "unauthenticated", "resource_exhausted", "failed_precondition", "deadline_exceeded",
    "data_loss", "bad_request",
})  # fmt: skip
"""What a field of :data:`STATED` says of a call that failed."""
EXITS: Final = ("exit_code", "return_code", "exit_status")
CODES: Final = ("err_code", "errno", "error_code", "ret", "ret_code")
"""Numbers that are 0 when all is well."""
KINDS: Final = ("type", "name", "object", "_type", "type_key", "error_type")
"""Names of what it is: of an error, where they end in that word or are constants that say so."""
PAYLOADS: Final = ("data", "result", "results", "items", "valid", "is_valid")
REPLIES: Final = ("response", "answer", "reply", "completion")
"""Fields for what somebody who was asked has to say."""
CARRIERS: Final = frozenset(
    {"result", "output", "content", "text", "response", "message", "detail", "msg", "value", "return"}
)
"""The only field of an object that merely carries a text."""
ENVELOPES: Final = (
    "data", "result", "response", "body", "output", "payload", "provider_response", "api_response", "upstream_response",
    "raw_response", "http_response", "response_body", "server_response", "gateway_response",
)  # fmt: skip
"""Fields that hold another service's whole answer."""

_BESIDES: Final = (
    "jsonrpc", "content", "results", "documentation_url", "more_info", "help", "request_id",
    "requestid", "trace_id", "debug_id", "timestamp", "path", "instance", "doc_url", "domain", "hint", "links",
    "details", "$id", "inner_exception", "documentation", "support", "retryable", "type_name", "category",
    "correlation_id", "stack_trace", "event_id", "code_name", "method",
)  # fmt: skip
_MARGINAL: Final = frozenset(
    (*ENVELOPES, *ERRORS, *SENTENCES, *LISTS, *MESSAGES, *STATUSES, *STATED, *CODES, *KINDS, *FLAGS, *_BESIDES)
)
"""What stands in an answer that brings nothing but an error."""
_FAULT: Final = re.compile(
    r"error|exception|fault|invalid|fail|denied|unauthor|unauthenticated|forbidden|not_?found|missing|exceeded|throttl"
    r"|expired|unavailable|time_?out|conflict|illegal|unsupported|bad_?request|too_?many|overload|refused|malformed",
    re.IGNORECASE,
)
_LIMITED: Final = re.compile(
    r"rate limit (?:exceeded|is|reached)|call frequency|too many requests|quota exceeded|limit exceeded|bad credentials"
    r"|not authorized to |credentials were not provided|authentication token|access denied|permission denied"
    r"|not permitted"
)
"""What a short message says of a call that was not let through."""
_NAME: Final = re.compile(r"[A-Za-z][\w.$-]{2,80}")
_ENDS: Final = re.compile(r"(?:error|exception|fault)\Z", re.IGNORECASE)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _spellings(name: str) -> set[str]:
    words = name.split("_")
    title = [word[:1].upper() + word[1:] for word in words]
    camel = words[0] + "".join(title[1:])
    return {name, name.upper(), "".join(words), "-".join(words), camel, "".join(title), " ".join(title)}


FIELDS: Final[Mapping[str, str]] = {
    spelling: name
    for names in (
        CARRIERS,
        EXITS,
        CODES,
        KINDS,
        PAYLOADS,
        ENVELOPES,
        STATED,
        STATUSES,
        MESSAGES,
        LISTS,
        SENTENCES,
        ERRORS,
        FLAGS,
    )
    for name in names
    for spelling in _spellings(name)
} | {"__type": "_type"}
"""Every spelling of a field that is looked at, and its name here."""


def said(value: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields of an object that are looked at, by their names here."""
    return {FIELDS[key]: item for key, item in value.items() if key in FIELDS}


def message_in(fields: Mapping[str, Any]) -> str:
    """The sentence among the fields that :func:`said` gives; "" where there is none."""
    return next((fields[name] for name in MESSAGES if isinstance(fields.get(name), str) and fields[name]), "")


def is_thin(value: Mapping[Any, Any]) -> bool:
    """Whether an object brings nothing but, perhaps, an error."""
    return all(_plain(key) in _MARGINAL for key, item in value.items() if item not in (None, "", [], {}))


def is_named_fault(fields: Mapping[str, Any]) -> bool:
    """Whether a code or a field of :data:`KINDS` names an error."""
    code = fields.get("code")
    if isinstance(code, str) and _NAME.fullmatch(code) and _FAULT.search(code):
        return True
    names = [name for kind in KINDS if isinstance(name := fields.get(kind), str) and _NAME.fullmatch(name)]
    return any(_ENDS.search(name) or (name.isupper() and _FAULT.search(name)) for name in names)


def is_turned_away(message: str) -> bool:
    """Whether a message says that a call was not let through."""
    return len(message) <= 400 and _LIMITED.search(message.lower()) is not None


def is_error_value(error: object) -> bool:
    """Whether the value of an error field is an error: a text, an object, a code, no margin."""
    if isinstance(error, str):
        return error.strip().lower() not in NO_ERROR
    if isinstance(error, bool) or error is None:
        return error is True
    if isinstance(error, int):
        return error < 0 or 400 <= error < 600
    return bool(error) and isinstance(error, dict | list)


def _plain(key: object) -> str:
    return (
        FIELDS.get(key) or _HUMP.sub("_", key).lower().replace("-", "_").replace(" ", "_")
        if isinstance(key, str)
        else ""
    )
