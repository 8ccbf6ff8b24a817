"""How the commands speak: one console, colours by meaning, JSON lines when asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Final, NoReturn

from rich.console import Console
from rich.markup import escape
from rich.theme import Theme

THEME: Final = Theme(
    {
        "finding.error": "bold red",
        "finding.warning": "yellow",
        "finding.info": "dim",
        "directive": "bold cyan",
        "good": "bold green",
        "bad": "bold red",
        "quiet": "dim",
        "agent": "magenta",
    }
)
out: Final = Console(theme=THEME, highlight=False)
err: Final = Console(theme=THEME, highlight=False, stderr=True)

STATE_STYLE: Final[Mapping[str, str]] = {
    "RUNNING": "cyan", "DONE": "good", "FAILED": "bad", "PAUSED": "yellow", "AWAITING_HUMAN": "yellow",
    "WAITING_VALIDATION": "yellow", "ROLLING_BACK": "yellow", "IDLE": "quiet",
}  # fmt: skip


def json_line(value: Mapping[str, object]) -> None:
    """One JSON object on a line of standard output, at once."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def fail(message: str, hint: str = "", code: int = 2) -> NoReturn:
    """Say what is wrong and what to do instead, and end with a code. Brackets in the texts are no markup."""
    err.print(f"[bad]spanward:[/] {escape(message)}", soft_wrap=True)
    if hint:
        err.print(f"  {escape(hint)}", soft_wrap=True)
    sys.exit(code)
