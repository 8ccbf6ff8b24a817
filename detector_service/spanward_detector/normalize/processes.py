"""What the exit code of a process says, that a tool ran and its span tells."""

from __future__ import annotations

import re
from typing import Final

from spanward_detector.ingest import RawSpan

EXIT_CODE: Final = "process.exit.code"
_COMMAND: Final = 4096
_ANSWERS: Final = re.compile(r"\b(?:[ef]?grep|rg|ag|ack|z?diff|cmp|comm|pgrep|which|where|findstr|fc)\b")
"""Programs whose exit code 1 is an answer."""
_CHECKS: Final = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|mocha|rspec|phpunit|tox|nox|ctest|unittest|check|lint|eslint|mypy|ruff|tsc|clippy|vet"
    r"|build|make|xcodebuild|gradlew?|mvn)\b"
)
"""Programs whose failure is what they were run to find out."""


def exit_code_of(span: RawSpan, arguments: str | None, result: str | None) -> int | None:
    """Exit code of the process that a tool ran; None where none is told, and where it answers a question.

    ``grep`` says by 1 that it found nothing, ``diff`` that two files differ, and a silent 1 is such an answer, too.
    Tests and compilers that fail have done their work: the agent reads what they say.
    """
    code = span.attrs.int(EXIT_CODE)
    if not code:
        return code
    command = (arguments or "")[:_COMMAND]
    answers = code == 1 and (not (result or "").strip() or _ANSWERS.search(command))
    return None if answers or _CHECKS.search(command) else code
