"""What follows from a verdict: the hold is answered, the directive sent, all of it stored, counted and told.

Everything here runs on the event loop's thread and nothing in it waits. The order matters: answers go out before
anything is written down, but for directives, which are durable before they are sent. While a directive is on its way to
the disk this thread keeps still, so that the store's has the interpreter for itself: what else follows from the verdict
is done afterwards, or before the next thing that happens.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from spanward_detector import emit, log, run_lifecycle
from spanward_detector.control import codec
from spanward_detector.control.delivery import Delivery, Tracked
from spanward_detector.control.outgoing import Outbound
from spanward_detector.control.session import Session, Sessions
from spanward_detector.directives import Outcome, RepairLedger
from spanward_detector.emit import Emitter
from spanward_detector.metrics import Metrics
from spanward_detector.model import Directive, Finding, Kind, SpanRef, Step, Tick
from spanward_detector.policy import Policy
from spanward_detector.putoff import PutOff
from spanward_detector.run_lifecycle import Life
from spanward_detector.runbook import RunBook
from spanward_detector.store import Row, Store
from spanward_detector.store.records import finding_row, run_row

if TYPE_CHECKING:
    from spanward_detector.control.codec import AgentRun
    from spanward_detector.ingest import RawLog, RawSpan
    from spanward_detector.pipeline import Verdict
    from spanward_detector.runs import Run

_log = logging.getLogger(__name__)

_OURS: Final = "spanward"
_PARK_S: Final = 1.0
_PARKED: Final = 1_000
_ANSWERED: Final = 8_192
Raw = TypeVar("Raw")

_STORED: Final = frozenset(Kind) - {Kind.TICK, Kind.OTHER}


class Judge(Protocol):
    """The pipeline, as it is used here."""

    policy: Policy

    def spans(self, spans: Iterable[RawSpan]) -> list[Verdict]: ...

    def logs(self, logs: Iterable[RawLog]) -> list[Verdict]: ...

    def tick(self, run_id: str, tick: Tick) -> Verdict | None: ...

    def settle(self, run_id: str) -> Verdict | None: ...

    def find(self, run_id: str) -> Run | None: ...

    def register(self, told: AgentRun) -> Run: ...


class _Parked(NamedTuple):
    run_id: str
    ref: SpanRef
    until: float


class Engine:
    """Joins the pipeline to agents, store, metrics and trace.

    Args:
        pipeline: judges spans.
        store: durable memory; open.
        metrics: what is counted.
        emitter: what goes into the trace.
        settle_s: a run that ended is judged once nothing of it has come for this long.
        foreign_settle_s: the same for runs without a stream, whose spans come in batches of seconds.
        monotonic: clock of deadlines.
        now_ns: wall clock.

    Attributes:
        followers: told of every verdict once it has been acted on.
    """

    def __init__(
        self,
        pipeline: Judge,
        store: Store,
        metrics: Metrics,
        emitter: Emitter,
        *,
        settle_s: float = 0.5,
        foreign_settle_s: float = 6.0,
        monotonic: Callable[[], float] = time.monotonic,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.pipeline = pipeline
        self.sessions = Sessions()
        self.runs = RunBook(store, self.sessions, metrics, emitter, now_ns=now_ns)
        self.delivery = Delivery(store, self.sessions, metrics, self._directive_ended, monotonic, now_ns)
        self._store = store
        self._metrics = metrics
        self._emitter = emitter
        self._settle_s = settle_s
        self._foreign_settle_s = foreign_settle_s
        self._monotonic = monotonic
        self._now_ns = now_ns
        self._parked: deque[_Parked] = deque()
        self._answered: OrderedDict[SpanRef, None] = OrderedDict()
        self._settling: dict[str, float] = {}
        self.followers: list[Callable[[Verdict], None]] = []
        self.later = PutOff()

    # ------------------------------------------------------------------------------------------------- what comes in

    def spans(self, raw: Sequence[RawSpan], arrived: float) -> None:
        """Judge spans and act on it.

        Args:
            raw: in the order in which they are to be looked at.
            arrived: ``perf_counter`` seconds at which the request came.
        """
        self._all(self.pipeline.spans, raw, arrived)

    def logs(self, raw: Sequence[RawLog], arrived: float) -> None:
        """The same for log records that carry what spans leave out."""
        self._all(self.pipeline.logs, raw, arrived)

    def _all(self, judge: Callable[[Sequence[Raw]], Sequence[Verdict]], raw: Sequence[Raw], arrived: float) -> None:
        """Judge together; where that raises, one by one: what one span does to a rule must not cost the others."""
        self.later.settle()
        try:
            verdicts = judge(raw)
        except Exception:
            verdicts = [verdict for item in raw for verdict in self._alone(judge, item)]
        for verdict in verdicts:
            self._act(verdict, arrived)

    def _alone(self, judge: Callable[[Sequence[Raw]], Sequence[Verdict]], item: Raw) -> Sequence[Verdict]:
        try:
            return judge([item])
        except Exception:
            _log.exception("a span could not be judged")
            self._metrics.rejected.add("internal")
            return ()

    def tick(self, run_id: str, tick: Tick) -> None:
        """Let time pass for a run."""
        self._in_time(lambda: self.pipeline.tick(run_id, tick))

    def _in_time(self, judge: Callable[[], Verdict | None]) -> None:
        """A fault of a rule must neither end the stream of a heartbeat nor stop the clock."""
        self.later.catch_up()
        try:
            verdict = judge()
        except Exception:
            _log.exception("a run could not be judged")
            self._metrics.rejected.add("internal")
            return
        if verdict is not None:
            self._act(verdict, 0.0)

    # ---------------------------------------------------------------------------------------------------- a verdict

    def _act(self, verdict: Verdict, arrived: float) -> None:
        self.later.settle()
        step, run = verdict.step, verdict.run
        life = self.runs.life(run.id)
        if step.held:
            self._decided(step, run.id, verdict.directive)
        now = self._now_ns()
        self._know(life, run)
        found = [finding_row(run.id, finding, now, self.pipeline.policy.version) for finding in verdict.findings]
        if verdict.directive is not None:
            gated = step.dialect == _OURS or bool(life.instance_id)
            action = step.action or next((f.action for f in verdict.findings if f.ref == verdict.directive.ref), "")
            # a directive that survives has its reasons with it
            reasons = (run_row(life), *found)
            commit = self.delivery.issue(verdict.directive, action, reasons, gated=gated, arrived=arrived)
            if commit is not None:
                self.later.until_committed(commit, partial(self._follow, verdict, life, now))
                return
        else:
            for row in found:
                self._store.put(row)
        self._follow(verdict, life, now)

    def _follow(self, verdict: Verdict, life: Life, now: int) -> None:
        """Everything that nobody waits for."""
        self.later.tell()
        step, run = verdict.step, verdict.run
        moves = run_lifecycle.observed(life, step, verdict.findings, verdict.withdrawn, now)
        for finding in verdict.findings:
            self._found(life, finding, now)
        for finding in verdict.withdrawn:
            self._metrics.withdrawn.add(finding.rule)
            self._store.put(finding_row(run.id, finding, now, self.pipeline.policy.version, withdrawn=True))
        for outcome in verdict.outcomes:
            self._helped(life, outcome, now)
        if step.kind is not Kind.TICK:
            self._metrics.steps.add(step.kind)
            self._metrics.spans.add(step.dialect)
            if step.kind in _STORED:
                self._store.put(Row("steps", step))
            self.runs.touch(life)
        self.runs.moved(life, moves)
        self.runs.tell(life)
        run.state = life.state
        if life.ended and step.kind is not Kind.TICK:
            self._settle_later(life)
        for follower in self.followers:
            follower(verdict)

    def _know(self, life: Life, run: Run) -> None:
        """What spans say of the run, where its process has not said it."""
        life.agent = life.agent or run.agent
        life.service = life.service or run.service
        life.conversation_id = life.conversation_id or run.conversation_id

    def _found(self, life: Life, finding: Finding, now: int) -> None:
        self._metrics.findings.add(
            finding.rule, finding.failure_type, finding.severity, finding.mode, trace_id=finding.ref.trace_id
        )
        if finding.failure_type == "telemetry_gap":
            self._metrics.gaps.add()
        self._emitter.emit(emit.finding_span(life, finding, now))
        _log.info(
            "finding",
            extra=log.ids(*finding.ref, life.run_id, rule=finding.rule, failure_type=finding.failure_type),
        )

    def _helped(self, life: Life, outcome: Outcome, now: int) -> None:
        tracked = self.delivery.judge(outcome.directive_id, outcome.state, outcome.recovered_by)
        if tracked is not None:
            self._metrics.repairs.add(outcome.rule, outcome.level, outcome.state)
            self._emitter.emit(emit.outcome_span(life, tracked, now))

    # -------------------------------------------------------------------------------------------------------- holds

    def _decided(self, step: Step, run_id: str, directive: Directive | None) -> None:
        """A hold has its verdict. With a directive the answer is the directive's, once it is durable."""
        if step.ref in self._answered:
            return  # the span came twice: by two ways, or sent again
        self._answered[step.ref] = None
        if len(self._answered) > _ANSWERED:
            self._answered.popitem(last=False)
        if directive is not None and directive.answers_hold and directive.ref == step.ref:
            return
        if (session := self.sessions.of_run(run_id)) is not None:
            self._answer(session, step.ref)
        elif len(self._parked) < _PARKED:  # the span may be faster than the stream that registers its run
            self._parked.append(_Parked(run_id, step.ref, self._monotonic() + _PARK_S))
        else:
            self._metrics.fail_open.add("no_stream")

    def _answer(self, session: Session, ref: SpanRef) -> None:
        session.outgoing.offer(
            Outbound(
                codec.hold_answer(ref.trace_id, ref.span_id),
                "answer",
                sent=lambda: self._metrics.holds.add("none"),
                dropped=lambda _reason: self._metrics.fail_open.add("slow_stream"),
            )
        )

    def _unpark(self, session: Session, run_id: str) -> None:
        if any(parked.run_id == run_id for parked in self._parked):
            for parked in list(self._parked):
                if parked.run_id == run_id:
                    self._parked.remove(parked)
                    self._answer(session, parked.ref)

    # --------------------------------------------------------------------------------------------------- directives

    def _directive_ended(self, tracked: Tracked) -> None:
        self.later.catch_up()
        directive = tracked.directive
        life = self.runs.life(directive.run_id)
        if (ledger := self._ledger(directive.run_id)) is not None:
            ledger.acknowledged(directive.id, directive.state)
            if directive.state == "applied" and directive.kind == "resume":
                ledger.resumed()
        if directive.state == "applied":
            now = self._now_ns()
            moves = run_lifecycle.applied(life, directive.kind, directive.ref, tracked.action, now)
            self.runs.moved(life, moves)
        self._emitter.emit(emit.directive_span(life, tracked))
        _log.info(
            "directive",
            extra=log.ids(
                *directive.ref, directive.run_id, directive=directive.id, kind=directive.kind, state=directive.state
            ),
        )

    def _ledger(self, run_id: str) -> RepairLedger | None:
        run = self.pipeline.find(run_id)
        return run.repair if run is not None else None

    # ---------------------------------------------------------------------------------------- what streams say of runs

    def register(self, session: Session, told: AgentRun, *, fresh: bool) -> bool:
        """A stream says that an open run is its own.

        Args:
            session: the stream.
            told: the run as its process tells it.
            fresh: it starts now; else it was open before the stream was.

        Returns:
            False when the run is another live stream's.
        """
        self.later.catch_up()
        known = told.run_id in session.runs
        if (life := self._claim(session, told)) is None:
            return False
        if moves := run_lifecycle.started(life, self._now_ns(), None if fresh else told.state):
            self.later.until_told(partial(self.runs.moved, life, moves))
        run = self.pipeline.register(told)
        run.state = life.state
        if not known:
            self._unpark(session, told.run_id)
            self.delivery.resend(session, told.run_id)
        return True

    def _claim(self, session: Session, told: AgentRun) -> Life | None:
        if not self.sessions.claim(session, told):
            return None
        life = self.runs.life(told.run_id)
        life.agent = told.agent or life.agent
        life.service = session.service or life.service
        life.conversation_id = told.conversation_id or life.conversation_id
        life.instance_id = session.instance_id
        life.steps_told = max(life.steps_told, told.steps)
        life.started_ns = told.started_ns or life.started_ns
        life.joins(told.trace_id)
        self.runs.touch(life)
        return life

    def run_ended(self, session: Session, told: AgentRun, reason: str) -> bool:
        """A stream says that its run is over. False when the run is another live stream's."""
        self.later.catch_up()
        if (life := self._claim(session, told)) is None:
            return False
        self.runs.moved(life, run_lifecycle.ended(life, reason, self._now_ns()))
        self.delivery.end_run(told.run_id)
        self.sessions.release(session, told.run_id)
        self._settle_later(life)
        return True

    def run_unseen(self, run_id: str, reason: str) -> None:
        """A run is gone, and nobody saw how it ended."""
        self.later.catch_up()
        if (life := self.runs.find(run_id)) is not None:
            self.runs.moved(life, run_lifecycle.unseen(life, reason, self._now_ns()))

    # --------------------------------------------------------------------------------------------------------- time

    def _settle_later(self, life: Life) -> None:
        wait = self._settle_s if life.instance_id else self._foreign_settle_s
        self._settling[life.run_id] = self._monotonic() + wait

    def settle(self) -> None:
        """Judge the runs that have been quiet for long enough since they ended."""
        self.later.catch_up()
        now = self._monotonic()
        for run_id, due in list(self._settling.items()):
            if now < due:
                continue
            del self._settling[run_id]
            self._in_time(partial(self.pipeline.settle, run_id))
            self._settling.pop(run_id, None)  # what is found at the end does not put it off again
            if (life := self.runs.find(run_id)) is not None:
                self.runs.moved(life, run_lifecycle.judged(life, self._now_ns()))

    def sweep(self, gone: Callable[[str], bool]) -> None:
        """What has to be done now and then.

        Args:
            gone: whether a process, by its id, will not come back.
        """
        now = self._monotonic()
        while self._parked and self._parked[0].until <= now:
            self._parked.popleft()
            self._metrics.fail_open.add("no_stream")
        self.delivery.expire(gone)
        self.settle()
        self.write()

    def write(self) -> None:
        """Queue all rows of what has happened."""
        self.later.catch_up()
        self.runs.write()
