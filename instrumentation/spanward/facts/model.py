"""What is known of a result, of arguments and of an answer without showing them, and how it travels as attributes.

No field can hold content: sizes, booleans, codes from fixed sets, hashes, and pointers made of names that the tool's
own schema declares. Named tuples, because they are made at every call in somebody else's process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from spanward import semconv

AttributeValue = str | bool | int | list[str]


class ResultFacts(NamedTuple):
    """Facts of a tool's result.

    Attributes:
        size: bytes of its text in UTF-8.
        empty: nothing in it, in whatever way nothing is written.
        is_json: whether its text is JSON; None when there is no text, or only null.
        json_expected: a schema or media type says that it should be.
        schema: violation of the result schema, ``keyword:/json/pointer``; "" when there is none.
        error: one of :data:`spanward.semconv.ERROR_SIGNS`; "" when nothing says that the tool failed.
        signature: class of the error, see :func:`spanward.facts.error_signature`; "" without an error.
        exit_code: that the result names.
        status: HTTP-like, 400 to 599, that the result or the exception names.
        injection: one of :data:`spanward.semconv.INJECTION_SIGNS`; "" when it does not read like instructions.
        secret: one of :data:`spanward.semconv.SECRET_KINDS`; "" when none is seen.
    """

    size: int = 0
    empty: bool = True
    is_json: bool | None = None
    json_expected: bool = False
    schema: str = ""
    error: str = ""
    signature: str = ""
    exit_code: int | None = None
    status: int | None = None
    injection: str = ""
    secret: str = ""


class ArgumentsFacts(NamedTuple):
    """Facts of a tool call's arguments as the model wrote them.

    Attributes:
        form: one of :data:`spanward.semconv.ARGUMENT_FORMS`.
        repairs: what :func:`spanward.repair.repair_arguments` would do to them, in order; empty when nothing is wrong
            or nothing helps.
        schema: first violation, ``keyword:/json/pointer``; ``undeclared:`` for invented parameters; "" when there is
            none.
        secret: one of :data:`spanward.semconv.SECRET_KINDS`; "" when none is seen.
    """

    form: str = "ok"
    repairs: tuple[str, ...] = ()
    schema: str = ""
    secret: str = ""

    @property
    def label(self) -> str:
        """One word for the call: the form, or ``schema`` where well-formed arguments break the schema."""
        return "schema" if self.schema else self.form


class AnswerFacts(NamedTuple):
    """Facts of a model's answer.

    Attributes:
        size: bytes in UTF-8.
        empty: no text but white space.
        is_json: whether it is JSON as a whole; None when empty.
        json_expected: the request asked for JSON.
        admits_failure: it speaks of a failure itself, in one of the known languages.
        claims: what it says of the work, of :data:`spanward.semconv.CLAIMS`.
    """

    size: int = 0
    empty: bool = True
    is_json: bool | None = None
    json_expected: bool = False
    admits_failure: bool = False
    claims: tuple[str, ...] = ()


class Facts(NamedTuple):
    """What the attributes of one span tell; None for what they do not speak of."""

    result: ResultFacts | None = None
    arguments: ArgumentsFacts | None = None
    answer: AnswerFacts | None = None


def facts_to_attributes(
    result: ResultFacts | None = None,
    arguments: ArgumentsFacts | None = None,
    answer: AnswerFacts | None = None,
) -> dict[str, AttributeValue]:
    """Flat attributes of the facts. What says nothing (no error, not JSON expected, ...) is left out."""
    out: dict[str, AttributeValue] = {}
    if result is not None:
        out[semconv.FACT_RESULT_SIZE] = result.size
        out[semconv.FACT_RESULT_EMPTY] = result.empty
        if result.is_json is not None:
            out[semconv.FACT_RESULT_JSON] = result.is_json
        if result.json_expected:
            out[semconv.FACT_RESULT_JSON_EXPECTED] = True
        if result.schema:
            out[semconv.FACT_RESULT_SCHEMA] = result.schema
        if result.error:
            out[semconv.FACT_RESULT_ERROR] = result.error
            out[semconv.FACT_RESULT_SIGNATURE] = result.signature
        if result.exit_code is not None:
            out[semconv.FACT_RESULT_EXIT_CODE] = result.exit_code
        if result.status is not None:
            out[semconv.FACT_RESULT_STATUS] = result.status
        if result.injection:
            out[semconv.FACT_RESULT_INJECTION] = result.injection
        if result.secret:
            out[semconv.FACT_RESULT_SECRET] = result.secret
    if arguments is not None:
        out[semconv.FACT_ARGUMENTS_FORM] = arguments.form
        if arguments.repairs:
            out[semconv.FACT_ARGUMENTS_REPAIRS] = list(arguments.repairs)
        if arguments.schema:
            out[semconv.FACT_ARGUMENTS_SCHEMA] = arguments.schema
        if arguments.secret:
            out[semconv.FACT_ARGUMENTS_SECRET] = arguments.secret
    if answer is not None:
        out[semconv.FACT_ANSWER_SIZE] = answer.size
        out[semconv.FACT_ANSWER_EMPTY] = answer.empty
        if answer.is_json is not None:
            out[semconv.FACT_ANSWER_JSON] = answer.is_json
        if answer.json_expected:
            out[semconv.FACT_ANSWER_JSON_EXPECTED] = True
        if answer.admits_failure:
            out[semconv.FACT_ANSWER_ADMITS] = True
        if answer.claims:
            out[semconv.FACT_ANSWER_CLAIMS] = list(answer.claims)
    return out


def facts_from_attributes(get: Callable[[str], object]) -> Facts:
    """Read facts back.

    Args:
        get: gives the value of an attribute, or None. Values of the wrong type count as absent.
    """
    size, form, answer_size = (
        _int(get(semconv.FACT_RESULT_SIZE)), get(semconv.FACT_ARGUMENTS_FORM), _int(get(semconv.FACT_ANSWER_SIZE)),
    )  # fmt: skip
    result = arguments = answer = None
    if size is not None:
        result = ResultFacts(
            size=size,
            empty=get(semconv.FACT_RESULT_EMPTY) is True,
            is_json=_bool(get(semconv.FACT_RESULT_JSON)),
            json_expected=get(semconv.FACT_RESULT_JSON_EXPECTED) is True,
            schema=_text(get(semconv.FACT_RESULT_SCHEMA)),
            error=_text(get(semconv.FACT_RESULT_ERROR)),
            signature=_text(get(semconv.FACT_RESULT_SIGNATURE)),
            exit_code=_int(get(semconv.FACT_RESULT_EXIT_CODE)),
            status=_int(get(semconv.FACT_RESULT_STATUS)),
            injection=_text(get(semconv.FACT_RESULT_INJECTION)),
            secret=_text(get(semconv.FACT_RESULT_SECRET)),
        )
    if isinstance(form, str):
        arguments = ArgumentsFacts(
            form=form,
            repairs=_texts(get(semconv.FACT_ARGUMENTS_REPAIRS)),
            schema=_text(get(semconv.FACT_ARGUMENTS_SCHEMA)),
            secret=_text(get(semconv.FACT_ARGUMENTS_SECRET)),
        )
    if answer_size is not None:
        answer = AnswerFacts(
            size=answer_size,
            empty=get(semconv.FACT_ANSWER_EMPTY) is True,
            is_json=_bool(get(semconv.FACT_ANSWER_JSON)),
            json_expected=get(semconv.FACT_ANSWER_JSON_EXPECTED) is True,
            admits_failure=get(semconv.FACT_ANSWER_ADMITS) is True,
            claims=_texts(get(semconv.FACT_ANSWER_CLAIMS)),
        )
    return Facts(result, arguments, answer)


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
