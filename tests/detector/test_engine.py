"""What follows from verdicts, without a network: holds, lives of runs, and faults that stay where they are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from spanward_detector import ingest
from spanward_detector.control.codec import AgentRun
from spanward_detector.control.outgoing import Outgoing
from spanward_detector.control.session import Session
from spanward_detector.directives import Outcome
from spanward_detector.emit import Emitter
from spanward_detector.engine import Engine
from spanward_detector.ingest import RawSpan
from spanward_detector.metrics import Metrics
from spanward_detector.model import Tick
from spanward_detector.pipeline import Verdict
from spanward_detector.runbook import RunBook
from spanward_detector.states import State

from tests.detector.service_fakes import (
    RUN,
    FakeClock,
    FakeJudge,
    FakeStore,
    make_directive,
    make_finding,
    make_span,
    make_step,
    new_ref,
    span_request,
    verdict,
)


class World:
    """An engine with one agent, on a clock of its own."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = FakeStore()
        self.metrics = Metrics()
        self.judge = FakeJudge()
        self.engine = Engine(
            self.judge, self.store, self.metrics, Emitter(""), monotonic=self.clock, now_ns=self.clock.now_ns
        )
        self.session = Session("one", "svc", frozenset({"feedback", "pause"}), Outgoing(64), self.clock())
        self.engine.sessions.add(self.session)

    def told(self, run: str = RUN, steps: int = 0, **limits: int) -> AgentRun:
        values = {"max_steps": 0, "max_tokens": 0} | limits
        return AgentRun(run, "bot", "", "", None, 0, steps, values["max_steps"], values["max_tokens"], 0.0, {})

    def spans(self, *spans: object) -> None:
        self.engine.spans(ingest.decode_traces(span_request(spans)), 0.0)

    def kinds(self) -> list[str]:
        return [item.message.WhichOneof("message") for item in self.session.outgoing._items]

    def state(self, run: str = RUN) -> State:
        life = self.engine.runs.find(run)
        assert life is not None
        return life.state


@pytest.fixture
async def world() -> World:
    return World()


async def test_limits_that_a_run_states_reach_the_rules(world: World) -> None:
    """From the stream: the run's own span tells them only when all is over."""
    world.engine.register(world.session, world.told(max_steps=15, max_tokens=900), fresh=True)

    assert world.judge.runs[RUN].limits == (15, 900)


async def test_a_parked_answer_is_not_kept_for_ever(world: World) -> None:
    """A run that nobody registers within a second is nobody's."""
    world.spans(make_span(held=True))
    world.clock.go(1.1)
    world.engine.sweep(lambda _: False)
    world.engine.register(world.session, world.told(), fresh=True)

    assert world.metrics.fail_open.total("no_stream") == 1
    assert "hold_answer" not in world.kinds()


async def test_one_span_that_breaks_a_rule_does_not_cost_the_others(world: World) -> None:
    """The batch is judged again one by one; the fault is counted."""
    bad = new_ref()
    inner = world.judge.spans

    def spans(raw: Iterable[RawSpan]) -> list[Verdict]:
        items = list(raw)
        if any(span.span_id == bad.span_id for span in items):
            raise ZeroDivisionError
        return inner(items)

    world.judge.spans = spans
    world.engine.register(world.session, world.told(), fresh=True)
    world.spans(make_span(held=True), make_span(bad), make_span(held=True))

    assert world.kinds().count("hold_answer") == 2
    assert world.metrics.rejected.total("internal") == 1


async def test_a_rule_that_breaks_on_time_does_not_stop_the_clock(world: World) -> None:
    """Neither a heartbeat's stream nor the look at runs that ended."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    world.engine.register(world.session, world.told(), fresh=True)
    world.judge.tick = world.judge.settle = broken
    world.engine.tick(RUN, Tick(1))
    world.spans(make_span())
    world.engine.run_ended(world.session, world.told(steps=1), "completed")
    world.clock.go(1)
    world.engine.settle()

    assert world.metrics.rejected.total("internal") == 2
    assert world.state() is State.DONE


async def test_a_directive_is_stored_with_its_reasons(world: World) -> None:
    """In one transaction: run, finding and order, so that none survives without the others."""
    world.engine.register(world.session, world.told(), fresh=True)
    world.spans(make_span(held=True, fails="loop", order="feedback"))

    assert [row.table for row in world.store.committed] == ["directives", "audit", "runs", "findings"]


async def test_what_follows_waits_until_the_directive_is_durable(world: World) -> None:
    """The step, its counts and the move of its run are there before the next span is judged, and all in order."""
    world.engine.register(world.session, world.told(), fresh=True)
    world.spans(make_span(held=True, fails="loop", order="feedback"))
    assert world.metrics.findings.values == {}

    world.spans(make_span())

    assert world.metrics.steps.total("tool") == 2
    tables = [row.table for row in world.store.rows]
    assert tables.index("transitions") < tables.index("steps")
    assert tables.count("steps") == 2


async def test_whether_a_repair_helped_is_counted(world: World) -> None:
    """Once it was applied, by rule, level and outcome."""
    world.engine.register(world.session, world.told(), fresh=True)
    step = make_step()
    directive = make_directive(step, "feedback", held=False)
    world.engine._act(verdict(step, world.judge.runs[RUN], (make_finding(step),), directive), 0.0)
    await asyncio.sleep(0)
    tracked = world.engine.delivery.get(directive.id)
    assert tracked is not None
    world.engine.delivery._finish(tracked, "applied", "")
    outcome = Outcome(directive.id, "verified", "change", "tool_error", "tool_error", "feedback", "L2", 1, 0)
    good = verdict(make_step(), world.judge.runs[RUN])._replace(outcomes=(outcome,))
    world.engine._act(good, 0.0)

    assert world.metrics.repairs.total("tool_error", "L2", "verified") == 1
    assert tracked.directive.state == "verified"
    assert tracked.recovered_by == "change"


async def test_the_end_is_judged_once_it_is_quiet(world: World) -> None:
    """A late span puts the judgement off."""
    world.engine.register(world.session, world.told(), fresh=True)
    world.spans(make_span())
    world.engine.run_ended(world.session, world.told(steps=1), "completed")
    world.clock.go(0.4)
    world.engine.settle()
    world.spans(make_span())
    world.clock.go(0.4)
    world.engine.settle()
    assert world.state() is State.WAITING_VALIDATION

    world.clock.go(0.2)
    world.engine.settle()
    assert world.state() is State.DONE
    assert world.metrics.runs_ended.total("DONE") == 1
    assert world.judge.settled == [RUN]


async def test_paused_runs_are_mirrored_to_the_rules(world: World) -> None:
    """The run that detectors see has the state that its agent has."""
    world.engine.register(world.session, world.told(), fresh=True)
    step = make_step()
    directive = make_directive(step, "pause", held=False)
    world.engine._act(verdict(step, world.judge.runs[RUN], (), directive), 0.0)
    await asyncio.sleep(0)
    tracked = world.engine.delivery.get(directive.id)
    assert tracked is not None
    world.engine.delivery._finish(tracked, "applied", "")
    world.spans(make_span())

    assert world.judge.runs[RUN].state == "PAUSED"


async def test_memory_of_runs_is_bounded(world: World) -> None:
    """Runs that are over go first; what is not yet written of them is."""
    book = RunBook(world.store, world.engine.sessions, world.metrics, Emitter(""), limit=10)
    for n in range(10):
        book.life(f"r{n}").state = State.DONE if n == 5 else State.RUNNING
        book.touch(book.life(f"r{n}"))
    book.life("new")
    assert book.find("r5") is None
    assert [row.values[0] for row in world.store.rows] == ["r5"]
    book.life("newer")

    assert book.find("r0") is None
    assert len(book) == 10
