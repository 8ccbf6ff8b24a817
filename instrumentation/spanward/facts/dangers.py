"""What is dangerous in a text whatever it is about: instructions to the model, and secrets. Few texts have either.

This runs at every call in somebody else's process, so what most texts cost is a few searches for fixed pieces.
"""

from __future__ import annotations

from typing import Final

from spanward.facts.credentials import CARD_WORDS, card_in, secret_in
from spanward.facts.credentials import STEMS as OF_SECRETS
from spanward.facts.injection import BITS, injection_in
from spanward.facts.wording import has_any

_SHORTEST_ORDER: Final = 6
_SHORTEST_SECRET: Final = 20
"""Characters of the shortest text that can hold one."""
_OF_CARDS: Final = "ar"
"""In nearly every word for a card."""


def orders_in(text: str) -> str:
    """How a tool's result reads like instructions to the model: one of ``INJECTION_SIGNS``, or ""."""
    if len(text) < _SHORTEST_ORDER:
        return ""
    # A lone backslash is found several times faster than one with a letter behind it, and most texts have none.
    plain = text.isascii() and ("\\" not in text or "\\u" not in text)
    return "" if plain and not has_any(text.lower(), BITS) else injection_in(text)


def secret_of_result(text: str) -> str:
    """Kind of the first secret in a tool's result, or ""."""
    return secret_in(text) if len(text) >= _SHORTEST_SECRET and has_any(text, OF_SECRETS) else ""


def secret_of_arguments(text: str) -> str:
    """Kind of the first secret in a call's arguments, payment cards among them; "" when there is none."""
    if secret := secret_of_result(text):
        return secret
    if _OF_CARDS not in text or len(text) < _SHORTEST_SECRET or not has_any(text.lower(), CARD_WORDS):
        return ""
    return "payment_card" if card_in(text) else ""
