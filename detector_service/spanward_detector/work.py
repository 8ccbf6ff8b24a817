"""What the steps of a run show of its work: what was run, how the last check ended, what is left of a list of tasks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from spanward_detector.model import Step
from spanward_detector.naming import may_write, words
from spanward_detector.outcome import Outcome
from spanward_detector.text.quick import Quick

Role = Literal["looks", "runs", "checks", "lists", ""]
Check = Literal["passed", "failed", ""]

_CAP: Final = 8192
_GIVEN: Final = 512
_WRITES: Final = 64
_NAMES: Final = 256
"""Tools of a run whose names are kept."""
_RUNS: Final = frozenset({
    "bash", "shell", "sh", "terminal", "command", "exec", "execute", "cmd", "run", "python", "powershell", "process",
    "console", "code", "script", "ejecutar", "comando", "ausführen", "befehl", "commande", "opdracht",
})  # fmt: skip
_CHECKS: Final = frozenset({
    "test", "tests", "pytest", "lint", "build", "compile", "typecheck", "verify", "check", "ci", "pruebas", "testen",
})  # fmt: skip
_LISTS: Final = frozenset({"todo", "todos", "todowrite", "checklist", "tasklist", "tasks", "plan"})
_LOOKS: Final = frozenset({
    "read", "write", "edit", "file", "files", "list", "ls", "glob", "grep", "search", "get", "fetch", "view", "open",
    "create", "update", "patch", "replace", "insert", "directory", "dir", "find", "lookup", "browse", "archivo",
    "editar", "leer", "escribir", "buscar", "listar", "fichier", "lire", "écrire", "modifier", "chercher", "datei",
    "lesen", "schreiben", "suchen", "bearbeiten", "bestand", "lees", "schrijf", "zoek", "bewerk", "fájl", "fajl",
    "olvas", "arquivo", "ler", "escrever", "leggi", "scrivi", "cerca",
})  # fmt: skip
_IS_CHECK: Final = Quick(
    r"(?i)(?:\b|_)(?:tests?|pytest|jest|vitest|mocha|rspec|phpunit|tox|nox|ctest|unittest|lint|eslint|mypy|ruff|tsc|clippy"
    r"|vet|build|make|xcodebuild|gradlew?|mvn|compile|verify|check)(?:\b|_)"
)
_FAILED: Final = Quick(
    r"(?m)\bFAILED\b|\bBUILD FAIL(?:ED|URE)\b|(?i:\b[1-9]\d{0,5} (?:\w+ )?fail(?:ed|ing|ures?)\b)"
    r"|(?i:\bfail(?:ed|ures|ing)?\s{0,2}[:=]\s{0,2}[1-9])|^not ok \d|\berror TS\d+|\berror\[E\d+\]"
    r"|(?i:\bfound [1-9]\d* errors?\b)|\bnpm ERR!|^make: \*\*\*|(?i:\bcompilation (?:failed|error))"
    r"|^--- FAIL|(?i:\b[1-9]\d* errors? generated)|^FAIL\b"
    r"|\b[1-9]\d* (?:fallid[ao]s|fehlgeschlagen|échoués?|mislukt|falhou|falharam|falliti|sikertelen)\b"
    r"|[1-9]\d* ?(?:个)?(?:失败|件失敗|失敗)"
)
_TALLY: Final = Quick(r"\b[1-9]\d{0,5} (?:tests? )?passed\b|\bBUILD SUCCESS(?:FUL)?\b|^OK$|\btest result: ok\b")
_MOVES: Final = Quick(r"\bmv (?:[^;&|\n\"\\]{0,400} )?([^\s;&|\"\\]{1,200})")
_MOVED: Final = 32
_CHANGED: Final = Quick(r"(?m)(?:^|\\n|\")[ MADRCUT?!]{2} \S")
_LEFT: Final = Quick(r"(?i)\"(?:pending|in[_ -]progress|not[_ ]started|todo|open|incomplete|doing)\"|- \[ \]")
_COUNTED: Final = Quick(r"(?i)\b([1-9]\d{0,3}) (?:\w+ )?(?:pending|remaining|open|incomplete|unfinished|left)\b")


@dataclass(slots=True)
class Work:
    """What is known of a run's work after its steps so far.

    Attributes:
        ran: something was called that can run a command, as far as names tell.
        check: how the last tests, build or the like ended, where that is known.
        left: tasks that the last list of them shows as not done.
        called: names of the tools that were called.
        wrote: what calls that may write were given and told, the last of them, where the content is known.
        moved: where commands have moved things to.
        clean: git has said that nothing in the working tree is changed, and nothing has changed since.
        programs: a program or a command was run, which may have done anything.
    """

    ran: bool = False
    check: Check = ""
    left: int = 0
    called: frozenset[str] = frozenset()
    wrote: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    clean: bool = False
    programs: bool = False

    def copy(self) -> Work:
        """An independent copy."""
        return replace(self)

    def take(self, step: Step, outcome: Outcome) -> None:
        """Look at a tool call."""
        if step.action not in self.called and len(self.called) < _NAMES:
            self.called |= {step.action}
        if step.arguments is not None and may_write(step):
            self.clean = self.clean and "git " in step.arguments
            self.wrote = (*self.wrote[1 - _WRITES :], step.arguments[:_GIVEN], (step.result or "")[:_GIVEN])
        role = _role(step.action)
        if role == "looks":
            return
        if role == "lists":
            self._list(step)
            return
        self.ran = True
        self.programs = self.programs or role in ("runs", "checks")
        if role == "runs" and step.arguments:
            self._command(step, step.arguments[:_CAP])
        if role == "checks" or (role == "runs" and _checked(step)):
            self.check = "failed" if outcome.type or _ended_badly(step) else "passed"

    def _command(self, step: Step, text: str) -> None:
        if "git status" in text:
            self.clean = _is_clean(text, step.result or "")
        if "mv " in text:
            targets = tuple(str(found[1]).rstrip("/") for found in _MOVES.all(text))
            self.moved = (*self.moved, *targets)[-_MOVED:]

    def _list(self, step: Step) -> None:
        given, shown = step.arguments, step.result
        if given is not None:
            self.left = sum(1 for _ in _LEFT.all(given[:_CAP]))
        if shown is not None and not self.left and (counted := _COUNTED.search(shown[:_CAP])) is not None:
            self.left = int(counted[1])


def _checked(step: Step) -> bool:
    """Whether a command was a check, by its own words or by what it told."""
    given, told = step.arguments, step.result
    if given and _IS_CHECK.search(given[:_CAP]) is not None:
        return True
    return told is not None and _TALLY.search(told[-_CAP:]) is not None


def _is_clean(command: str, result: str) -> bool:
    """Whether the answer to ``git status`` shows no change."""
    if "fatal" in result or "error" in result:
        return False
    if "porcelain" in command or re.search(r"status (?:-\w*s|--short)", command):
        return _CHANGED.search(result) is None
    return "nothing to commit" in result or "working tree clean" in result


def _ended_badly(step: Step) -> bool:
    facts = step.result_facts
    if (facts is not None and facts.exit_code) or step.extra.get("exit_code"):
        return True
    return step.result is not None and _FAILED.search(step.result[-_CAP:]) is not None


def runs(action: str) -> bool:
    """True for the name of a tool that runs commands or code."""
    return _role(action) == "runs"


@lru_cache(maxsize=4096)
def _role(action: str) -> Role:
    """What calls of a tool do, by its name; "" where that does not tell."""
    name = words(action)
    if not name.isdisjoint(_LISTS):
        return "lists"
    if not name.isdisjoint(_CHECKS):
        return "checks"
    if not name.isdisjoint(_RUNS):
        return "runs"
    return "" if name.isdisjoint(_LOOKS) else "looks"
