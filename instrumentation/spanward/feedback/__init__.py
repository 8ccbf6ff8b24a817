"""Texts made where the content is: feedback for the model, messages for the end user.

A directive carries the name of a template and its slots (numbers, codes, names); the gate adds the content that it
holds. Content appears only as capped quotations that cannot end themselves, never in a system message. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from spanward.feedback.messages import DEFAULT_LOCALE, message
from spanward.feedback.quoting import quoted, slot
from spanward.feedback.templates import TEMPLATES, Template

__all__ = ["MARK", "TEMPLATES", "Template", "degraded", "render", "user_message"]

MARK: Final = "[spanward]"
"""Begins every text that is shown to a model, so that it is not taken for a tool's or a user's words."""

_SLOT: Final = re.compile(r"\{([a-z_]+)\}")
_NAMES: Final = frozenset({"tool", "tools", "model"})
"""Local values that are names, not prose."""
_ALIASES: Final[Mapping[str, str]] = {
    "schema": "violation", "pointer": "violation", "times": "count", "steps": "count", "repeats": "count",
    "undeclared": "violation", "max": "limit",
}  # fmt: skip
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_MAX_FACTS: Final = 6


def render(template: str, slots: Mapping[str, str | int | float], local: Mapping[str, str]) -> str:
    """The feedback for one finding.

    Args:
        template: a name of :data:`TEMPLATES`; unknown ones read as "generic".
        slots: facts from the detector: numbers, codes, names. Longer text in them is quoted.
        local: what the gate holds: ``tool``, ``error``, ``result``, ``arguments``, ``tools``, ``expected``,
            ``request``. Quoted and capped; empty values count as unknown.

    Returns:
        One paragraph, never empty.
    """
    chosen = TEMPLATES.get(template) or TEMPLATES["generic"]
    values = {name: slot(text) if name in _NAMES else quoted(text) for name, text in local.items() if text}
    values |= {_ALIASES.get(name, name): slot(value) for name, value in slots.items() if value != ""}
    if (wait := _number(slots.get("retry_after_ms"))) is not None:
        values.setdefault("seconds", slot(wait / 1000))
    if values.get("error") == values.get("result"):  # one of them is enough
        values.pop("result" if any("{error}" in sentence for sentence in chosen.details) else "error", None)
    values.setdefault("tool", "the tool")
    # "It concerns the tool." says nothing.
    details = [text for text in chosen.details if values["tool"] != "the tool" or "{tool}" not in text]
    told: set[str] = {"retry_after_ms"}
    sentences = [_fill(sentence, values, told) for sentence in (chosen.seen, *details)]
    untold = [
        f"{slot(name)}={slot(value)}"
        for name, value in slots.items()
        if _ALIASES.get(name, name) not in told and _number(value) is not None
    ]
    facts = f"Facts: {', '.join(untold[:_MAX_FACTS])}." if untold else ""
    return " ".join(sentence for sentence in (MARK, *sentences, facts, chosen.advice) if sentence)


def user_message(name: str, locale: str = DEFAULT_LOCALE) -> str:
    """A sentence for the end user; see :data:`spanward.feedback.messages.MESSAGES` for the names."""
    return _SLOT.sub("…", message(name, locale))


def degraded(tool: str, *, seconds: float | None = None, locale: str = DEFAULT_LOCALE) -> str:
    """What takes the place of a tool's result when there is none to be had.

    Args:
        tool: its name.
        seconds: until it may be there again, where known.
        locale: of the end user, to whom a model may pass this on.
    """
    text = message("unavailable" if seconds is None else "unavailable_for", locale)
    values = {"tool": slot(tool or "…"), "seconds": slot(max(1, round(seconds or 0)))}
    return f"{MARK} {_fill(text, values, set())}"


def _fill(sentence: str, values: Mapping[str, str], told: set[str]) -> str:
    """The sentence with its slots filled, once each; "" when one is unknown."""
    names = _slots_of(sentence)
    if not names <= values.keys():
        return ""
    told |= names
    # What a slot is filled with is not read again: braces in it stay what they are.
    return sentence.format_map(values) if names else sentence


@lru_cache(maxsize=512)
def _slots_of(sentence: str) -> frozenset[str]:
    return frozenset(_SLOT.findall(sentence))


def _number(value: object) -> float | None:
    return float(str(value)) if _NUMBER.fullmatch(str(value)) else None
