"""What is dangerous in a text whatever it is about: instructions to the model, and secrets. Few texts have either.

This runs at every call in somebody else's process, so what most texts cost is a few searches for fixed pieces.
"""

from __future__ import annotations

from typing import Final

from spanward.facts.credentials import CARD_WORDS, card_in, secret_in
from spanward.facts.credentials import STEMS as OF_SECRETS
from spanward.facts.injection import BITS, injection_in

_SHORTEST_ORDER: Final = 6
_SHORTEST_SECRET: Final = 20
"""Characters of the shortest text that can hold one."""
_OF_CARDS: Final = "ar"
"""In nearly every word for a card."""


def orders_in(text: str) -> str:
    """How a tool's result reads like instructions to the model: one of ``INJECTION_SIGNS``, or ""."""
    if len(text) < _SHORTEST_ORDER or (text.isascii() and "\\u" not in text and not _has_any(BITS, text.lower())):
        return ""
    return injection_in(text)


def secret_of_result(text: str) -> str:
    """Kind of the first secret in a tool's result, or ""."""
    return secret_in(text) if len(text) >= _SHORTEST_SECRET and _has_any(OF_SECRETS, text) else ""


def secret_of_arguments(text: str) -> str:
    """Kind of the first secret in a call's arguments, payment cards among them; "" when there is none."""
    if secret := secret_of_result(text):
        return secret
    if _OF_CARDS not in text or len(text) < _SHORTEST_SECRET or not _has_any(CARD_WORDS, text.lower()):
        return ""
    return "payment_card" if card_in(text) else ""


def _has_any(pieces: tuple[str, ...], text: str) -> bool:
    for piece in pieces:  # noqa: SIM110 -- a generator costs as much again as the search
        if piece in text:
            return True
    return False
