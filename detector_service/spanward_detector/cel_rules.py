"""CEL expressions that users write: compiled once, guarded against what costs too much or breaks the library.

The library limits neither cost nor depth: many parentheses end in a panic that is no ``Exception``, and nested macros
multiply. So expressions are capped before it sees them, data are capped before they are handed over, and one that is
slow or makes the library panic again and again is switched off and counted. Data that do not fit an expression (a text
where it wants a number) only make it not true: else whoever sends them could switch a rule off.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import prod
from typing import Any, Final

_log = logging.getLogger(__name__)

MAX_LENGTH: Final = 2000
MAX_DEPTH: Final = 24
MAX_MACROS: Final = 2
"""Macros inside one another; those that build lists stand alone."""
MAX_NAMED: Final = 8
"""Times that step and run stand inside macros: their values may be large, and are looked at for each item."""
MAX_STATES: Final = 1000
"""Product of the counts in patterns, as in ``a{1,20}``."""
BUDGET_S: Final = 0.005
"""Processor time that one evaluation may take."""
STRIKES: Final = 5
"""Evaluations in a row that take longer, or panic, before a rule is switched off."""
COUNTERS: Final[Counter[str]] = Counter()
"""``slow`` and ``broken``: rules switched off; ``failed``: evaluations whose data did not fit."""

HELPERS: Final = ("called", "before", "count")
_STRING: Final = re.compile(
    r"//[^\r\n]*"
    r"|(?<![A-Za-z0-9_])[bB]?[rR](?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\r\n]*\"|'[^'\r\n]*')"
    r"|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:\\.|[^\"\\\r\n])*\"|'(?:\\.|[^'\\\r\n])*'",
    re.DOTALL,
)
"""Comments, raw texts and other texts, told apart as the library does: what stands in them costs nothing."""
_MACRO: Final = re.compile(r"\.\s*(all|exists|exists_one|existsOne|map|filter)\s*$")
_BUILDING: Final = frozenset({"map", "filter"})
_NESTING: Final = re.compile(r"[(\[{}\])]|\b(?:step|run)\b")
_MATCHES: Final = re.compile(r"\bmatches\s*\((\s*\"\"\s*\))?")
_COUNTED: Final = re.compile(r"\{\s*(?:\d{0,9}\s*,\s*)?(\d{1,9})\s*\}")
_ROOTS: Final = frozenset({"step", "run"})
_NEWLINES: Final = re.compile(r"\n[\s|.^]*")
_MAX_SAID: Final = 1000


class CelError(ValueError):
    """An expression that is not taken.

    Attributes:
        hint: what to write instead.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Program:
    """A compiled expression. Safe to share: a rule that is switched off is so wherever it is used.

    Attributes:
        off: why it is not evaluated any more; "" = it is.
    """

    def __init__(self, source: str, run: Callable[[Any], Any], clock: Callable[[], float] = time.thread_time) -> None:
        self.source = source
        self.off = ""
        self._run = run
        self._clock = clock
        self._strikes = 0

    def holds(self, context: Any) -> bool:
        """Whether the expression is true; what is not told (a missing key) is not."""
        if self.off:
            return False
        started = self._clock()
        why = ""
        value: object = None
        try:
            value = self._run(context)
        except KeyError:
            pass
        except Exception:
            COUNTERS["failed"] += 1
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the library is no Exception
            why = f"broken ({type(error).__name__})"
        if self._clock() - started > BUDGET_S:
            why = "slow"
        self._strikes = self._strikes + 1 if why else 0
        if self._strikes >= STRIKES:
            self.off = why
            COUNTERS[why.partition(" ")[0]] += 1
            _log.warning("a rule is switched off: it is %s: %s", why, self.source[:200])
        return value is True


@lru_cache(maxsize=512)
def program(source: str) -> Program:
    """Compile an expression.

    Raises:
        CelError: it is no CEL, or costs too much.
    """
    _guard(source)
    import cel  # deferred: compiled code that most detectors do not need

    try:
        compiled = cel.compile(source)
        names = set(compiled.variables())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        whole = str(error)
        said = _NEWLINES.sub(" ", (whole.partition("ERROR: ")[2] or whole)[:_MAX_SAID])[:200]
        raise CelError(
            f"not CEL: {said}", 'write an expression like step.action == "send" && !run.called("check")'
        ) from None
    if not names & _ROOTS:
        raise CelError("the expression looks at neither step nor run", "it would be the same for every step")
    return Program(source, compiled.execute)


def _guard(source: str) -> None:
    if not source.strip():
        raise CelError("the expression is empty", "write what is true where the rule is broken")
    if len(source) > MAX_LENGTH:
        raise CelError(f"{len(source)} characters; at most {MAX_LENGTH} are taken", "split it into several rules")
    bare = _STRING.sub('""', source)
    if re.search(r"[!\-]{16,}", bare) or bare.count("?") > MAX_DEPTH:
        raise CelError("too many operators in a row", "write it in a simpler way")
    _guard_nesting(bare)
    _guard_patterns(source, bare)


def _guard_nesting(bare: str) -> None:
    """What is inside of macros is done for every item, and what builds lists copies them for every item."""
    opened: list[str] = []  # what each bracket that is open belongs to: a macro, or ""
    named = 0
    for token in _NESTING.finditer(bare):
        text = token[0]
        if text in "([{":
            macro = _MACRO.search(bare[max(0, token.start() - 24) : token.start()]) if text == "(" else None
            opened.append(macro[1] if macro is not None else "")
        elif text in ")]}":
            del opened[-1:]
        else:
            named += any(opened)
        macros = [name for name in opened if name]
        if len(opened) > MAX_DEPTH:
            raise CelError(f"nested deeper than {MAX_DEPTH}", "split it into several rules")
        if len(macros) > (1 if _BUILDING.intersection(macros) else MAX_MACROS):
            raise CelError(
                f"more than {MAX_MACROS} macros inside one another, or a map or filter among them",
                "their costs multiply: take one out",
            )
        if named > MAX_NAMED:
            raise CelError(
                f"step and run stand more than {MAX_NAMED} times inside macros", "split it into several rules"
            )


def _guard_patterns(source: str, bare: str) -> None:
    """Patterns are the author's and not the data's, and none whose counts multiply to many states."""
    calls = list(_MATCHES.finditer(bare))
    if any(not call[1] for call in calls):
        raise CelError("the pattern of matches is no plain text", 'write it out, as in .matches("^a.*b$")')
    states = prod(max(1, int(most)) for most in _COUNTED.findall(source)) if calls else 1
    if states > MAX_STATES:
        raise CelError(
            f"counts in patterns multiply to more than {MAX_STATES}", "write * or +, or split it into several rules"
        )


def context(variables: Mapping[str, Any], helpers: Mapping[str, Callable[..., Any]]) -> Any:
    """What expressions are evaluated in, for one step."""
    import cel

    made = cel.Context(dict(variables))
    for name, function in helpers.items():
        made.add_function(name, function)
    return made
