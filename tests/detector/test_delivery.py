"""Directives on their way: durable before sent, delivered at least once, never said to be what they are not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from spanward_detector.control.codec import Ack, AgentRun
from spanward_detector.control.delivery import ANSWER_GRACE_S, Delivery, Tracked
from spanward_detector.control.outgoing import Outgoing
from spanward_detector.control.session import Session, Sessions
from spanward_detector.metrics import Metrics
from spanward_detector.model import Directive

from tests.detector.service_fakes import RUN, FakeClock, FakeStore, make_directive, make_step

ALL = frozenset({"retry", "feedback", "fallback", "terminate", "pause", "interrupt_call"})


class World:
    """A delivery with one agent."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = FakeStore()
        self.sessions = Sessions()
        self.metrics = Metrics()
        self.ended: list[tuple[str, str]] = []
        self.delivery = Delivery(
            self.store, self.sessions, self.metrics, self._ended, monotonic=self.clock, now_ns=self.clock.now_ns
        )
        self.session = self.connect("one")

    def _ended(self, tracked: Tracked) -> None:
        self.ended.append((tracked.directive.state, tracked.reason))

    def connect(self, instance: str, accepts: frozenset[str] = ALL, run: str = RUN) -> Session:
        session = Session(instance, "svc", accepts, Outgoing(64), self.clock())
        assert self.sessions.add(session)
        self.sessions.claim(session, AgentRun(run, "bot", "", "", None, 0, 0, 0, 0, 0.0, {}))
        return session

    def disconnect(self) -> None:
        self.sessions.remove(self.session)
        self.session.outgoing.close("disconnected")

    async def issue(
        self, kind: str = "feedback", *, held: bool = False, gated: bool = True, **fields: Any
    ) -> Directive:
        fields.setdefault("created_ns", self.clock.now_ns())
        directive = make_directive(make_step(), kind, held=held, **fields)
        self.delivery.issue(directive, "search", gated=gated)
        await asyncio.sleep(0)
        return directive

    async def sent(self, session: Session | None = None) -> list[Any]:
        """What the writer of a stream would have written by now."""
        messages = []
        outgoing = (session or self.session).outgoing
        while len(outgoing):
            item = await outgoing.get()
            item.sent()
            messages.append(item.message)
        return messages

    def state(self, directive: Directive) -> str:
        tracked = self.delivery.get(directive.id)
        return tracked.directive.state if tracked is not None else ""

    def ack(self, directive: Directive, state: Any, reason: str = "", session: Session | None = None) -> None:
        answer = Ack(directive.id, state, reason, "before", "after", 1.5)
        self.delivery.acknowledge(session or self.session, answer)


@pytest.fixture
def world() -> World:
    return World()


async def test_a_directive_is_durable_before_it_is_sent(world: World) -> None:
    """Nothing is queued for the agent until the commit is through."""
    directive = make_directive(make_step(), "feedback", held=False)
    world.store.slow = True
    world.delivery.issue(directive, "search", gated=True)
    await asyncio.sleep(0)
    assert len(world.session.outgoing) == 0

    world.store.through()
    await asyncio.sleep(0)
    assert len(world.session.outgoing) == 1
    assert [row.table for row in world.store.committed] == ["directives", "audit"]


async def test_it_carries_the_epoch_of_this_start_and_the_time_that_is_left(world: World) -> None:
    """Expiry is a duration, for clocks differ."""
    await world.issue(expires_in_ms=10_000)
    world.disconnect()
    world.clock.go(4)
    session = world.connect("one")
    world.store.epoch = 9
    world.delivery.resend(session, RUN)

    (message,) = await world.sent(session)

    assert message.directive.epoch == 9
    assert message.directive.expires_in_ms == 6_000


async def test_the_course_of_a_directive_is_told(world: World) -> None:
    """Sent, received, applied; what was changed is kept."""
    directive = await world.issue()
    await world.sent()
    assert world.state(directive) == "sent"
    world.ack(directive, "received")
    assert world.state(directive) == "received"
    world.ack(directive, "applied")

    tracked = world.delivery.get(directive.id)
    assert tracked is not None
    assert (tracked.directive.state, tracked.before, tracked.after) == ("applied", "before", "after")
    assert world.ended == [("applied", "")]
    assert len(world.delivery) == 0


async def test_states_never_go_back(world: World) -> None:
    """A late word of an earlier state changes nothing; a final one is told once."""
    directive = await world.issue()
    await world.sent()
    for state in ("applied", "received", "applied", "failed"):
        world.ack(directive, state)

    assert world.state(directive) == "applied"
    assert world.ended == [("applied", "")]


async def test_only_the_process_that_was_asked_has_a_say(world: World) -> None:
    """Another agent cannot acknowledge somebody else's directive."""
    directive = await world.issue()
    await world.sent()
    other = world.connect("other", run="run-2")
    world.ack(directive, "applied", session=other)

    assert world.state(directive) == "sent"


async def test_what_is_not_acknowledged_is_sent_again_after_a_reconnect(world: World) -> None:
    """Whether it was sent before or not: the gate knows what it has executed."""
    waiting = await world.issue()
    received = await world.issue("retry")
    done = await world.issue("fallback")
    await world.sent()
    world.ack(received, "received")
    world.ack(done, "applied")
    world.disconnect()
    session = world.connect("one")
    world.delivery.resend(session, RUN)

    assert [m.directive.id for m in await world.sent(session)] == [waiting.id, received.id]


async def test_a_directive_without_a_commit_is_not_sent_and_the_hold_is_answered(world: World) -> None:
    """The agent goes on, counted as a fail-open."""
    world.store.fail = True
    directive = await world.issue(held=True)
    await asyncio.sleep(0)

    (message,) = await world.sent()
    assert message.WhichOneof("message") == "hold_answer"
    assert not message.hold_answer.HasField("directive")
    assert world.state(directive) == "failed"
    assert world.metrics.fail_open.total("store") == 1


async def test_what_the_agent_cannot_do_is_not_sent(world: World) -> None:
    """It is rejected here with the reason, and the hold is answered; never another kind in its place."""
    directive = await world.issue("rollback", held=True)

    (message,) = await world.sent()
    assert not message.hold_answer.HasField("directive")
    assert world.state(directive) == "rejected"
    assert world.ended == [("rejected", "unsupported")]


async def test_without_a_gate_directives_are_only_recorded(world: World) -> None:
    """An agent with somebody else's instrumentation cannot be told anything."""
    directive = await world.issue(gated=False, run_id="foreign")

    assert world.state(directive) == "observe_only"
    assert len(world.session.outgoing) == 0


async def test_with_a_gate_that_is_away_they_wait(world: World) -> None:
    """The stream comes back in time, and gets it."""
    world.disconnect()
    directive = await world.issue()
    assert world.state(directive) == "pending"
    session = world.connect("one")
    world.delivery.resend(session, RUN)

    assert [m.directive.id for m in await world.sent(session)] == [directive.id]


async def test_undelivered_directives_expire(world: World) -> None:
    """At their own time, and are not sent after it."""
    world.disconnect()
    directive = await world.issue(expires_in_ms=1_000)
    world.clock.go(1.1)
    session = world.connect("one")
    world.delivery.resend(session, RUN)
    world.delivery.expire(lambda _: False)

    assert await world.sent(session) == []
    assert world.ended == [("expired", "undelivered")]
    assert world.state(directive) == "expired"


async def test_a_delivered_directive_gets_a_moment_to_be_acknowledged(world: World) -> None:
    """The agent may have applied it at the last moment."""
    directive = await world.issue(expires_in_ms=1_000)
    await world.sent()
    world.clock.go(1.1)
    world.delivery.expire(lambda _: False)
    assert world.state(directive) == "sent"

    world.clock.go(ANSWER_GRACE_S)
    world.delivery.expire(lambda _: False)
    assert world.ended == [("expired", "no_answer")]


async def test_a_late_truth_replaces_an_assumed_end(world: World) -> None:
    """An agent that says that it did apply it is believed."""
    directive = await world.issue(expires_in_ms=1_000)
    await world.sent()
    world.clock.go(60)
    world.delivery.expire(lambda _: False)
    world.ack(directive, "applied")

    assert world.ended == [("expired", "no_answer"), ("applied", "")]


async def test_directives_of_a_process_that_is_gone_expire(world: World) -> None:
    """The new process is a new run: they are never sent to it."""
    directive = await world.issue(expires_in_ms=0)
    await world.sent()
    world.disconnect()
    new = world.connect("two", run="run-2")
    world.delivery.resend(new, "run-2")
    world.delivery.expire(lambda instance: instance == "one")

    assert await world.sent(new) == []
    assert world.state(directive) == "expired"
    assert world.ended == [("expired", "process_gone")]


async def test_a_slow_agent_loses_ordinary_directives_not_the_order_to_stop(world: World) -> None:
    """Those that do not fit end EXPIRED, executed not once."""
    first = await world.issue("terminate")
    others = [await world.issue() for _ in range(100)]

    assert world.state(first) == "pending"
    lost = [d for d in others if world.state(d) == "expired"]
    assert len(lost) == 101 - 64
    assert world.metrics.fail_open.total("slow_stream") == len(lost)


async def test_what_an_earlier_process_committed_is_taken_up(world: World) -> None:
    """With the time that is left of it; what has passed its time expires."""
    live, old = (make_directive(make_step(), "pause", held=False, created_ns=world.clock.now_ns()) for _ in range(2))
    records = []
    for directive, age_s in ((live, 1), (old, 31)):
        records.append(
            {
                "id": directive.id, "run_id": RUN, "kind": "pause", "level": "", "trace_id": directive.ref.trace_id,
                "span_id": directive.ref.span_id, "failure_type": "loop", "rule": "loop", "payload": {},
                "expires_in_ms": 30_000, "target_digest": "", "epoch": 3, "answers_hold": 0, "state": "sent",
                "created_ns": world.clock.now_ns() - age_s * 10**9, "instance_id": "one", "sent_ns": 1,
            }
        )  # fmt: skip
    world.store.unfinished = records
    world.delivery.restore()
    world.delivery.expire(lambda _: False)
    world.delivery.resend(world.session, RUN)

    assert [m.directive.id for m in await world.sent()] == [live.id]
    assert world.state(old) == "sent"  # it may have been applied: its agent has a moment to say so
    world.clock.go(ANSWER_GRACE_S)
    world.delivery.expire(lambda _: False)
    assert world.state(old) == "expired"


async def test_a_hold_is_answered_by_its_directive(world: World) -> None:
    """As long as it can still be waiting; later the directive comes by itself."""
    await world.issue(held=True)
    (answer,) = await world.sent()
    assert answer.hold_answer.HasField("directive")

    world.disconnect()
    session = world.connect("one")
    world.delivery.resend(session, RUN)
    (message,) = await world.sent(session)
    assert message.WhichOneof("message") == "directive"


async def test_a_span_that_is_faster_than_its_run_gets_its_answer(world: World) -> None:
    """The stream registers the run a moment later, while the hold still waits."""
    world.disconnect()
    await world.issue(held=True)
    session = world.connect("one")
    world.delivery.resend(session, RUN)
    (message,) = await world.sent(session)

    assert message.hold_answer.HasField("directive")


async def test_whether_it_helped_follows_whether_it_was_applied(world: World) -> None:
    """Only an applied directive can be verified."""
    directive = await world.issue()
    assert world.delivery.judge(directive.id, "verified", "change") is None
    world.ack(directive, "applied")
    assert world.delivery.judge(directive.id, "verified", "change") is not None

    assert world.state(directive) == "verified"
