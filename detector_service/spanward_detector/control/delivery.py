"""Directives on their way: committed, then sent, sent again after a reconnect, acknowledged or expired.

Delivered at least once, executed at most once: the gate remembers what it executed. What is not acknowledged lies in
the store and survives the death of this process.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from spanward_control.v1 import control_pb2 as pb

from spanward_detector import log
from spanward_detector.control import codec
from spanward_detector.control.codec import Ack
from spanward_detector.control.outgoing import URGENT, Outbound
from spanward_detector.control.session import Session, Sessions
from spanward_detector.directives import FINAL
from spanward_detector.metrics import Metrics
from spanward_detector.model import Directive, DirectiveState
from spanward_detector.store import Row, Store
from spanward_detector.store.records import directive_from, directive_row

_log = logging.getLogger(__name__)

ANSWER_GRACE_S: Final = 5.0
"""After its expiry the agent still has this long to say what became of a directive that it was sent."""
_HOLD_NS: Final = 1_000_000_000
_REMEMBERED: Final = 4_096
_ORDER: Final = {"pending": 0, "sent": 1, "received": 2}


@dataclass(slots=True)
class Tracked:
    """A directive and what became of it so far.

    Attributes:
        deadline: monotonic seconds; 0 = none.
        arrived: ``perf_counter`` seconds at which the span that caused it came; 0 = unknown.
        committed: it is durable, and so may be sent.
        order: as it is sent, made while it was being committed.
        instance_id: of the process that was sent it last.
    """

    directive: Directive
    action: str = ""
    deadline: float = 0.0
    arrived: float = 0.0
    committed: bool = False
    order: pb.Directive | None = None
    instance_id: str = ""
    sent_ns: int = 0
    received_ns: int = 0
    final_ns: int = 0
    reason: str = ""
    before: str = ""
    after: str = ""
    apply_ms: float = 0.0
    recovered_by: str = ""

    @property
    def final(self) -> bool:
        return self.directive.state in FINAL

    def row(self) -> Row:
        """As it is stored."""
        return directive_row(
            self.directive, instance_id=self.instance_id, sent_ns=self.sent_ns, final_ns=self.final_ns,
            reason=self.reason, before=self.before, after=self.after, apply_ms=self.apply_ms,
            recovered_by=self.recovered_by,
        )  # fmt: skip


class Delivery:
    """Every directive that has no final state, and the last that have.

    Args:
        store: where they are committed.
        sessions: the live streams.
        metrics: what is counted.
        ended: told of each directive that reached a final state, or left it for a truer one.
        monotonic: clock of the deadlines.
        now_ns: wall clock.
    """

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        metrics: Metrics,
        ended: Callable[[Tracked], None],
        monotonic: Callable[[], float] = time.monotonic,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._metrics = metrics
        self._ended = ended
        self._monotonic = monotonic
        self._now_ns = now_ns
        self._open: dict[str, Tracked] = {}
        self._final: OrderedDict[str, Tracked] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Tracked]:
        return iter(list(self._open.values()))

    def get(self, directive_id: str) -> Tracked | None:
        """A directive that is open, or was until recently."""
        return self._open.get(directive_id) or self._final.get(directive_id)

    # ------------------------------------------------------------------------------------------------------ issuing

    def restore(self) -> int:
        """Take up the directives that an earlier process committed. Blocks; called once, before traffic."""
        now = self._now_ns()
        for record in self._store.unfinished_directives():
            directive = directive_from(record)
            left = directive.created_ns / 1e9 + directive.expires_in_ms / 1e3 - now / 1e9
            deadline = self._monotonic() + left if directive.expires_in_ms else 0.0
            tracked = Tracked(directive, deadline=deadline, committed=True, instance_id=str(record["instance_id"]))
            tracked.sent_ns = int(str(record["sent_ns"]))
            self._open[directive.id] = tracked
        return len(self._open)

    def issue(
        self, directive: Directive, action: str, reasons: Iterable[Row] = (), *, gated: bool, arrived: float = 0.0
    ) -> asyncio.Future[None] | None:
        """Commit a directive, then send it.

        Args:
            directive: as the policy made it.
            action: tool or model that it is about.
            reasons: rows that are written with it.
            gated: the run has a gate of ours, even if its stream is not there at the moment.
            arrived: ``perf_counter`` seconds of the span that caused it.

        Returns:
            The commit; None where there is nobody to obey.
        """
        directive = replace(directive, epoch=self._store.epoch, created_ns=directive.created_ns or self._now_ns())
        deadline = self._monotonic() + directive.expires_in_ms / 1e3 if directive.expires_in_ms else 0.0
        tracked = Tracked(directive, action, deadline, arrived)
        session = self._sessions.of_run(directive.run_id)
        self._metrics.directives.add(directive.kind, directive.level, "issued", trace_id=directive.ref.trace_id)
        if session is None and not gated:
            self._put_all(reasons)
            self._finish(tracked, "observe_only", "no_gate")
        elif session is not None and directive.kind not in session.accepts:
            self._metrics.fail_open.add("unsupported")
            self._put_all(reasons)
            self._finish(tracked, "rejected", "unsupported")
            self._answer_none(tracked)
        else:
            tracked.instance_id = session.instance_id if session is not None else ""
            self._open[directive.id] = tracked
            audit = Row("audit", (directive.created_ns, "policy", "issue", directive.run_id, directive.id, "{}"))
            commit = self._store.commit(tracked.row(), audit, *reasons)
            # now, for until the store's thread has woken up this one has nothing better to do
            tracked.order = codec.directive(directive, self._store.epoch, 0)
            if commit.done():
                self._committed(tracked, commit)
            else:
                commit.add_done_callback(lambda done: self._committed(tracked, done))
            return commit
        return None

    def _put_all(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._store.put(row)

    def _committed(self, tracked: Tracked, done: asyncio.Future[None]) -> None:
        if done.cancelled() or (error := done.exception()) is not None:
            reason = "cancelled" if done.cancelled() else str(error)
            _log.error("a directive was not sent, for it could not be stored", extra=_ids(tracked, reason=reason))
            self._metrics.fail_open.add("store")
            self._open.pop(tracked.directive.id, None)
            self._finish(tracked, "failed", "store")
            self._answer_none(tracked)
            return
        tracked.committed = True
        if (session := self._sessions.of_run(tracked.directive.run_id)) is not None:
            self._send(session, tracked, as_answer=tracked.directive.answers_hold)

    # ------------------------------------------------------------------------------------------------------ sending

    def resend(self, session: Session, run_id: str) -> None:
        """A stream has registered the run: send it whatever is committed and not acknowledged."""
        for tracked in list(self._open.values()):
            if tracked.directive.run_id == run_id and tracked.committed and tracked.directive.kind in session.accepts:
                self._send(session, tracked, as_answer=self._still_held(tracked))

    def _still_held(self, tracked: Tracked) -> bool:
        """A span can be faster than the stream that registers its run: then its hold waits for this very answer."""
        fresh = self._now_ns() - tracked.directive.created_ns < _HOLD_NS
        return tracked.directive.answers_hold and not tracked.sent_ns and fresh

    def _send(self, session: Session, tracked: Tracked, *, as_answer: bool) -> None:
        left = 0
        if tracked.deadline:
            left = int((tracked.deadline - self._monotonic()) * 1000)
            if left <= 0:
                return  # the next look at the clock ends it
        if (order := tracked.order) is None:
            order = codec.directive(tracked.directive, self._store.epoch, left)
        else:
            order.epoch, order.expires_in_ms, tracked.order = self._store.epoch, left, None
        ref = tracked.directive.ref
        tracked.instance_id = session.instance_id
        session.outgoing.offer(
            Outbound(
                codec.hold_answer(ref.trace_id, ref.span_id, order) if as_answer else codec.envelope(order),
                "directive",
                urgent=tracked.directive.kind in URGENT,
                sent=lambda: self._sent(tracked, as_answer),
                dropped=lambda reason: self._dropped(tracked, reason),
            )
        )

    def _sent(self, tracked: Tracked, as_answer: bool) -> None:
        if as_answer:
            self._metrics.holds.add("directive")
        if tracked.arrived:
            self._metrics.directive_latency.observe(
                time.perf_counter() - tracked.arrived, {"trace_id": tracked.directive.ref.trace_id}
            )
            tracked.arrived = 0.0  # a second sending says nothing of our speed
        tracked.sent_ns = self._now_ns()
        self._advance(tracked, "sent")

    def _dropped(self, tracked: Tracked, reason: str) -> None:
        if reason == "queue_full" and not tracked.final:
            self._metrics.fail_open.add("slow_stream")
            self._open.pop(tracked.directive.id, None)
            self._finish(tracked, "expired", reason)
        # a stream that ended keeps it open: it is sent again when the process comes back

    def _answer_none(self, tracked: Tracked) -> None:
        """The agent must not wait for a directive that will not come."""
        directive = tracked.directive
        if directive.answers_hold and (session := self._sessions.of_run(directive.run_id)) is not None:
            message = codec.hold_answer(directive.ref.trace_id, directive.ref.span_id)
            session.outgoing.offer(Outbound(message, "answer", sent=lambda: self._metrics.holds.add("none")))

    # ------------------------------------------------------------------------------------------------ what comes back

    def acknowledge(self, session: Session, ack: Ack) -> None:
        """An agent says what became of a directive. Only the process that it was sent to has a say."""
        tracked = self.get(ack.directive_id)
        if tracked is None or tracked.instance_id != session.instance_id:
            return
        at = self._now_ns()
        self._store.put(
            Row("acknowledgements", (ack.directive_id, tracked.directive.run_id, ack.state, ack.reason, at))
        )
        if ack.state == "received":
            tracked.received_ns = tracked.received_ns or at
            self._advance(tracked, "received")
            return
        if tracked.final and (tracked.directive.state == ack.state or tracked.directive.state != "expired"):
            return  # said before
        tracked.before, tracked.after, tracked.apply_ms = ack.before, ack.after, ack.apply_ms
        self._open.pop(ack.directive_id, None)
        self._finish(tracked, ack.state, ack.reason)

    def judge(self, directive_id: str, state: DirectiveState, recovered_by: str) -> Tracked | None:
        """An applied directive has helped, or it has not."""
        tracked = self.get(directive_id)
        if tracked is None or tracked.directive.state != "applied":
            return None
        tracked.recovered_by = recovered_by
        self._move(tracked, state)
        self._store.put(tracked.row())
        return tracked

    def expire(self, gone: Callable[[str], bool]) -> None:
        """End what is past its time, or whose process is gone for good.

        Args:
            gone: whether a process, by its id, will not come back.
        """
        now = self._monotonic()
        for tracked in list(self._open.values()):
            if not tracked.committed:
                continue
            session = self._sessions.of_run(tracked.directive.run_id)
            if tracked.deadline and now >= tracked.deadline:
                asked = session is not None and tracked.directive.state != "pending"
                if asked and now < tracked.deadline + ANSWER_GRACE_S:
                    continue
                reason = "no_answer" if asked else "undelivered"
            elif session is None and tracked.instance_id and gone(tracked.instance_id):
                reason = "process_gone"
            else:
                continue
            self._open.pop(tracked.directive.id, None)
            self._finish(tracked, "expired", reason)

    def end_run(self, run_id: str) -> None:
        """The run is over: what was not even sent has nobody to obey it."""
        for tracked in list(self._open.values()):
            if tracked.directive.run_id == run_id and tracked.committed and tracked.directive.state == "pending":
                self._open.pop(tracked.directive.id, None)
                self._finish(tracked, "expired", "run_ended")

    # -------------------------------------------------------------------------------------------------------- states

    def _advance(self, tracked: Tracked, state: DirectiveState) -> None:
        """On the way to a final state, never back."""
        if tracked.final or _ORDER[state] <= _ORDER.get(tracked.directive.state, 0):
            return
        self._move(tracked, state)
        self._store.put(tracked.row())

    def _finish(self, tracked: Tracked, state: DirectiveState, reason: str) -> None:
        tracked.reason = reason
        tracked.final_ns = self._now_ns()
        self._move(tracked, state)
        self._final[tracked.directive.id] = tracked
        if len(self._final) > _REMEMBERED:
            self._final.popitem(last=False)
        if state == "applied" and tracked.apply_ms:
            self._metrics.loop_latency.observe(tracked.apply_ms / 1e3, {"trace_id": tracked.directive.ref.trace_id})
        self._store.put(tracked.row())
        self._ended(tracked)

    def _move(self, tracked: Tracked, state: DirectiveState) -> None:
        tracked.directive = tracked.directive.with_state(state)
        self._metrics.directives.add(tracked.directive.kind, tracked.directive.level, state)


def _ids(tracked: Tracked, **more: object) -> dict[str, object]:
    directive = tracked.directive
    return dict(
        log.ids(directive.ref.trace_id, directive.ref.span_id, directive.run_id, directive=directive.id, **more)
    )
