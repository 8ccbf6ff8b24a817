"""Pages of the documentation that are made from the code: rules, attributes, and what content off leaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from spanward_detector.detectors import DETECTORS
from spanward_detector.docgen.attributes import attributes_page
from spanward_detector.docgen.content_off import content_off_page
from spanward_detector.docgen.rules import index_page, rule_page
from spanward_detector.docgen.scenarios import Scenarios

__all__ = ["RULES", "checkout", "pages", "stale", "write"]

RULES: Final = "docs/rules"
"""Where the pages of rules are. Every file of the folder is generated: others are removed."""


def checkout(start: Path) -> Path | None:
    """The folder of the project that a folder is in; None outside of one."""
    return next((p for p in (start, *start.parents) if (p / "tests" / "detectors" / "script.py").is_file()), None)


def pages(root: Path) -> Mapping[str, str]:
    """Text of every generated page by its path in the project.

    Args:
        root: of a checkout; examples are taken from its tests, and its captures are replayed.
    """
    scenarios = Scenarios(root)
    made = {f"{RULES}/{cls.name}.md": rule_page(cls, scenarios.of_rule(cls.name)) for cls in DETECTORS}
    made[f"{RULES}/README.md"] = index_page()
    made["docs/attributes.md"] = attributes_page()
    made["docs/content-off.md"] = content_off_page(scenarios)
    return made


def stale(root: Path, made: Mapping[str, str] | None = None) -> list[str]:
    """Paths of pages that are not what the code says, and of pages in the rules' folder that nothing makes any more.

    Args:
        root: of a checkout.
        made: its pages, where they have been made already: that takes some seconds.
    """
    made = pages(root) if made is None else made
    wrong = [path for path, text in made.items() if _read(root / path) != text]
    return sorted([*wrong, *_left_over(root, made)])


def write(root: Path, made: Mapping[str, str] | None = None) -> list[str]:
    """Bring every page up to date; returns the paths of those that changed. Arguments as for :func:`stale`."""
    made = pages(root) if made is None else made
    changed = [path for path, text in made.items() if _read(root / path) != text]
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(made[path], encoding="utf-8")
    for path in _left_over(root, made):
        (root / path).unlink()
        changed.append(path)
    return sorted(changed)


def _left_over(root: Path, made: Mapping[str, str]) -> list[str]:
    return [path for file in (root / RULES).glob("*.md") if (path := f"{RULES}/{file.name}") not in made]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
