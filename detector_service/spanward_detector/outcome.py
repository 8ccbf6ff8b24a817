"""What became of one step: worked, or failed in one named way. The one place where signs of failure are weighed.

A failed step has one main failure type, the most specific one that the telemetry supports; detectors then only ask for
theirs. A status beats a class name, a class name beats text, and text is read only from errors, never from results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from spanward.facts import error_signature
from spanward.facts.limits import OTHER_STATUSES, is_too_much, is_too_often

from spanward_detector.model import HttpAttempt, Kind, Step


class Outcome(NamedTuple):
    """How a step ended.

    Attributes:
        type: failure type, "" when it worked.
        status: HTTP-like status that decided, 0 when there is none.
        retry_after_ms: what the server asked for; None when it did not.
        signature: class of the error, equal for the same error with other ids and numbers; "" when it worked.
        transient: the failure may pass by itself.
    """

    type: str = ""
    status: int = 0
    retry_after_ms: int | None = None
    signature: str = ""
    transient: bool = False


WORKED: Final = Outcome()
PLAIN: Final = Outcome()
"""Worked, as a tool call about whose form nothing is odd. Told from :data:`WORKED` by identity."""

BAD_FORMS: Final = frozenset({"malformed", "truncated", "double_encoded", "not_object", "non_finite"})
"""Forms of arguments that are not the JSON object that a tool call needs."""

_TEXT_CAP: Final = 2048
_WORD: Final = 300
"""Length of a result that may be a framework's own word in the place of a tool's."""
_TELLING: Final = frozenset({401, 403, 407, 429})
_TRANSIENT_STATUS: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})

_BY_CLASS: Final[tuple[tuple[str, str, int], ...]] = (
    ("callinterrupted", "hung", 0),
    ("ratelimit", "rate_limited", 429),
    ("toomanyrequests", "rate_limited", 429),
    ("throttl", "rate_limited", 429),
    ("resourceexhausted", "rate_limited", 429),
    ("quotaexceeded", "rate_limited", 429),
    ("contextlength", "context_overflow", 0),
    ("contextwindow", "context_overflow", 0),
    ("timeout", "timeout", 0),
    ("timedout", "timeout", 0),
    ("deadlineexceeded", "timeout", 0),
    ("authentication", "auth_error", 401),
    ("unauthorized", "auth_error", 401),
    ("permissiondenied", "auth_error", 403),
    ("forbidden", "auth_error", 403),
    ("toolnotfound", "unknown_tool", 0),
    ("unknowntool", "unknown_tool", 0),
    ("nosuchtool", "unknown_tool", 0),
    ("modulenotfound", "environment_error", 0),
    ("importerror", "environment_error", 0),
    ("filenotfound", "environment_error", 0),
    ("permissionerror", "environment_error", 0),
    ("connection", "environment_error", 0),
    ("connecterror", "environment_error", 0),
    ("gaierror", "environment_error", 0),
    ("badrequest", "http_error", 400),
    ("notfounderror", "http_error", 404),
    ("conflicterror", "http_error", 409),
    ("unprocessableentity", "http_error", 422),
    ("internalserver", "http_error", 500),
    ("serviceunavailable", "http_error", 503),
)
"""Part of an exception's class name (lower case) → failure type and the status that the class stands for."""

_BY_TEXT: Final[Mapping[str, re.Pattern[str]]] = {
    failure_type: re.compile(pattern, re.IGNORECASE)
    for failure_type, pattern in (
        (
            "unknown_tool",
            r"\b(?:tool|function|werkzeug)\b[^\n]{0,80}(?:\bnot found|\bdo(?:es)? not exist|\bdo(?:es)?n't exist"
            r"|\bis not (?:a valid|defined|registered|available|supported|found)|\bnicht gefunden)"
            r"|\baction '[^'\n]{1,80}' don't exist"
            r"|\b(?:unknown|no such|unavailable|unregistered|unrecogni[sz]ed|undefined|unsupported) (?:tool|function)\b"
            r"|\binvalid tool name\b|\bno (?:tool|function|handler)(?: \w{1,12}){0,2} (?:named|called|for)\b"
            r"|\bis not a (?:valid |registered |known |recogni[sz]ed |supported )?tool\b|\btool_not_found\b"
            r"|\battempted to call (?:an? )?(?:unknown |unavailable )?tool\b"
            r"|\bcould not find (?:a )?(?:tool|function)\b"
            r"|-32601\b|工具[^\n]{0,40}(?:不存在|未找到)|未找到工具|未知工具|ツール[^\n]{0,40}(?:見つかりません|存在しません)"
            r"|\boutil inconnu|\bherramienta desconocida",
        ),
        (
            "schema_violation",
            r"\binput should be\b|\bvalidation errors? for\b|\bmissing \d{0,3} ?required\b"
            r"|\bunexpected keyword argument\b",
        ),
        ("timeout", r"\btimed[ -]?out\b|\btimeout\b|\bdeadline exceeded\b|\bkilled after \d"),
        (
            "auth_error",
            r"\bunauthori[sz]ed\b|\bforbidden\b|\binvalid (?:api[ _]key|token|credentials)\b"
            r"|\bauthentication (?:failed|required)\b",
        ),
        (
            "environment_error",
            r"\bno such file or directory\b|\bcommand not found\b|\bpermission denied\b|\bno module named\b"
            r"|\bconnection (?:refused|reset|aborted)\b|\bnetwork is unreachable\b|\bname resolution\b"
            r"|\bno space left on device\b|\bdisk quota exceeded\b",
        ),
    )
}
"""Failure type → what the text of such an error says; the first one that fits counts."""
_POLICY: Final = re.compile(
    r"[\"']code[\"']: {0,2}[\"'](?:content_filter|ResponsibleAIPolicyViolation|content_policy_violation)[\"']"
    r"|[\"']filtered[\"']: {0,2}[Tt]rue\b|\bcontent management policy\b|\bcontent policy violation\b"
    r"|\bflagged (?:as potentially violating|by our) .{0,40}\b(?:usage )?policy\b|\bblockReason\b.{0,8}\bSAFETY\b"
)
"""A provider's content policy, as its error objects and messages name it."""
_LEADING_STATUS: Final = re.compile(
    r"\s{0,8}(?:error code:? |http(?:/\d\.\d)? |status(?: code)?:? )?([45]\d\d)\b", re.IGNORECASE
)
_ERROR_BODY: Final = re.compile(
    r"\s{0,8}(?:event: ?error\s{1,4}data: ?|data: ?|error: ?)?"
    r"\{\s{0,8}\"(?:error\"\s{0,8}:|type\"\s{0,8}:\s{0,8}\"error\"|code\"\s{0,8}:\s{0,8}[45]\d\d\b)"
)
_ERROR_ANSWER: Final = re.compile(
    r"\s{0,8}(?:⚠️|❌|\[)?\s?(?:(?:api|llm|model|provider)(?: call| request)? (?:error|failed)[^\n]{0,60}:\s?)?"
    r"(?:error code: [45]\d\d - [{'\"]|(?:api error|http error|error): ?[45]\d\d\b[^\n]{0,40}\{\s?[\"']"
    r"|request failed with status code [45]\d\d\b"
    r"|(?:openai|anthropic|litellm|google)\.[\w.]{0,60}(?:Error|Exception): )",
    re.IGNORECASE,
)
"""A provider's error that a client passes on as the model's answer."""
_PARSING: Final = re.compile(r"\b(?:pars(?:e|ing)|decod(?:e|ing)|not valid json|validation error)", re.IGNORECASE)


def classify(step: Step) -> Outcome:
    """The outcome of a step, by its kind. Kinds that only carry structure always work; so does what was not made."""
    weigh = _WEIGH.get(step.kind)
    if weigh is None or (step.extra and step.extra.get("refused")):
        return WORKED
    return weigh(step)


def last_attempt(step: Step) -> HttpAttempt | None:
    """The HTTP request that decides: the last one, for the earlier ones were retried."""
    return step.http[-1] if step.http else None


def is_policy_refusal(text: str) -> bool:
    """Whether an error says that the provider's content policy refused the request."""
    return _POLICY.search(text[:_TEXT_CAP]) is not None or _POLICY.search(text[-_TEXT_CAP:]) is not None


def _tool(step: Step) -> Outcome:
    facts = step.result_facts
    sign = facts.error if facts is not None else ""
    if not (step.failed or sign or step.timed_out or step.outcome_unknown) or step.control_flow:
        # A framework's own word in the place of a result names the tool that was called.
        if step.result and len(step.result) <= _WORD and step.action in step.result and _has_no_such_tool(step.result):
            return _failed(step, "unknown_tool", 0, None)
        return PLAIN if _is_plain(step) else WORKED
    attempt = last_attempt(step)
    status = attempt.status if attempt is not None and attempt.status >= 400 else 0
    stated = facts.status if facts is not None and facts.status is not None else 0
    failure_type, found = _of_failure(step, status or (stated if stated in _TELLING else 0))
    if (
        not failure_type
        and sign == "exit_code"
        and _BY_TEXT["environment_error"].search((step.result or "")[-_TEXT_CAP:])
    ):
        failure_type = "environment_error"
    if not failure_type and sign in ("text", "flag", "field") and _has_no_such_tool(step.result or ""):
        failure_type = "unknown_tool"
    if not failure_type:
        failure_type = "tool_error" if step.failed or sign in ("flag", "exception") else "silent_error"
    return _failed(
        step, failure_type, status or found or stated, attempt.retry_after_ms if attempt is not None else None
    )


def _has_no_such_tool(text: str) -> bool:
    return _BY_TEXT["unknown_tool"].search(text[:_TEXT_CAP]) is not None


def _is_plain(step: Step) -> bool:
    given, got = step.arguments_facts, step.result_facts
    return (
        not step.http
        and (given is None or (not given.schema and not given.secret and given.form not in BAD_FORMS))
        and (got is None or not (got.schema or got.injection or got.secret or (got.json_expected and not got.is_json)))
    )


def _model(step: Step) -> Outcome:
    if not (step.failed or step.timed_out):
        # Attempts below a call that worked were retried by its SDK. A gateway may still hide an error in the answer.
        if step.answer and (
            (not step.finish_reason and _ERROR_BODY.match(step.answer))
            or (not step.n_calls and _ERROR_ANSWER.match(step.answer))
        ):
            return _failed(step, "context_overflow" if is_too_much(step.answer) else "silent_error", 0, None)
        return WORKED
    if step.control_flow:
        return WORKED
    attempt = last_attempt(step)
    status = attempt.status if attempt is not None and attempt.status >= 400 else 0
    failure_type, found = _of_failure(step, status)
    if failure_type in ("", "http_error") and not status and _PARSING.search((step.error_text or "")[:_TEXT_CAP]):
        failure_type = "invalid_json"
    return _failed(step, failure_type or "http_error", status or found, attempt.retry_after_ms if attempt else None)


_WEIGH: Final[dict[Kind, Callable[[Step], Outcome]]] = {Kind.TOOL: _tool, Kind.LLM: _model}


def _of_failure(step: Step, status: int) -> tuple[str, int]:
    """Failure type and status of a step that is known to have failed; "" when nothing specific is known."""
    if status == 429:
        return "rate_limited", status
    text = (step.error_text or "")[:_TEXT_CAP] if step.failed else ""
    too_often = text != "" and is_too_often(text)
    # "Too many tokens per minute" is no matter of the context, and a context that is named is none of the rate.
    if text and step.kind is Kind.LLM and is_too_much(text) and not (too_often and "context" not in text):
        return "context_overflow", status
    if text and is_policy_refusal(text):
        return "refusal", status
    if too_often and status not in OTHER_STATUSES:
        return "rate_limited", status
    if status in (401, 403, 407):
        return "auth_error", status
    if step.timed_out:
        return "timeout", status
    if status:
        return "http_error", status
    named, meant = _by_class(step.error_type)
    if named and named != "http_error":
        return named, meant
    if step.kind is Kind.TOOL:
        arguments = step.arguments_facts
        if arguments is not None and arguments.form in BAD_FORMS:
            return "invalid_arguments", 0
        if arguments is not None and arguments.schema:
            return "schema_violation", 0
    if text:
        match = _LEADING_STATUS.match(text)
        # What a tool's error says of a status may be about anything; only those that tell of access and rate count.
        if match and (step.kind is Kind.LLM or int(match[1]) in _TELLING):
            return _of_status(int(match[1]))
        for failure_type, pattern in _BY_TEXT.items():
            if pattern.search(text) and (step.kind is Kind.TOOL or failure_type != "schema_violation"):
                return failure_type, 0
    return named, meant


def _of_status(status: int) -> tuple[str, int]:
    if status == 429:
        return "rate_limited", status
    return ("auth_error" if status in (401, 403, 407) else "http_error"), status


@lru_cache(maxsize=1024)
def _by_class(error_type: str) -> tuple[str, int]:
    if not error_type:
        return "", 0
    if error_type.isdigit():
        status = int(error_type)
        return _of_status(status) if 400 <= status < 600 else ("", 0)
    name = error_type.rpartition(".")[2].lower().replace("_", "")
    for part, failure_type, status in _BY_CLASS:
        if part in name:
            return failure_type, status
    return "", 0


def _failed(step: Step, failure_type: str, status: int, retry_after_ms: int | None) -> Outcome:
    transient = (
        failure_type in ("rate_limited", "timeout")
        or (failure_type == "http_error" and status in _TRANSIENT_STATUS)
        or (failure_type == "environment_error" and step.kind is Kind.LLM)  # its provider cannot be reached
    )
    return Outcome(failure_type, status, retry_after_ms, _signature(step, failure_type, status), transient)


def _signature(step: Step, failure_type: str, status: int) -> str:
    facts = step.result_facts
    if facts is not None and facts.signature:
        return facts.signature
    if step.error_text:
        return error_signature(step.error_text)
    return f"{failure_type}:{step.error_type}:{status}"
