"""Has final answers judged by their meaning beside the path of spans, on one thread, and says what changes.

A step may be told again after a late span. Then the question is another one, is asked again, and what was said of the
step before is taken back where it does not hold any more: in the end it is the same for every order of arrival, as long
as the queue had room for the questions.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from spanward_detector.aside import Aside
from spanward_detector.model import Finding, SpanRef
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic.embedder import SemanticError
from spanward_detector.semantic.meaning import Meaning
from spanward_detector.semantic.question import Question

if TYPE_CHECKING:
    from spanward_detector.pipeline import Verdict

_log = logging.getLogger(__name__)

WAITING: Final = 64
"""Questions that wait at most; each holds some 100 kB of text at most."""
_ASKED: Final = 4_096
_T = TypeVar("_T")
OUTCOMES: Final = ("asked", "same", "full", "failed")


class Change(NamedTuple):
    """What an answer to a question changes.

    Attributes:
        run_id: of the run.
        found: that is new.
        withdrawn: that does not hold any more.
    """

    run_id: str
    found: tuple[Finding, ...]
    withdrawn: tuple[Finding, ...]


class SemanticFollower:
    """Follows verdicts, and has their questions answered.

    Args:
        policy: gives the policy in force.
        told: takes each change; called on the follower's thread.
        meaning: answers.

    Attributes:
        counters: ``asked``; ``same`` for a question that was asked before; ``full`` for one that found no room;
            ``failed`` for one without an answer.
    """

    def __init__(
        self,
        policy: Callable[[], SemanticPolicy],
        told: Callable[[Change], object],
        meaning: Meaning | None = None,
    ) -> None:
        self._policy = policy
        self._told = told
        self._meaning = meaning or Meaning()
        self._aside = Aside("spanward-semantic", 1, WAITING)
        self._asked: OrderedDict[SpanRef, int] = OrderedDict()
        self._standing: OrderedDict[SpanRef, tuple[str, tuple[Finding, ...]]] = OrderedDict()  # the thread's own
        self._failed = ""
        self.counters: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))

    @property
    def waiting(self) -> int:
        """Questions that are not answered."""
        return self._aside.waiting

    def follow(self, verdict: Verdict) -> None:
        """A verdict has been acted on. Never waits, never raises."""
        for question in verdict.questions:
            self._ask(question)

    def stop(self) -> None:
        """Ask nothing more; what is being answered is lost."""
        self._aside.stop()

    def _ask(self, question: Question) -> None:
        key = hash(question)
        if self._asked.get(question.ref) == key:
            self.counters["same"] += 1
        elif self._aside.submit(partial(self._answer, self._policy(), question)):
            self.counters["asked"] += 1
            _remember(self._asked, question.ref, key)
        else:
            self.counters["full"] += 1

    def _answer(self, policy: SemanticPolicy, question: Question) -> None:
        try:
            found = tuple(self._meaning.findings(question, policy))
        except SemanticError as error:
            self.counters["failed"] += 1
            if self._failed != policy.model:  # once, not for each answer
                self._failed = policy.model
                _log.error("no answer is judged by its meaning: %s", error)
            return
        except Exception:
            self.counters["failed"] += 1
            _log.exception("a fault of ours while judging an answer by its meaning")
            return
        run_id, before = self._standing.get(question.ref, (question.run_id, ()))
        if run_id != question.run_id:  # the step has become another run's
            self._say(Change(run_id, (), before))
            before = ()
        _remember(self._standing, question.ref, (question.run_id, found))
        self._say(Change(question.run_id, _without(found, before), _without(before, found)))

    def _say(self, change: Change) -> None:
        if change.found or change.withdrawn:
            self._told(change)


def _without(some: Iterable[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    keys = {finding.key for finding in others}
    return tuple(finding for finding in some if finding.key not in keys)


def _remember(known: OrderedDict[SpanRef, _T], ref: SpanRef, value: _T) -> None:
    known[ref] = value
    known.move_to_end(ref)
    if len(known) > _ASKED:
        known.popitem(last=False)
