"""How long tools normally take, and which deadline follows from that."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Final, NamedTuple

from spanward_detector.evaluate.steps import DIALECT as RECORDED
from spanward_detector.model import Kind, Step
from spanward_detector.policy.lint import SAFE_DEADLINE

LEAST_S: Final = 1.0
"""No deadline is suggested below this: a pause of the network or of the machine is no failure."""
_NICE: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Neighbours are at most a third apart, so that the next one after 1.5 times something is at most twice of it."""


class Durations(NamedTuple):
    """Normal calls of one tool: those that worked.

    Attributes:
        tool: its name.
        calls: that were timed.
        median_s: of them.
        longest_s: of them.
        suggest_s: a deadline: 1.5 to 2 times the longest, at least a second.
        stated_s: the deadline that the tool itself states; 0 when it states none.
    """

    tool: str
    calls: int
    median_s: float
    longest_s: float
    suggest_s: float
    stated_s: float = 0.0


def suggested(longest_s: float) -> float:
    """A round number of seconds between 1.5 and 2 times the longest normal call, at least one second."""
    least = SAFE_DEADLINE * longest_s
    if least <= LEAST_S:
        return LEAST_S
    scale = 10.0 ** math.floor(math.log10(least))
    return float(next((f"{n * scale:.6g}" for n in _NICE if n * scale >= least * (1 - 1e-9)), f"{10 * scale:.6g}"))


def durations(steps: Iterable[Step]) -> tuple[Durations, ...]:
    """Durations by tool, the slowest first. Calls that failed, or have no span and so no duration, do not count.

    Nor do steps that were recorded without spans: their times are made up to give them an order.
    """
    took: dict[str, list[float]] = defaultdict(list)
    stated: dict[str, float] = {}
    for step in steps:
        if step.kind is not Kind.TOOL or not step.action or step.dialect == RECORDED:
            continue
        if step.timeout_s:
            stated[step.action] = step.timeout_s
        if step.failed or step.outcome_unknown or "sighting" in step.extra or step.extra.get("refused"):
            continue
        if step.end_ns > step.start_ns:
            took[step.action].append((step.end_ns - step.start_ns) / 1e9)
    found = [
        Durations(tool, len(all_s), median(all_s), max(all_s), suggested(max(all_s)), stated.get(tool, 0.0))
        for tool, all_s in took.items()
    ]
    return tuple(sorted(found, key=lambda d: (-d.longest_s, d.tool)))


def longest(tools: Iterable[Durations]) -> Mapping[str, float]:
    """Seconds of the longest normal call by tool, as :func:`spanward_detector.policy.lint` takes them."""
    found: dict[str, float] = {}
    for tool in tools:
        found[tool.tool] = max(tool.longest_s, found.get(tool.tool, 0.0))
    return found
