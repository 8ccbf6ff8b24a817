"""Values and RE2 patterns of a policy. RE2 is linear in the text, whoever wrote the pattern."""

from __future__ import annotations

from spanward.facts.allow import MAX_TEXT, PatternError, compiled

__all__ = ["MAX_TEXT", "PatternError", "compiled", "fits"]


def fits(text: str, written: str) -> bool:
    """Whether a text is the value, or is matched as a whole by the pattern."""
    pattern = compiled(written)
    return text == written if pattern is None else pattern.fullmatch(text[:MAX_TEXT]) is not None
