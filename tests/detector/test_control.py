"""The control stream: who may come in, what is made of what is said, how it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import grpc
import pytest
from spanward_control.v1 import control_pb2 as pb
from spanward_detector.config import ServerConfig
from spanward_detector.control import codec
from spanward_detector.model import DirectiveKind, SpanRef
from spanward_detector.policy import Policy, ToolPolicy
from spanward_detector.policy.model import Limits
from spanward_detector.service import Detector
from spanward_detector.states import State
from uuid_utils import uuid7

from tests.detector.service_fakes import (
    RUN,
    Agent,
    FakeJudge,
    eventually,
    make_directive,
    make_span,
    make_step,
    span_request,
)

# ------------------------------------------------------------------------------------------------------------ messages


@pytest.mark.parametrize(
    ("kind", "payload", "field", "expected"),
    [
        ("retry", {"delay_ms": 500, "attempt": 2}, "retry", pb.Retry(delay_ms=500, attempt=2)),
        ("repair_arguments", {"repairs": ("fences",)}, "repair_arguments", pb.RepairArguments(repairs=["fences"])),
        (
            "feedback",
            {"template": "loop", "slots": {"times": 3}},
            "feedback",
            pb.Feedback(template="loop", slots={"times": "3"}),
        ),
        ("fallback", {"strategy": "degraded", "tool": "t"}, "fallback", pb.Fallback(strategy=2, tool="t")),
        ("fallback", {"strategy": "no_such"}, "fallback", pb.Fallback()),
        (
            "terminate",
            {"reason": "loop", "user_message": "m"},
            "terminate",
            pb.Terminate(reason="loop", user_message="m"),
        ),
        ("pause", {"lease_ms": 9, "reason": "loop"}, "pause", pb.Pause(lease_ms=9, reason="loop")),
        ("pause", {}, "pause", pb.Pause()),
        ("handover", {"reason": "loop"}, "pause", pb.Pause(reason="loop")),
        ("rollback", {"checkpoint": "c"}, "rollback", pb.Rollback(checkpoint="c")),
        ("interrupt_call", {"span_id": "cd" * 8}, "interrupt_call", pb.InterruptCall(span_id=b"\xcd" * 8)),
        ("interrupt_call", {"span_id": "no hex"}, "interrupt_call", pb.InterruptCall()),
        ("approve", {"action_digest": "sha256:1"}, "approval", pb.Approval(action_digest="sha256:1")),
        ("ask", {"question": "q", "slots": {"a": 1}}, "ask", pb.Ask(question="q", slots={"a": "1"})),
        ("resume", {}, None, None),
    ],
)
def test_payloads_are_what_the_protocol_says(
    kind: DirectiveKind, payload: dict[str, object], field: str | None, expected: object
) -> None:
    """Each kind has its own message, even an empty one; ``resume`` needs none."""
    order = make_directive(make_step(), kind, held=True, payload=payload)
    message = codec.directive(order, 4, 100)

    assert message.WhichOneof("payload") == field
    if field is not None:
        assert getattr(message, field) == expected
    assert message.kind == pb.DirectiveKind.Value(f"DIRECTIVE_KIND_{kind.upper()}")
    assert (message.epoch, message.expires_in_ms) == (4, 100)


def test_directives_about_no_span_have_empty_ids() -> None:
    """Time has no span."""
    message = codec.directive(make_directive(make_step(ref=SpanRef("", "")), "pause", held=False), 1, 0)

    assert (message.trace_id, message.span_id) == (b"", b"")


def test_the_gate_gets_the_part_of_the_policy_that_it_enforces() -> None:
    """Limits, tools, and the tools that are refused while we are away."""
    tools = {"pay": ToolPolicy(side_effect="high_risk", timeout=5.0, fail_closed=True), "look": ToolPolicy()}
    message = codec.policy(Policy(version="v", tools=tools, limits=Limits(max_steps=15)))

    assert message.hard_limits.max_steps == 15
    assert message.tools["pay"] == pb.ToolSpec(side_effect="high_risk", timeout_s=5.0)
    assert list(message.fail_closed_tools) == ["pay"]


def test_transitions_name_both_states() -> None:
    """``from`` is a keyword, and must not be forgotten for that."""
    message = codec.transition(RUN, State.RUNNING, State.PAUSED, "pause").transition

    assert (getattr(message, "from"), message.to) == (pb.RUN_PHASE_RUNNING, pb.RUN_PHASE_PAUSED)


def test_what_agents_say_is_bounded() -> None:
    """Ids, texts, stacks and numbers of calls, however long they come."""
    calls = [pb.CallInFlight(run_id=RUN, span_id=b"12345678", stack=["f" * 1000] * 500) for _ in range(2_000)]
    taken = codec.in_flight([*calls, pb.CallInFlight(run_id=RUN, span_id=b"short")])[RUN]

    assert len(taken) == codec.MAX_CALLS
    assert len(taken[0].stack) == codec.MAX_STACK_LINES
    assert len(taken[0].stack[0]) == codec.MAX_LINE
    assert codec.agent_run(pb.RunState(run_id="x" * 1000)) is None
    assert codec.agent_run(pb.RunState(run_id="x", phase=99)).state is None
    assert codec.ack(pb.DirectiveStatus(directive_id="d", state=99)) is None
    assert codec.accepted_kinds([1, 4, 999]) == {"retry", "fallback"}


# -------------------------------------------------------------------------------------------------------------- streams


async def test_the_same_process_twice_is_refused(detector: Detector, address: str) -> None:
    """The second stream of an instance id is somebody else, or too early; the first one lives on."""
    async with Agent(address) as first:
        await first.next("welcome")
        async with Agent(address, first.instance) as second:
            refused = await second.next("refused")
            assert await second.code() is grpc.StatusCode.OK
        await first.start_run()
        await first.next("transition")

    assert refused.reason == "duplicate_instance"
    assert refused.retry_after_ms > 0
    assert detector.metrics.refused.total("duplicate_instance") == 1


async def test_a_stream_begins_with_hello(detector: Detector, address: str) -> None:
    """Anything else is refused, and so is an id that is none."""
    for message in (
        {"heartbeat": pb.Heartbeat()},
        {"hello": pb.Hello()},
        {"hello": pb.Hello(instance_id="x" * 1000)},
    ):
        agent = Agent(address)
        await agent.open(hello=False)
        await agent.say(**message)

        assert (await agent.next("refused")).reason == "bad_hello"
        await agent.close()


async def test_garbage_ends_only_its_own_stream(detector: Detector, address: str) -> None:
    """With INVALID_ARGUMENT, or RESOURCE_EXHAUSTED when it is too large."""
    async with Agent(address) as good:
        await good.next("welcome")
        for first in (False, True):
            for data, code in (
                (b"\xff" * 50, grpc.StatusCode.INVALID_ARGUMENT),
                (bytes(2 * 2**20), grpc.StatusCode.RESOURCE_EXHAUSTED),
            ):
                agent = Agent(address)
                await agent.open(hello=not first)
                await agent.raw(data)
                assert await agent.code() is code
                await agent.close()
        await good.start_run()
        await good.next("transition")


async def test_spans_on_a_stream_are_judged_like_any_others(detector: Detector, address: str, judge: FakeJudge) -> None:
    """With what is said of their run before; the answer says how far the agent's messages have been dealt with."""
    async with Agent(address) as agent:
        assert (await agent.next("welcome")).takes_spans
        span = make_span(run="new", held=True, order="feedback")
        update = pb.RunUpdate(run=pb.RunState(run_id="new", agent="bot"), started=True)
        await agent.say(spans=pb.Spans(request=span_request([span]), runs=[update]))
        answer = await agent.next("hold_answer")
        assert agent.got[-1].taken == agent._seq
        # The same span by a call, as after a stream that broke: seen twice, ordered once.
        await agent.export(span_request([span]))

    assert answer.span_id == span.span_id
    assert answer.directive.run_id == "new"
    assert judge.seen == [span.span_id.hex()] * 2
    assert sum(message.HasField("hold_answer") for message in agent.got) == 1


async def test_spans_that_cannot_be_read_cost_no_stream(detector: Detector, address: str) -> None:
    """Damaged ones and too many at once are refused and counted, as they are in calls."""
    async with Agent(address) as agent:
        await agent.say(spans=pb.Spans(request=b"\xff" * 50))
        await agent.say(spans=pb.Spans(request=bytes(65 * 1024)))
        await agent.start_run()
        await agent.next("transition")

    assert detector.metrics.rejected.total("protobuf") == 1
    assert detector.metrics.rejected.total("too_large") == 1


async def test_what_is_not_known_is_ignored(detector: Detector, address: str) -> None:
    """Messages and enum values of later releases, and statuses of directives that nobody issued."""
    async with Agent(address, accepts=[1, 3, 77], capabilities=[99]) as agent:
        await agent.raw(b"\x08\x02\xfa\x07\x03abc")  # field 127
        agent._seq += 1
        await agent.say(scene=pb.Scene(request_id="nobody asked"))
        await agent.status("no-such-directive", "APPLIED")
        await agent.say(run_update=pb.RunUpdate(run=pb.RunState(run_id=""), started=True))
        await agent.start_run()
        await agent.next("transition")

    assert detector.metrics.rejected.total("control_run_id") == 1


async def test_a_gap_asks_for_everything_again(detector: Detector, address: str, judge: FakeJudge) -> None:
    """A run that ended in a message that was lost ended unseen; directives' ends are taken from the full state."""
    async with Agent(address) as agent:
        await agent.start_run("lost")
        await agent.start_run("kept")
        await agent.export(span_request([make_span(run="kept", held=True, order="feedback")]))
        directive = (await agent.next("hold_answer")).directive
        await agent.say(seq=9, heartbeat=pb.Heartbeat())
        await agent.next("request_full_state")
        await agent.say(
            full_state=pb.FullState(
                runs=[pb.RunState(run_id="kept")],
                directives=[pb.DirectiveStatus(directive_id=directive.id, state=2)],
            )
        )
        while (move := await agent.next("transition")).run_id != "lost" or move.to != pb.RUN_PHASE_WAITING_VALIDATION:
            pass

    assert detector.metrics.directives.total("feedback", "L2", "applied") == 1


async def test_an_epoch_that_was_seen_is_not_fallen_below(detector: Detector, address: str) -> None:
    """An agent that knows a higher one than our store does not get directives that it must reject."""
    async with Agent(address, last_epoch=500) as agent:
        assert (await agent.next("welcome")).epoch == 500


async def test_the_policy_is_not_sent_to_who_has_it(detector: Detector, address: str) -> None:
    """Its hash says so."""
    async with Agent(address, policy_version="sha256:policy") as agent:
        assert not (await agent.next("welcome")).HasField("policy")


async def test_heartbeats_let_time_pass(detector: Detector, address: str, judge: FakeJudge) -> None:
    """Calls in flight reach the rules; what they order goes to the agent as a directive of its own."""
    judge.on_tick = "interrupt_call"
    call = pb.CallInFlight(
        run_id=RUN, span_id=b"12345678", kind="tool", action="slow", age_ms=9_000, interruptible=True
    )
    foreign = pb.CallInFlight(run_id="foreign", span_id=b"12345678", age_ms=1)
    progress = [pb.RunProgress(run_id=RUN, idle_ms=70, stack=["a.py:1 f"]), pb.RunProgress(run_id="foreign")]
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.say(heartbeat=pb.Heartbeat(in_flight=[call, foreign], runs=progress))
        directive = await agent.next("directive")
        age = detector.metrics.registry.get_sample_value(
            "spanward_inflight_call_age_seconds", {"agent": "bot", "action": "slow"}
        )

    run_id, tick = judge.ticks[0]
    assert directive.kind == pb.DIRECTIVE_KIND_INTERRUPT_CALL
    assert (run_id, tick.idle_ms, tick.heartbeat_age_ms, tick.stack) == (RUN, 70, 0, ("a.py:1 f",))
    assert [(c.action, c.age_ms) for c in tick.in_flight] == [("slow", 9_000)]
    assert {run for run, _ in judge.ticks} == {RUN}
    assert age >= 9


async def test_the_gates_own_counters_are_added_up(detector: Detector, address: str) -> None:
    """They grow per process: what is new since the last heartbeat is counted, once."""
    async with Agent(address) as agent:
        for timeouts, dropped in ((2, 0), (5, 3), (5, 3)):
            counters = pb.GateCounters(fail_open_timeout=timeouts, spans_dropped=dropped)
            await agent.say(heartbeat=pb.Heartbeat(counters=counters))
        await eventually(lambda: detector.metrics.agent_spans_dropped.total() == 3)

        assert detector.metrics.fail_open.total("timeout") == 5


async def test_a_silent_stream_ticks_on(detector: Detector, address: str, judge: FakeJudge) -> None:
    """Heartbeats that do not come are seen by our own clock, with the calls that were in flight."""
    call = pb.CallInFlight(run_id=RUN, span_id=b"12345678", action="slow", age_ms=100)
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.say(heartbeat=pb.Heartbeat(in_flight=[call], runs=[pb.RunProgress(run_id=RUN)]))
        await eventually(lambda: judge.ticks and (judge.ticks[-1][1].heartbeat_age_ms or 0) > 600)

    tick = judge.ticks[-1][1]
    assert tick.in_flight[0].age_ms >= 700
    assert tick.idle_ms is None


async def test_a_run_whose_process_vanished_ticks_on_and_is_given_up(
    detector: Detector, address: str, judge: FakeJudge
) -> None:
    """Nobody saw its end: it waits for validation, and the next process may still be told apart."""
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.next("transition")
    await eventually(
        lambda: judge.runs[RUN].state and detector._parts.engine.runs.find(RUN).state == "WAITING_VALIDATION"
    )

    assert any((tick.heartbeat_age_ms or 0) > 100 for _, tick in judge.ticks)


async def test_a_run_that_is_not_named_any_more_ended_unseen(detector: Detector, address: str) -> None:
    """The process came back without it."""
    agent = Agent(address)
    await agent.open()
    await agent.start_run("gone")
    await agent.start_run("here")
    while (await agent.next("transition")).run_id != "here":
        pass
    await agent.cut()
    await eventually(lambda: len(detector._parts.engine.sessions) == 0)
    agent._hello = {"runs": [pb.RunState(run_id="here", phase=pb.RUN_PHASE_RUNNING)]}
    await agent.open()
    await agent.next("welcome")

    runs = detector._parts.engine.runs
    await eventually(lambda: runs.find("gone").state == "WAITING_VALIDATION")
    assert runs.find("here").state == "RUNNING"
    await agent.close()


async def test_streams_end_at_their_age_and_ask_to_come_back(config: ServerConfig) -> None:
    """So that agents spread over detectors again."""
    detector = Detector(replace(config, stream_age_s=0.2), FakeJudge)
    await detector.start()
    async with Agent(f"127.0.0.1:{detector.grpc_port}") as agent:
        reconnect = await agent.next("reconnect")
        assert await agent.code() is grpc.StatusCode.OK
        await agent.open()
        await agent.next("welcome")
    await detector.stop()

    assert reconnect.reason == "age"


async def test_stopping_asks_every_agent_to_come_back(config: ServerConfig) -> None:
    """Instead of breaking its stream."""
    detector = Detector(config, FakeJudge)
    await detector.start()
    async with Agent(f"127.0.0.1:{detector.grpc_port}") as agent:
        await agent.next("welcome")
        stopping = asyncio.create_task(detector.stop())
        reconnect = await agent.next("reconnect")
        await stopping

    assert reconnect.reason == "shutdown"


async def test_messages_are_numbered_from_one(detector: Detector, address: str) -> None:
    """On every stream anew, without a gap."""
    async with Agent(address, str(uuid7())) as agent:
        for n in range(5):
            await agent.start_run(f"r{n}")
        while len(agent.got) < 6:
            await agent.next("transition")

    assert [m.seq for m in agent.got] == list(range(1, 7))
