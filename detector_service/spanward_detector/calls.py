"""Which tools a run has called so far, for rules about before and after. In the run's notes, only where one asks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from spanward_detector.model import Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run

RECENT: Final = 512
"""Calls that are counted back over."""
TOOLS: Final = 512


@dataclass(slots=True)
class Calls:
    """Tool calls in the order of the steps.

    Attributes:
        ended: by tool, when its first call that worked had ended; nanoseconds.
        first: by tool, number of the first call's step, worked or not.
        recent: number of the step and tool of the last calls.
        last: number of the last step taken in.
    """

    ended: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    recent: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=RECENT))
    last: int = 0

    def copy(self) -> Self:
        return type(self)(self.ended.copy(), self.first.copy(), self.recent.copy(), self.last)

    def take(self, step: Step, worked: bool) -> None:
        """Take the next step in, once."""
        if step.index <= self.last:
            return
        self.last = step.index
        if step.kind is not Kind.TOOL or (step.extra and step.extra.get("refused")):
            return
        self.recent.append((step.index, step.action))
        if len(self.first) < TOOLS:
            self.first.setdefault(step.action, step.index)
            if worked:
                self.ended[step.action] = min(step.end_ns, self.ended.get(step.action, step.end_ns))

    def called(self, tool: str) -> bool:
        """The tool was called."""
        return tool in self.first

    def worked_by(self, tool: str, at_ns: int) -> bool:
        """A call of the tool had worked by then."""
        return tool in self.ended and self.ended[tool] <= at_ns

    def before(self, one: str, other: str) -> bool:
        """The one was called, and not after the other."""
        return one in self.first and (other not in self.first or self.first[one] < self.first[other])

    def count(self, tool: str, within_steps: int) -> int:
        """Calls of the tool among the last steps."""
        since = self.last - max(0, within_steps)
        return sum(1 for index, name in self.recent if index > since and name == tool)


def calls_of(run: Run, rule: str) -> Calls:
    """What a rule has noted of the run's calls."""
    notes = run.memory.notes
    found = notes.get(rule)
    if not isinstance(found, Calls):
        found = notes[rule] = Calls()
    return found
