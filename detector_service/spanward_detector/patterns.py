"""Values and RE2 patterns of a policy. RE2 is linear in the text, whoever wrote the pattern."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

MAX_PATTERN: Final = 512
MAX_TEXT: Final = 4096


class PatternError(ValueError):
    """A pattern that RE2 does not take; the message says why."""


@lru_cache(maxsize=1024)
def compiled(written: str) -> Any:
    """The compiled pattern of ``/.../``; None for a plain value.

    Raises:
        PatternError: it is no RE2 pattern, or longer than :data:`MAX_PATTERN`.
    """
    if len(written) < len("//") + 1 or not (written.startswith("/") and written.endswith("/")):
        return None
    if len(written) > MAX_PATTERN:
        raise PatternError(f"a pattern of {len(written)} characters; at most {MAX_PATTERN} are taken")
    import re2  # deferred: compiled code that most policies do not need

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(written[1:-1], options=options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        raise PatternError(f"{written}: {said.decode() if isinstance(said, bytes) else said}") from None


def fits(text: str, written: str) -> bool:
    """Whether a text is the value, or is matched as a whole by the pattern."""
    pattern = compiled(written)
    return text == written if pattern is None else pattern.fullmatch(text[:MAX_TEXT]) is not None
