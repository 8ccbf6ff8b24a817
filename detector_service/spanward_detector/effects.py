"""What calls of a run have left behind in the world, so that the same is noticed when it is done again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from spanward_detector.model import Step
from spanward_detector.naming import creates, lasting
from spanward_detector.outcome import Outcome
from spanward_detector.sameness import message_of, numbers_in, without_fresh_ids
from spanward_detector.text.quick import Quick
from spanward_detector.text.words import overlap, subject
from spanward_detector.work import runs

KEPT: Final = 256
"""Calls with effects that are remembered against their repetition."""
VARIANTS: Final = 2
"""Messages that say the same in other words, as a correction does; one more is a repetition."""
_ALIKE: Final = 0.5
"""Share of words in common, of two messages that say the same."""
_FEWEST: Final = 4
"""Words that a message has at least for that."""
_READ: Final = 4_096
_LASTING: Final = Quick(
    r"(?i)\b(?:gh|glab|hub) (?:issue|pr|release|gist|repo|mr) (?:create|comment|new)\b"
    r"|\bgh api [^|;&]{0,200}(?:-X ?POST|--method POST)"
    r"|\bcurl [^|;&]{0,400}(?:-X ?\\?[\"']?POST|--request POST|--data\b|--data-raw| -d )|\baws (?:sns publish|ses send)"
    r"|\b(?:sendmail|mailx?|mutt|swaks) [^|;&]{0,100}(?:-s |@)|\b(?:send|pay|transfer) \$?\d[\d.,]{0,12} "
    r"|\b(?:npm|pnpm|yarn|cargo|poetry) publish\b|\btwine upload\b|\bstripe [a-z_]{3,30} create\b"
    r"|\b(?:az|gcloud) [a-z -]{3,60} create\b"
)
"""Commands that send, pay, publish or create something that is there twice after the second time."""
_SOON_NS: Final = 120 * 10**9


_Value = TypeVar("_Value")


class Effect(NamedTuple):
    """A call that leaves something behind.

    Attributes:
        span_id: of the step.
        end_ns: of the step.
        outcome: of the call.
        result: digest of its result; "" when not known.
        about: words of the message that it sent, where that is what it resembles another by.
    """

    span_id: str
    end_ns: int
    outcome: Outcome
    result: str = ""
    about: frozenset[str] = frozenset()


@dataclass(slots=True)
class Effects:
    """The effects of one run, bounded.

    Attributes:
        repeated: the effect that the call at hand has once more.
    """

    repeated: Effect | None = None
    _calls: dict[tuple[str, str], Effect] = field(default_factory=dict)
    _messages: dict[tuple[str, str], tuple[Effect, ...]] = field(default_factory=dict)

    def copy(self) -> Effects:
        """An independent copy."""
        return Effects(self.repeated, self._calls.copy(), self._messages.copy())

    def take(self, step: Step, outcome: Outcome) -> None:
        """Look at a tool call that may write."""
        arguments = step.arguments_digest or step.arguments
        leaves = lasting(step) or (runs(step.action) and step.arguments is not None and _leaves(step.arguments))
        if not arguments or not (leaves or (not step.side_effect and step.idempotent is None and creates(step.action))):
            return
        if step.arguments is not None:
            arguments = without_fresh_ids(step.arguments) or arguments
        key = (step.action, arguments)
        effect = Effect(step.ref.span_id, step.end_ns, outcome, step.result_digest)
        before = self._calls.get(key)
        if before is not None and not leaves and not before.outcome.type and effect.result == before.result:
            before = None  # nothing shows that there are two of them now
        self.repeated = before
        _keep(self._calls, key, effect)
        if (
            leaves
            and before is None
            and step.arguments is not None
            and (sent := message_of(step.arguments)) is not None
        ):
            self._message(step, effect, *sent)

    def _message(self, step: Step, effect: Effect, beside: str, text: str) -> None:
        key = (step.action, beside)
        effect = effect._replace(about=subject(text) | numbers_in(text))
        before = self._messages.pop(key, ())
        alike = tuple(other for other in before if _says_the_same(effect, other, step.start_ns))
        if len(alike) >= VARIANTS:
            self.repeated = alike[-1]
        _keep(self._messages, key, (*alike[-VARIANTS:], effect))


def _leaves(command: str) -> bool:
    """Whether a command has another effect on the world each time it is run."""
    return _LASTING.search(command[:_READ]) is not None


def _keep(kept: dict[tuple[str, str], _Value], key: tuple[str, str], value: _Value) -> None:
    kept[key] = value
    if len(kept) > KEPT:
        del kept[next(iter(kept))]


def _says_the_same(one: Effect, other: Effect, now_ns: int) -> bool:
    if now_ns - other.end_ns > _SOON_NS or min(len(one.about), len(other.about)) < _FEWEST:
        return False
    if _numbers(one.about) != _numbers(other.about):
        return False
    return overlap(one.about, other.about) >= _ALIKE


def _numbers(about: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in about if word[:1].isdigit())
