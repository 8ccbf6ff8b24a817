"""What a careful colleague would say of a policy: errors, and numbers outside the range in which they make sense."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from spanward_detector.policy.load import read
from spanward_detector.policy.model import Ladder, Policy
from spanward_detector.policy.source import PolicyError, Problem, parse

_SANE: Final[dict[str, tuple[float, float, str]]] = {
    "strategies.retry.max": (1, 5, "more retries hide an outage and cost tokens"),
    "strategies.retry.delay_s": (0.1, 30, "a shorter wait hammers a service that is down"),
    "strategies.repair_arguments.max": (1, 2, "a second repair of the same call mends nothing"),
    "strategies.feedback.max": (1, 5, "a model that did not listen twice will not listen ten times"),
    "budget.repairs": (1, 50, "a run with that many repairs needs a person"),
    "budget.seconds": (1, 7200, "a repair that takes hours needs a person"),
    "breaker.failures": (2, 50, "one failure is no outage; fifty are one already"),
    "breaker.open_s": (1, 600, ""),
    "pause.escalate_s": (60, 86400, "nobody looks sooner, and after a day nobody looks"),
    "limits.max_steps": (3, 500, ""),
}
SAFE_DEADLINE: Final = 1.5
"""A deadline below this many times the longest normal call will stop healthy calls."""
_ENDINGS: Final = frozenset({"handover", "pause", "terminate", "alert"})


def lint(text: str, longest_s: Mapping[str, float] | None = None) -> list[Problem]:
    """Every error and warning, in the order of the lines.

    Args:
        text: of the policy.
        longest_s: seconds of the longest normal call by tool, where they are known; deadlines are held against them.
    """
    policy, problems = read(text)
    if policy is not None and not problems:
        source = parse(text)
        written = source.data if isinstance(source.data, dict) else {}
        problems = [
            *(_numbers(policy, source.lines)),
            *(
                problem
                for name in written.get("ladders") or {}
                for problem in _ladder(name, policy.ladders[name], source.line(("ladders", name)))
            ),
            *_rules(policy, source.lines),
            *_deadlines(policy, source.lines, longest_s or {}),
        ]
    return sorted(problems, key=lambda p: p.line)


def _numbers(policy: Policy, lines: dict[tuple[str | int, ...], int]) -> Iterator[Problem]:
    for key, (low, high, why) in _SANE.items():
        path = tuple(key.split("."))
        if path not in lines:
            continue
        value: object = policy
        for part in path:
            value = value.get(part) if isinstance(value, dict) else getattr(value, part)
        if isinstance(value, int | float) and value and not low <= value <= high:
            hint = f"sane is {low:g} to {high:g}" + (f": {why}" if why else "")
            yield Problem(lines[path], f"{key} is {value:g}", hint, "warning")


def _ladder(failure_type: str, ladder: Ladder, line: int) -> Iterator[Problem]:
    kinds = [rung.kind for rung in ladder]
    if kinds[-1] not in _ENDINGS:
        hint = "end with handover, pause, terminate or alert, or nothing happens once the rest is used up"
        yield Problem(line, f"the ladder of {failure_type} ends with {kinds[-1]}", hint, "warning")
    for stop in ("terminate", "handover"):
        if stop in kinds[:-1]:
            yield Problem(line, f"nothing follows {stop} on the ladder of {failure_type}", "put it last", "warning")


def _rules(policy: Policy, lines: dict[tuple[str | int, ...], int]) -> Iterator[Problem]:
    for name, values in policy.rules.items():
        for key, value in values.items():
            line = lines.get(("rules", name, key), 0)
            if line and isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
                yield Problem(line, f"rules.{name}.{key} is 0", "0 turns the threshold off or fires always", "warning")


def _deadlines(
    policy: Policy, lines: dict[tuple[str | int, ...], int], longest_s: Mapping[str, float]
) -> Iterator[Problem]:
    for name, tool in policy.tools.items():
        normal = longest_s.get(name, 0.0)
        if 0 < tool.timeout < SAFE_DEADLINE * normal:
            message = f"the timeout of {name} is {tool.timeout:g} s, and a normal call took {normal:.3g} s"
            hint = f"write at least {SAFE_DEADLINE * normal:.2g}: {SAFE_DEADLINE:g} x the longest normal call"
            line = lines.get(("tools", name, "timeout")) or lines.get(("tools", name), 0)
            yield Problem(line, message, hint, "warning")


def show(problems: list[Problem], name: str) -> list[str]:
    """One line a problem: ``file:line: level: message (hint)``."""
    return [re.sub(r"^line \d+: ", "", f"{name}:{p.line}: {p.level}: {p._replace(line=0)}") for p in problems]


__all__ = ["PolicyError", "Problem", "lint", "show"]
