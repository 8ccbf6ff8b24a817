"""Facts from content. Pure, and the same at the gate and in the detector: a value's facts are those of its text."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson

from spanward import relaxed
from spanward.canonical import canonical_json, canonical_of_parsed, canonical_of_text, digest_of, text_of
from spanward.facts import signs
from spanward.facts.claims import claims_in
from spanward.facts.dangers import orders_in, secret_of_arguments, secret_of_result
from spanward.facts.envelopes import REPLIES
from spanward.facts.limits import OTHER_STATUSES, is_too_often
from spanward.facts.model import AnswerFacts, ArgumentsFacts, ResultFacts
from spanward.facts.phrases import ADMISSIONS, DENIALS
from spanward.facts.signature import error_signature
from spanward.facts.tools import Foreign
from spanward.facts.wording import TAIL, has_any, status_in
from spanward.repair import repair_arguments
from spanward.schema import Schema

_EDGE: Final = 1_000
_NOTHING: Final = frozenset({"", "null", "none", "[]", "{}", '""', "undefined", "n/a"})
_LONGEST_NOTHING: Final = 64
_DECIDED: Final = frozenset({"field", "status", "flag"})
MARKS: Final = "–—“”„‘…•→"
"""Typographic marks that are frequent in answers."""
_ADMISSIONS_ASCII: Final = tuple(words for words in dict.fromkeys(ADMISSIONS) if words.isascii())


def result_facts(
    result: object,
    *,
    error: BaseException | str | None = None,
    is_error: bool | None = None,
    media_type: str | None = None,
    schema: Schema | None = None,
    foreign_text: Foreign = False,
    exit_code: int | None = None,
) -> ResultFacts:
    """Facts of what a tool returned, or of what it raised.

    The first of these that speaks decides: exception, error flag, top-level JSON field, top-level JSON status, exit
    code, text, block page.

    Args:
        result: Python value or text; None beside an error means that there is none.
        error: what the tool raised, or its text.
        is_error: the protocol's own flag. False settles nothing: servers leave it unset.
        media_type: of the result, where the transport names one.
        schema: of the result.
        foreign_text: the text may be somebody else's, so its words are no sign; see :func:`foreign_text_tool`.
        exit_code: of the process, where the telemetry has it beside the result.
    """
    text, value, is_json = _read(result) if result is not None or error is None else ("", None, False)
    return _facts(text, value, is_json, error, is_error, media_type, schema, foreign_text, exit_code)


def facts_and_digest(
    text: str, *, key: bytes | None, media_type: str | None, schema: Schema | None, foreign_text: Foreign
) -> tuple[ResultFacts, str]:
    """:func:`result_facts` and :func:`spanward.canonical.digest` of a text that came back, read once for both."""
    value, is_json = signs.loads(text)
    facts = _facts(text, value, is_json, None, None, media_type, schema, foreign_text, None)
    return facts, digest_of(canonical_of_parsed(value, text) if is_json else None, text, key)


def _facts(
    text: str,
    value: Any,
    is_json: bool,
    error: BaseException | str | None,
    is_error: bool | None,
    media_type: str | None,
    schema: Schema | None,
    foreign_text: Foreign,
    exit_code: int | None,
) -> ResultFacts:
    if error is not None:
        sign = _of_exception(error, exit_code)
    elif is_error:
        inner = signs.of_result(value, text, is_json=is_json, foreign=foreign_text)
        sign = inner._replace(sign="flag")
    else:
        nothing = is_json and signs.says_nothing(value)
        sign = signs.WELL if nothing else signs.of_result(value, text, is_json=is_json, foreign=foreign_text)
        if exit_code is not None and sign.sign not in _DECIDED:
            message = "" if is_json else text[-TAIL:]
            sign = signs.Sign("exit_code" if exit_code else "", message, sign.status, exit_code)
    blank = not text or text.isspace()
    return ResultFacts(
        size=len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")),
        empty=blank or _is_nothing(text, value, is_json),
        is_json=None if blank or (is_json and value is None) else is_json,
        json_expected=schema is not None or (media_type is not None and _is_json_type(media_type)),
        schema=schema.first_violation(value) if schema is not None and is_json and not sign.sign else "",
        error=sign.sign,
        signature=error_signature(sign.message or (text_of(value) if is_json else text)) if sign.sign else "",
        exit_code=sign.exit_code,
        status=_status_by(sign),
        injection=orders_in(text),
        # Reading a secret is common and no leak: looked for where it may be news, in what somebody else wrote.
        secret=secret_of_result(text) if foreign_text else "",
    )


def arguments_facts(raw: str | Mapping[str, Any] | None, *, schema: Schema | None = None) -> ArgumentsFacts:
    """Facts of tool arguments.

    Args:
        raw: the text as the model wrote it; a mapping where only the parsed form is at hand; None or "" for none.
        schema: of the tool's parameters, where known.
    """
    text = "" if raw is None else raw if isinstance(raw, str) else text_of(raw)
    facts = _of_arguments(text, schema)
    secret = secret_of_arguments(text)
    return facts._replace(secret=secret) if secret else facts


def _of_arguments(text: str, schema: Schema | None) -> ArgumentsFacts:
    if not text or text.isspace():
        return ArgumentsFacts("empty", (), schema.first_violation({}) if schema is not None else "")
    if canonical_of_text(text) is None:
        form = _form_of_malformed(text)
        return ArgumentsFacts(form, _repairs(text, schema))
    value = orjson.loads(text)
    if not isinstance(value, dict):
        inner, is_json = signs.loads(value) if isinstance(value, str) else (None, False)
        form = "double_encoded" if is_json and isinstance(inner, dict) else "not_object"
        return ArgumentsFacts(form, _repairs(text, schema))
    if schema is None:
        return _WELL
    violation = schema.first_violation(value)
    if violation:
        return ArgumentsFacts("ok", _repairs(text, schema), violation)
    return ArgumentsFacts("ok", (), "undeclared:") if schema.undeclared(value) else _WELL


def answer_facts(text: str | None, *, json_expected: bool = False, last: bool = True) -> AnswerFacts:
    """Facts of a model's answer.

    Args:
        text: the last text of the reply; None when there is none.
        json_expected: the request asked for JSON.
        last: the reply calls no tool, so that what it claims counts.
    """
    if not text or text.isspace():
        return AnswerFacts(len(text or ""), True, None, json_expected, False)
    edges = text if len(text) <= 2 * _EDGE else text[:_EDGE] + "\n" + text[-_EDGE:]
    lower = edges.lower().replace("’", "'")
    if not lower.isascii():
        lower = _unmarked(lower)
    return AnswerFacts(
        size=len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")),
        empty=False,
        is_json=signs.loads(text)[1],
        json_expected=json_expected,
        admits_failure=_admits(lower),
        claims=claims_in(lower) if last else (),
    )


_WELL: Final = ArgumentsFacts()


def _read(result: object) -> tuple[str, Any, bool]:
    """The text of a result, what it parses to, and whether it is JSON."""
    if isinstance(result, str):
        return (result, *signs.loads(result))
    # The common dictionary, with something in it and nothing to look at, need not be read back from its own text.
    if type(result) is dict and signs.says_nothing(result):
        canonical = canonical_json(result)
        if canonical is not None and any(result.values()):
            return canonical.decode(), result, True
    text = text_of(result)
    return (text, *signs.loads(text))


def _unmarked(lower: str) -> str:
    """Without typographic marks, so that English with dashes is as cheap as plain ASCII: no wording holds any.

    What takes their place is no letter, no white space and no end of a sentence either.
    """
    for mark in MARKS:
        lower = lower.replace(mark, "\x1a")
    return lower


def _admits(lower: str) -> bool:
    admissions = _ADMISSIONS_ASCII if lower.isascii() else ADMISSIONS
    if not has_any(lower, admissions):
        return False
    for words in DENIALS:
        lower = lower.replace(words, " ")
    return has_any(lower, admissions)


def _status_by(sign: signs.Sign) -> int | None:
    """Status of a result that is an error; a message that calls come too often is 429 in whatever field it stands."""
    if sign.sign in ("field", "status", "flag") and sign.status not in OTHER_STATUSES and is_too_often(sign.message):
        return HTTPStatus.TOO_MANY_REQUESTS.value
    return sign.status if sign.sign else None


def _of_exception(error: BaseException | str, exit_code: int | None) -> signs.Sign:
    if isinstance(error, str):
        return signs.Sign("exception", error, status_in(error), exit_code)
    try:
        message = str(error)
    except Exception:  # a broken __str__ must not hide the failure
        message = ""
    status = _status_of(error)
    code = getattr(error, "returncode", None)
    return signs.Sign(
        "exception",
        f"{type(error).__qualname__}: {message}",
        status_in(message) if status is None else status,
        code if exit_code is None and isinstance(code, int) else exit_code,
    )


def _status_of(error: BaseException) -> int | None:
    """Status that HTTP clients put on their exceptions, or on the response that these carry."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 400 <= status < 600:
                return status
    return None


def _form_of_malformed(text: str) -> str:
    try:
        relaxed.read(text)
    except relaxed.UnreadableError as error:
        return error.form
    return "malformed"


def _repairs(text: str, schema: Schema | None) -> tuple[str, ...]:
    repaired = repair_arguments(text, schema=schema)
    return repaired.repairs if repaired is not None else ()


def _is_nothing(text: str, value: Any, is_json: bool) -> bool:
    if len(text) <= _LONGEST_NOTHING and text.strip().lower() in _NOTHING:
        return True
    if not is_json or not isinstance(value, dict | list | str):
        return False
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if isinstance(value, dict) and any(name in value and value[name] in ("", None) for name in REPLIES):
        # Somebody was asked and said nothing; what stands beside it is an id, a name or a status.
        return not any(isinstance(item, dict | list) and item for item in value.values())
    if isinstance(value, dict) and value:
        # {"results": [], "count": 0}: a container that is there and empty, and nothing beside it
        return not any(value.values()) and any(item in ([], {}, "") for item in value.values())
    return not value


def _is_json_type(media_type: str) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json"))
