"""Failures of an agent: those that nothing has made good yet, and those in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from spanward_detector.model import Step


class Failed(NamedTuple):
    """A failure that nothing has made good yet."""

    action: str
    type: str
    span_id: str
    end_ns: int


@dataclass(slots=True)
class Streak:
    """Failures in a row. Parallel failures, and attempts of one call, count once."""

    count: int = 0
    end_ns: int = 0
    signature: str = ""
    same: int = 0  # of them, the last ones by the same tool with the same signature
    span_ids: tuple[str, ...] = ()

    def failed(self, step: Step, signature: str, again: bool) -> None:
        """Take a failure in; ``again`` = it is another attempt of the call before."""
        if not self.count or (not again and step.start_ns >= self.end_ns):
            self.count += 1
            mark = f"{step.action}\0{signature}"
            self.same = self.same + 1 if mark == self.signature else 1
            self.signature = mark
        self.end_ns = max(self.end_ns, step.end_ns)
        self.span_ids = (*self.span_ids[-7:], step.ref.span_id)

    def worked(self) -> None:
        self.count = self.end_ns = self.same = 0
        self.signature, self.span_ids = "", ()
