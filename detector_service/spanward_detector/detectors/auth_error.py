"""A server wants to know who is asking, or does not let them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spanward_detector.detectors.base import Classified
from spanward_detector.model import Step


@dataclass(frozen=True, slots=True)
class AuthError(Classified):
    """A call ended with 401, 403 or 407, or with an exception that means the same.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "auth_error"
    failure_types: ClassVar[tuple[str, ...]] = ("auth_error",)

    def says(self, step: Step) -> str:
        return f"{step.action} was refused: not authenticated or not allowed"
