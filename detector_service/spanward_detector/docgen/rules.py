"""A page for each rule, and their index."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Mapping
from typing import Any, Final

from spanward_detector.detectors import DETECTORS
from spanward_detector.docgen.scenarios import Examples
from spanward_detector.docgen.text import NOTICE, markdown, parts, table
from spanward_detector.doctor import NEEDS, SIGNS, Needs, Signal
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.model import NUMBERED, Kind
from spanward_detector.policy import default

_ON: Final[Mapping[str, str]] = {
    "any": "all of them",
    "odd": "those that failed, and those with something odd about their form",
    "failed": "those that failed",
}
_KINDS: Final[Mapping[Kind, str]] = {
    Kind.TOOL: "tool calls",
    Kind.LLM: "model calls",
    Kind.DECISION: "decisions",
    Kind.TICK: "passing time (heartbeats)",
    Kind.AGENT: "agents",
    Kind.VALIDATION: "validations",
    Kind.REPAIR: "repairs",
}
_LAYERS: Final[Mapping[str, str]] = {
    "syntax": "Form",
    "runtime": "Course of the run",
    "semantic": "Meaning",
}
_EXAMPLES: Final = 12


def rule_page(cls: type[Any], examples: Examples) -> str:
    """The page of one rule.

    Args:
        cls: its dataclass.
        examples: names of its cases.
    """
    rule = cls()
    prose, fields = parts(cls.__doc__)
    subject = markdown(inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "").partition("\n")[0])
    out = [NOTICE, f"# {cls.name}\n\n", f"{subject}\n\n{prose}\n\n", _facts(rule)]
    stated = [field for field in dataclasses.fields(cls) if field.metadata.get("section")]
    thresholds = [field for field in dataclasses.fields(cls) if field.name != "mode" and field not in stated]
    out.append("## Thresholds\n\n")
    if thresholds:
        rows = (
            (f"`{f.name}`", f"`{_type(f.type)}`", f"`{_value(getattr(rule, f.name))}`", fields.get(f.name, ""))
            for f in thresholds
        )
        out += [table(("name", "type", "default", "meaning"), rows), "\n"]
    else:
        out.append("None: what the step itself says decides.\n\n")
    shown = next((field.name for field in thresholds if getattr(rule, field.name)), "")
    setting = f"{shown}: {_value(getattr(rule, shown))}" if shown else "mode: observe"
    out.append(f"In a policy:\n\n```yaml\nrules:\n  {cls.name}: {{{setting}}}\n```\n\n")
    if stated:
        out.append("Besides, from sections of the policy of their own:\n\n")
        out += [f"- `{field.name}`: {fields.get(field.name, '')}\n" for field in stated]
        out.append("\n")
    out += [_telemetry(cls.name), _ladders(cls.failure_types), _cases(examples)]
    return "".join(out).rstrip() + "\n"


def _facts(rule: Any) -> str:
    kinds = ", ".join(_KINDS.get(kind, kind.value) for kind in Kind if kind in rule.kinds)
    if rule.kinds >= NUMBERED:
        kinds = "steps of any kind"
    rows = [
        (f"`{name}`", FAILURE_TYPES[name].layer, FAILURE_TYPES[name].cause)
        for name in rule.failure_types
        if name in FAILURE_TYPES
    ]
    return (
        table(("failure type", "layer", "cause"), rows)
        + f"\nLooks at {kinds}: {_ON[rule.on]}. Mode by default: `{rule.mode}`"
        + (" (findings of more than information may lead to a directive).\n\n" if rule.mode == "act" else ".\n\n")
    )


def _type(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, (tuple, list, frozenset, set)):
        items = sorted(value, key=str) if isinstance(value, (frozenset, set)) else value
        return f"[{', '.join(map(_value, items))}]"
    return "{}" if isinstance(value, Mapping) and not value else str(value)


def _telemetry(name: str) -> str:
    needs = NEEDS.get(name, Needs())
    out = ["## Telemetry\n\n"]
    out += [f"- Needs {_any_of(clause)}.\n" for clause in needs.all_of] or ["- Needs no more than steps.\n"]
    if needs.better:
        lost = f": otherwise {needs.note}" if needs.note else ""
        out.append(f"- Better with {_all_of(needs.better)}{lost}.\n")
    out.append("\n`spanward doctor FILE` says whether yours has it, and what to set.\n\n")
    return "".join(out)


def _any_of(signals: tuple[Signal, ...]) -> str:
    texts = [SIGNS[signal].text for signal in signals]
    return texts[0] if len(texts) == 1 else f"one of: {'; '.join(texts)}"


def _all_of(signals: tuple[Signal, ...]) -> str:
    return " and ".join(SIGNS[signal].text for signal in signals)


def _ladders(failure_types: tuple[str, ...]) -> str:
    policy = default()
    lines = [
        f"- `{name}`: {' → '.join(map(str, policy.ladder(name)))}\n" for name in failure_types if policy.ladder(name)
    ]
    return "## What is done about it\n\nBy the default policy:\n\n" + "".join(lines) + "\n"


def _cases(examples: Examples) -> str:
    if not examples.fires and not examples.quiet:
        return ""
    return (
        "## Examples\n\nFrom the rule's own tests. It fires:\n\n"
        + "".join(f"- {name}\n" for name in examples.fires[:_EXAMPLES])
        + "\nIt stays quiet, or only informs:\n\n"
        + "".join(f"- {name}\n" for name in examples.quiet[:_EXAMPLES])
    )


def index_page() -> str:
    """All rules by layer, and the failure types that none of them finds."""
    out = [NOTICE, "# Rules\n\n"]
    for layer, title in _LAYERS.items():
        own = [cls for cls in DETECTORS if FAILURE_TYPES[cls.failure_types[0]].layer == layer]
        rows = (
            (
                f"[{cls.name}]({cls.name}.md)",
                ", ".join(dict.fromkeys(FAILURE_TYPES[name].cause for name in cls.failure_types)),
                cls().mode,
                markdown(inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "").partition("\n")[0]),
            )
            for cls in own
        )
        out += [f"## {title}\n\n", table(("rule", "cause", "mode", "what it finds"), rows), "\n"]
    found = {name for cls in DETECTORS for name in cls.failure_types}
    others = [name for name in FAILURE_TYPES if name not in found]
    if others:
        names = ", ".join(f"`{name}`" for name in others)
        out.append(f"Failure types that come from elsewhere than a rule of this list: {names}.\n")
    return "".join(out).rstrip() + "\n"
