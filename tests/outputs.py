"""Texts that tools return, kept in files: each below a line ``%% its name``."""

from __future__ import annotations

from pathlib import Path

_FIXTURES = Path(__file__).parent / "fixtures"


def outputs(name: str) -> dict[str, str]:
    """The texts of a file under ``tests/fixtures``, by their names."""
    parts = (_FIXTURES / name).read_text(encoding="utf-8").split("%% ")[1:]
    return {title: body.rstrip("\n") for title, _, body in (part.partition("\n") for part in parts)}
