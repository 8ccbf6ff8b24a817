"""How services say that calls come too often or that a quota is used up, and that a model was given too much.

Both come under any status (400, 403, 413, 500, 503, 200), so the words decide. Read only from texts that are errors.
"""

from __future__ import annotations

import re
from typing import Final

OTHER_STATUSES: Final = frozenset({401, 404, 407})
"""Statuses that mean something else, whatever the words beside them."""
_CAP: Final = 1_000
_STOPPED: Final = re.compile("|".join((
    r"too[ _-]?many[ _-]?requests", r"quota[ _-]?exceeded", r"insufficient[ _]quota", r"(?:^|: )rate exceeded",
    r"\bexceeded (?:your|the) (?:\w{1,20} ){0,3}quota", r"\bexhausted your\b",
    r"resource[ _](?:has been )?exhausted", r"\bthrottled\b|throttlingexception",
    r"\bhit your (?:\w{1,16} )?limit\b", r"\w{4,10}limitexceeded\b",
    r"\b(?:usage|hourly|daily|weekly|monthly|\d{1,3}-hour|requests?|calls?|rate|day|concurren\w{1,8}|qps)"
    r"(?: \w{1,12}){0,2} (?:limit|quota) (?:has been |was )?(?:reached|exceeded|hit)\b",
    r"\b(?:requests?|calls?|frequency|qps|concurrency) (?:rate )?exceeded\b",
    r"\breached your (?:\w{1,16} ){1,4}limit\b", r"\bplease slow ?down\b|\bslowdown\b",
    r"\bflood[ _](?:control|wait)", r"\brate[ -]limited\b", r"\blimit \d{1,9} (?:tpm|rpm)",
    r"\brequest rate is too high\b", "demasiadas (?:solicitudes|peticiones)", "trop de requêtes",
    "zu viele anfragen", "ratenlimit", "te veel verzoeken", "слишком много запросов", "troppe richieste",
    "muitas (?:solicitações|requisições)", "túl sok kérés", "zbyt wiele (?:żądań|zapytań)", "çok fazla istek",
    "(?:请求|访问|操作)(?:过于|太)频繁", "频率(?:过高|超过|超限)", "触发限流", "次数(?:超过|已达|超出)",
    "リクエストが多すぎ", "レート制限を超え", "요청이 너무 많",
)))  # fmt: skip
"""That it happened."""
_NAMED: Final = re.compile("|".join((
    r"\brate[ _-]?limit|\w{1,10}ratelimit", r"\bthrottling\b", r"\brequest rate\b", r"\b(?:tpm|rpm|tpd|rpd|qps)\b",
    r"\b(?:tokens|requests|calls) per (?:min(?:ute)?|day|hour|second)\b", r"\bmax(?:imum)? concurrency\b",
    r"\bconcurrency limit\b", r"\babuse detection\b", r"\bexceeded the rate\b", r"\bcall frequency\b", "频率限制",
    "限流", "レート制限", "호출 한도", "limite de débit",
)))  # fmt: skip
"""What it is called: enough in a text that is an error."""
_HINTS: Final = (
    "limit", "quota", "too many", "too_many", "too-many", "toomany", "throttl", "exhaust", "slow", "flood", "rate ",
    "tpm", "rpm", " per ", "qps", "frequency", "abuse", "concurren", "exceeded", "demasiadas", "troppe", "anfragen",
    "verzoeken", "requêtes", "solicitações", "requisições", "запросов", "kérés", "żądań", "zapytań", "istek", "频",
    "限流", "次数", "リクエスト", "レート", "요청", "호출",
)  # fmt: skip
"""One of these is in every such text."""
_TOO_MUCH: Final = re.compile("|".join((
    r"context[ _](?:length|window|size)|context limit|available context|maximum context|\bmax(?:imum)? model len",
    r"(?:prompt|input|conversation|messages?) (?:is |are )?too (?:long|large)|longer than the maximum model length",
    r"tokens_limit_reached|\bmax(?:imum)? size:? \d{3,9} tokens|maximum prompt length|model token limit|max_new_tokens",
    r"\btokens?\b[^\n]{0,60}\bexceeds?\b[^\n]{0,40}\b(?:maximum|limit|max)\b",
    r"\breduce the length of (?:the |your )?(?:messages|prompt|input)|\bstring too long\b|\brequest too large for\b",
    r"\bmax_tokens must be at least 1, got -|\brange of input length\b|\btoo many (?:input )?tokens: max",
    "上下文(?:长度|窗口)?|输入长度",
    "kontextlänge|kontextfenster|longitud (?:máxima )?del contexto|longueur du contexte",
)))  # fmt: skip


def is_too_often(text: str) -> bool:
    """Whether an error says that calls come too often or that a quota is used up."""
    text = text[:_CAP].lower()
    return _may(text) and (_STOPPED.search(text) is not None or _NAMED.search(text) is not None)


def was_too_often(text: str) -> bool:
    """Whether a short text, in lower case, says that calls came too often, and does not only speak of a limit."""
    return _may(text) and _STOPPED.search(text) is not None


def is_too_much(text: str) -> bool:
    """Whether a model's error says that its context does not hold what it was given."""
    return _TOO_MUCH.search(text[:_CAP].lower()) is not None


def _may(text: str) -> bool:
    """A quick look before the patterns."""
    return any(word in text for word in _HINTS)
