"""Secrets told by a known prefix and form, and by a checksum where there is one. Placeholders are none.

Text is first tried for the prefixes; only what has one is looked at closely. All repetitions in patterns are bounded.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

import orjson

EDGE: Final = 32_768
"""Characters that are looked at, from either end of a text."""

UNPROVEN: Final = "unproven_token"
"""Has the form of a token, and a checksum that is wrong."""
_PLACEHOLDER: Final = re.compile(
    r"example|x{4}|\*{3}|\.{3}|your|test|dummy|sample|fake|placeholder|change_?me|insert|redacted|0{6}|1{6}|a{6}|z{6}"
    r"|123456|abcdef|qwerty|todo|secret-?key|api-?key",
    re.IGNORECASE,
)
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DISTINCT: Final = 8
"""Different characters that the random part of a secret has at least."""
_VARIED: Final = 16
_CHECKSUM: Final = 6
_SAMPLE_JWT: Final = re.compile(r"1234567890|john doe|jane doe|example", re.IGNORECASE)
_MAC: Final = frozenset({"HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256",
                         "PS384", "PS512", "EdDSA"})  # fmt: skip


class Kind(NamedTuple):
    """One kind of secret.

    Attributes:
        name: one of :data:`spanward.semconv.SECRET_KINDS`.
        stem: every text that the pattern matches contains it.
        pattern: its whole form; the group, or all of it, is the random part.
        check: what a match has to pass besides; it gets the whole and the random part.
    """

    name: str
    stem: str
    pattern: re.Pattern[str]
    check: Callable[[str, str], bool]


def _random(_whole: str, part: str) -> bool:
    return len(set(part)) >= _DISTINCT and _PLACEHOLDER.search(part) is None


def _varied(whole: str, part: str) -> bool:
    """Random enough to be a token, though its checksum is not right: worth a word, no more."""
    return len(set(part)) >= _VARIED and _random(whole, part)


def _crc32(whole: str, part: str) -> bool:
    """The last six digits of these tokens are the CRC-32 of the others, in base 62."""
    number, digits = zlib.crc32(part[:-_CHECKSUM].encode()), ""
    while number:
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return digits.rjust(_CHECKSUM, "0") == part[-_CHECKSUM:] and _random(whole, part)


def _signed(whole: str, _part: str) -> bool:
    """A JSON Web Token: its header is JSON that names an algorithm, its claims are JSON and nobody's sample."""
    try:
        header, claims = (_decoded(piece) for piece in whole.split(".")[:2])
        head, body = orjson.loads(header), orjson.loads(claims)
    except (ValueError, binascii.Error):
        return False
    named = isinstance(head, dict) and isinstance(head.get("alg"), str) and head["alg"] in _MAC
    return named and isinstance(body, dict) and _SAMPLE_JWT.search(claims.decode("utf-8", "replace")) is None


def _decoded(piece: str) -> bytes:
    return base64.urlsafe_b64decode(piece + "=" * (-len(piece) % 4))


def _kind(name: str, stem: str, pattern: str, check: Callable[[str, str], bool] = _random) -> Kind:
    return Kind(name, stem, re.compile(rf"(?<![A-Za-z0-9_-]){pattern}(?![A-Za-z0-9_-])"), check)


KINDS: Final = (
    _kind("aws_access_key", "AKIA", r"AKIA([A-Z2-7]{16})"),
    _kind("aws_access_key", "ASIA", r"ASIA([A-Z2-7]{16})"),
    *(_kind("github_token", f"gh{letter}_", rf"gh{letter}_([A-Za-z0-9]{{36}})", _crc32) for letter in "pousr"),
    _kind("github_token", "github_pat_", r"github_pat_([A-Za-z0-9]{22}_[A-Za-z0-9]{59})"),
    _kind("npm_token", "npm_", r"npm_([A-Za-z0-9]{36})", _crc32),
    _kind("gitlab_token", "glpat-", r"glpat-([A-Za-z0-9_-]{20,64})"),
    _kind("slack_token", "xox", r"xox[abeoprs]-((?:\d{6,14}-){1,3}[A-Za-z0-9-]{16,80})"),
    _kind(
        "slack_webhook",
        "hooks.slack.com/services/",
        r"hooks\.slack\.com/services/(T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{20,28})",
    ),
    _kind("openai_key", "T3BlbkFJ", r"sk-((?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,90}T3BlbkFJ[A-Za-z0-9_-]{20,90})"),
    _kind("anthropic_key", "sk-ant-", r"sk-ant-(?:api|admin|oat|ort)\d{2}-([A-Za-z0-9_-]{80,120})"),
    _kind("google_api_key", "AIza", r"AIza([A-Za-z0-9_-]{35})"),
    _kind("stripe_key", "k_live_", r"[sr]k_live_([A-Za-z0-9]{16,120})"),
    _kind("huggingface_token", "hf_", r"hf_([A-Za-z]{34})"),
    _kind("sendgrid_key", "SG.", r"SG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
    _kind("pypi_token", "pypi-AgE", r"pypi-AgE([A-Za-z0-9_-]{50,300})"),
    _kind("telegram_token", ":AA", r"\d{8,10}:(AA[A-Za-z0-9_-]{33})"),
    _kind("azure_key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    *(
        _kind("service_token", stem, re.escape(stem) + f"({part})")
        for stem, part in (
            ("dop_v1_", "[a-f0-9]{64}"),
            ("shpat_", "[a-f0-9]{32}"),
            ("ntn_", "[0-9]{11,12}[A-Za-z0-9]{34,36}"),
            ("lin_api_", "[A-Za-z0-9]{40}"),
            ("dp.pt.", "[A-Za-z0-9]{40,44}"),
            ("hvs.", "[A-Za-z0-9_-]{24,120}"),
            ("gsk_", "[A-Za-z0-9]{52}"),
            ("dapi", "[a-f0-9]{32}"),
            ("ATATT3", "[A-Za-z0-9_=-]{150,250}"),
            ("sq0atp-", "[A-Za-z0-9_-]{22}"),
            ("NRAK-", "[A-Z0-9]{27}"),
            ("pplx-", "[A-Za-z0-9]{48,56}"),
            ("r8_", "[A-Za-z0-9]{37,40}"),
            ("xai-", "[A-Za-z0-9]{70,90}"),
            ("sbp_", "[a-f0-9]{40}"),
            ("figd_", "[A-Za-z0-9_-]{40,48}"),
            ("AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
        )
    ),
    _kind("jwt", "eyJ", r"(eyJ[A-Za-z0-9_-]{8,1024}\.eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{20,1024})", _signed),
    Kind(
        "private_key",
        "PRIVATE KEY",
        re.compile(
            r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\{1,4}[nr])"
            r"((?:[A-Za-z0-9+/=:,. -]{0,80}(?:\s|\\{1,4}[nr]){1,4}){0,4}[A-Za-z0-9+/=]{40})"
        ),
        _random,
    ),
    *(_kind(UNPROVEN, f"gh{letter}_", rf"gh{letter}_([A-Za-z0-9]{{36}})", _varied) for letter in "pousr"),
    _kind(UNPROVEN, "npm_", r"npm_([A-Za-z0-9]{36})", _varied),
)
"""Every kind, in the order in which they are tried."""

STEMS: Final = tuple(dict.fromkeys(kind.stem for kind in KINDS))
"""A text that has none of these holds no secret."""

_CARD: Final = re.compile(r"(?<![\d.,-])(?:\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|3\d{3}([ -])\d{6}\2\d{5})(?![\d.,-]?\d)")
_CARD_FIELD: Final = re.compile(
    r'"[^"]{0,24}(?:card_?(?:number|no)|pan|cc_?(?:number|num)|credit_?card)"\s{0,4}:\s{0,4}"?(\d{13,19})(?!\d)',
    re.IGNORECASE,
)
CARD_WORDS: Final = ("card", "karte", "tarjeta", "carte", "cartão", "carta di credito", "kaart")
"""Arguments that hold the number of a payment card speak of one, in lower case."""
_ISSUERS: Final = re.compile(r"4|5[1-5]|2[2-7]|3[47]|6011|65|35(?:2[89]|[3-8])")
_SAMPLE_CARDS: Final = frozenset({
    "4242424242424242", "4111111111111111", "4012888888881881", "4000056655665556", "5555555555554444",
    "5105105105105100", "2223003122003222", "378282246310005", "371449635398431", "6011111111111117",
    "6011000990139424", "3530111333300000", "4000000000000002", "5200828282828210",
})  # fmt: skip
"""Numbers that payment providers publish for tests."""


def secret_in(text: str) -> str:
    """Kind of the first secret in a text; "" when there is none.

    Args:
        text: arguments or a result. Only its first and last :data:`EDGE` characters are looked at.

    Returns:
        One of :data:`spanward.semconv.SECRET_KINDS`, or "".
    """
    if len(text) > 2 * EDGE:
        text = f"{text[:EDGE]}\n{text[-EDGE:]}"
    for kind in KINDS:
        if kind.stem in text:
            for found in kind.pattern.finditer(text):
                if kind.check(found[0], found[1]):
                    return kind.name
    return ""


def card_in(text: str) -> bool:
    """Whether arguments hold the number of a payment card: grouped, or in a field of that name, and right by Luhn."""
    groups = (m[0] for m in _CARD.finditer(text[:EDGE]))
    fields = (m[1] for m in _CARD_FIELD.finditer(text[:EDGE]))
    return any(_is_card("".join(c for c in number if c.isdigit())) for number in (*groups, *fields))


def _is_card(digits: str) -> bool:
    if _ISSUERS.match(digits) is None or digits in _SAMPLE_CARDS or len(set(digits)) <= 2:
        return False
    doubled = [int(c) * (1 + at % 2) for at, c in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0
