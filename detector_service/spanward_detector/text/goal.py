"""What an agent was asked at first, and whether it still stands in what its model is told."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from spanward_detector.model import Step
from spanward_detector.text.words import covered, subject

Lost = Literal["request", "system", "fact", ""]

_KEEPS: Final = 0.5
"""Share of the request's words that a summary of it has at least."""
_FEWEST: Final = 4
"""Words that a request has at least, for its loss to be told from a change of wording."""
_RECENT: Final = 64
_FACTS: Final = 8
_FACT: Final = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,32}\b|\b(?=[\w-]{0,20}\d)[A-Za-z0-9][\w-]{4,40}\b")


@dataclass(slots=True)
class Goal:
    """The first request that one agent's model was told in a run.

    Attributes:
        lost: what the model call at hand lacks for the first time.
        moved: the user has said more since, so that the first request may be settled.
    """

    request: str = ""
    system: str = ""
    lost: Lost = ""
    moved: bool = False
    _gone: bool = False
    _reply: str = ""
    _users: int = 0

    def copy(self) -> Goal:
        """An independent copy."""
        return replace(self)

    def follow(self, step: Step) -> None:
        """Look at the next model call of the agent."""
        self.lost = ""
        history, reply = step.extra.get("history"), step.extra.get("reply")
        if not isinstance(history, tuple) or not step.said:
            return
        users = [text for role, text in step.said if role == "user"]
        if not self.request:
            if users:
                self._begin(step, users)
        elif not self._gone and self._reply and self._reply in history[-_RECENT:]:
            # It goes on from the last reply, so that it is the same conversation and not another one of the agent's.
            self.moved = self.moved or len(users) > self._users
            self.lost = self._missing(step, users, whole=len(history) <= len(step.said) + len(step.tool_messages) + 1)
            self._gone = bool(self.lost)
        self._reply = reply if isinstance(reply, str) else ""

    def _begin(self, step: Step, users: list[str]) -> None:
        self.request, self._users = users[-1], len(users)
        self.system = next((text for role, text in step.said if role == "system"), "")

    def _missing(self, step: Step, users: list[str], *, whole: bool) -> Lost:
        texts = [text for _, text in step.said]
        if self.request not in texts:
            told = "\n".join(texts)
            wanted = subject(self.request)
            if len(wanted) >= _FEWEST and self.request not in told and covered(wanted, told) < _KEEPS:
                return "request"
            told = "\n".join((told, *(text for _, text in step.tool_messages)))
            if whole and any(fact not in told for fact in _FACT.findall(self.request)[:_FACTS]):
                return "fact"
        if self.system and users and all(role != "system" for role, _ in step.said) and self.system not in texts:
            return "system"
        return ""
