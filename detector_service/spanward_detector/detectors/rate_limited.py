"""A server said: too many requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spanward_detector.detectors.base import Classified
from spanward_detector.model import Step


@dataclass(frozen=True, slots=True)
class RateLimited(Classified):
    """A call ended with status 429, whatever its body calls it; the server's Retry-After is among the facts.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "rate_limited"
    failure_types: ClassVar[tuple[str, ...]] = ("rate_limited",)

    def says(self, step: Step) -> str:
        return f"{step.action} was refused for its rate (429)"
