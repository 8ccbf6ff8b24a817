"""The control client against a real detector: handshake, verdicts, heartbeats, outages, restarts."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from spanward.control_client import ControlClient
from spanward.control_client import client as client_module
from spanward.control_client import stream as stream_module
from spanward.ports import DirectiveOutcome, GateDirective, InFlightCall, Limits, ToolFacts, Verdict
from spanward_control.v1 import control_pb2 as pb

from tests.spanward.fake_detector import FakeDetector, Session, until
from tests.spanward.fakes import FakeGate, FakeRun, settings
from tests.spanward.threads import left_running
from tests.spanward.wiretap import WireTap

TRACE, SPAN = "ab" * 16, "cd" * 8


@pytest.fixture
def detector() -> Iterator[FakeDetector]:
    with FakeDetector() as running:
        running.welcome.heartbeat_ms = 50
        yield running


@pytest.fixture
def gate() -> FakeGate:
    return FakeGate()


@pytest.fixture
def connect(detector: FakeDetector, gate: FakeGate) -> Iterator[Callable[..., ControlClient]]:
    """Makes a client with one open run, connected unless told otherwise."""
    made: list[ControlClient] = []

    def make(address: str = "", *, wait: bool = True, **changes: Any) -> ControlClient:
        client = ControlClient(settings(address or detector.address, **changes), gate, spans_dropped=lambda: 7)
        made.append(client)
        run = FakeRun(trace_id=TRACE)
        gate.runs.append(run)
        client.register_run(run)
        assert not wait or client.wait_connected(10)
        return client

    yield make
    for client in made:
        client.shutdown(1)


def call(**changes: Any) -> InFlightCall:
    fields: dict[str, Any] = {
        "run_id": "run-1", "trace_id": TRACE, "span_id": SPAN, "kind": "tool", "action": "search",
        "started_at": time.monotonic(), "timeout_s": 3.0, "interruptible": True, "thread_id": threading.get_ident(),
    } | changes  # fmt: skip
    return InFlightCall(**fields)


def order(kind: str = "PAUSE", **fields: Any) -> pb.Directive:
    return pb.Directive(id="d1", run_id="run-1", kind=pb.DirectiveKind.Value(f"DIRECTIVE_KIND_{kind}"), **fields)


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level and record.name == "spanward"]


def beats(session: Session) -> list[pb.Heartbeat]:
    return session.of("heartbeat")


# ------------------------------------------------------------------------------------------------------- handshake


def test_nothing_starts_before_the_first_run(detector: FakeDetector, gate: FakeGate) -> None:
    """Making a client starts no thread and opens no connection; unused, it is shut down at once."""
    with left_running() as threads:
        client = ControlClient(settings(detector.address), gate)
    assert threads == []
    assert not client.connected
    client.shutdown(1)
    assert detector.sessions == []


def test_hello_says_who_and_what(detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate) -> None:
    """The first message names the process, what it can do and will accept, and the open runs."""
    gate.runs.append(FakeRun("other", limits=Limits(15, 0, 2.5), tools={"t": ToolFacts("read", 4.0, True)}))
    client = connect(service_name="bot", allowed_directives={"pause", "terminate", "rollback"})
    hello = detector.session.hello
    assert (hello.instance_id, hello.service_name, hello.policy_version) == (client.instance_id, "bot", "")
    assert set(hello.accepts) == {pb.DIRECTIVE_KIND_PAUSE, pb.DIRECTIVE_KIND_TERMINATE}
    assert pb.CAPABILITY_HOLD in hello.capabilities
    other = next(run for run in hello.runs if run.run_id == "other")
    assert (other.limits.max_steps, other.limits.max_seconds, other.phase) == (15, 2.5, pb.RUN_PHASE_RUNNING)
    tool = other.tools["t"]
    assert (tool.side_effect, tool.timeout_s, tool.has_fallback) == ("read", 4, True)
    assert gate.epochs == [1]


def test_messages_are_numbered_without_gaps(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """Sequence numbers start at 1 on each stream and count every message."""
    client = connect()
    client.status("d", "received")
    client.end_run(gate.runs[0], "completed")
    session = detector.session
    until(lambda: len(beats(session)) >= 3)
    assert [message.seq for message in session.received] == list(range(1, len(session.received) + 1))


def test_a_lower_epoch_is_not_obeyed(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate, caplog: pytest.LogCaptureFixture
) -> None:
    """A detector that has been succeeded does not get the run back."""
    detector.welcome.epoch = 5
    client = connect()
    detector.welcome.epoch = 4
    detector.session.end()
    until(lambda: len(detector.sessions) == 2 and not detector.sessions[1].open)
    until(lambda: lines(caplog, logging.WARNING))
    assert detector.sessions[1].hello.last_epoch == 5
    assert not client.connected
    assert gate.epochs == [5]


def test_a_copy_of_this_process_gets_a_name_of_its_own(
    detector: FakeDetector, connect: Callable[..., ControlClient]
) -> None:
    """Refused as a duplicate once, it may be our own ghost; twice, and it takes another id."""
    detector.refuse = pb.Refused(reason="duplicate_instance")
    connect(wait=False)
    until(lambda: len(detector.sessions) >= 3)
    ids = [session.hello.instance_id for session in detector.sessions]
    assert ids[0] == ids[1] != ids[2]


def test_a_refusal_is_respected(
    detector: FakeDetector, connect: Callable[..., ControlClient], caplog: pytest.LogCaptureFixture
) -> None:
    """Told to come back later, it does not come at once; one line says why."""
    detector.refuse = pb.Refused(reason="overloaded", retry_after_ms=60_000)
    client = connect(wait=False)
    until(lambda: lines(caplog, logging.WARNING))
    assert "overloaded" in lines(caplog, logging.WARNING)[0]
    assert not client.wait_connected(0.3)
    assert len(detector.sessions) == 1


# --------------------------------------------------------------------------------------------- verdicts and orders


def test_a_hold_answer_wakes_its_waiter(detector: FakeDetector, connect: Callable[..., ControlClient]) -> None:
    """An answer without a directive means go on; the waiter of another span goes on waiting."""
    client = connect()
    mine, other = client.hold(TRACE, SPAN), client.hold(TRACE, "ee" * 8)
    detector.session.send(hold_answer=pb.HoldAnswer(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN)))
    assert mine.wait(5) == Verdict("none")
    assert other.wait(0.01) == Verdict("timeout")


def test_a_directive_is_decoded_into_plain_values(
    detector: FakeDetector, connect: Callable[..., ControlClient]
) -> None:
    """What the gate gets has ids in hex, an expiry on its own clock, and the payload by the proto's names."""
    client = connect()
    hold = client.hold(TRACE, SPAN)
    directive = order(
        "FEEDBACK", level=pb.LEVEL_L2, epoch=1, expires_in_ms=5000, trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(SPAN), failure_type="tool_error", rule="tool_error", target_digest="sha256:x",
        answers_hold=True, feedback=pb.Feedback(template="t", slots={"n": "1"}),
    )  # fmt: skip
    before = time.monotonic()
    answer = pb.HoldAnswer(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN), directive=directive)
    detector.session.send(hold_answer=answer)
    verdict = hold.wait(5)
    assert verdict.directive is not None
    assert before + 5 <= verdict.directive.expires_at <= time.monotonic() + 5
    assert verdict.directive == GateDirective(
        "d1", "run-1", "feedback", "L2", 1, TRACE, SPAN, "tool_error", "tool_error", verdict.directive.expires_at, True,
        "sha256:x", {"template": "t", "slots": {"n": "1"}},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "payload"),
    [
        ("RETRY", {"retry": pb.Retry(delay_ms=500, attempt=2)}, {"delay_ms": 500, "attempt": 2}),
        ("REPAIR_ARGUMENTS", {"repair_arguments": pb.RepairArguments(repairs=["a"])}, {"repairs": ("a",)}),
        (
            "FALLBACK",
            {"fallback": pb.Fallback(strategy=pb.Fallback.STRATEGY_DEGRADED)},
            {"strategy": "degraded", "tool": ""},
        ),
        ("TERMINATE", {"terminate": pb.Terminate(reason="loop")}, {"reason": "loop", "user_message": ""}),
        ("PAUSE", {"pause": pb.Pause(lease_ms=9)}, {"lease_ms": 9, "reason": ""}),
        ("RESUME", {}, {}),
        ("ROLLBACK", {"rollback": pb.Rollback(checkpoint="c")}, {"checkpoint": "c"}),
        (
            "INTERRUPT_CALL",
            {"interrupt_call": pb.InterruptCall(span_id=b"\xab", call_id="c")},
            {"span_id": "ab", "call_id": "c"},
        ),
        ("APPROVE", {"approval": pb.Approval(action_digest="x")}, {"action_digest": "x"}),
        ("ASK", {"ask": pb.Ask(question="q", slots={"a": "b"})}, {"question": "q", "slots": {"a": "b"}}),
    ],
)
def test_orders_that_nobody_waits_for_are_delivered(
    detector: FakeDetector,
    connect: Callable[..., ControlClient],
    gate: FakeGate,
    kind: str,
    fields: dict[str, Any],
    payload: dict[str, object],
) -> None:
    """Every kind reaches the gate with its payload, on a thread of ours."""
    connect()
    detector.session.send(directive=order(kind, **fields))
    (directive,) = until(lambda: gate.delivered)
    assert (directive.kind, dict(directive.payload)) == (kind.lower(), payload)
    assert threading.get_ident() not in gate.threads


def test_a_late_answer_is_delivered_when_it_carries_an_order(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """An answer that finds no waiter is dropped; its directive is not."""
    client = connect()
    assert client.hold(TRACE, SPAN).wait(0.001) == Verdict("timeout")
    key = {"trace_id": bytes.fromhex(TRACE), "span_id": bytes.fromhex(SPAN)}
    detector.session.send(hold_answer=pb.HoldAnswer(**key))
    detector.session.send(hold_answer=pb.HoldAnswer(**key, directive=order("TERMINATE", answers_hold=True)))
    until(lambda: [directive.kind for directive in gate.delivered] == ["terminate"])


def test_a_directive_that_answers_a_hold_finds_its_waiter(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """Sent by itself (again after a reconnect, say) it still ends the wait."""
    hold = connect().hold(TRACE, SPAN)
    key = {"trace_id": bytes.fromhex(TRACE), "span_id": bytes.fromhex(SPAN)}
    detector.session.send(directive=order("RETRY", answers_hold=True, **key))
    verdict = hold.wait(5)
    assert verdict.directive is not None
    assert gate.delivered == []


def test_unknown_kinds_and_members_cost_nothing(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """A newer detector's order is rejected, its unknown message ignored, and the stream lives on."""
    client = connect()
    session = detector.session
    session.send(directive=pb.Directive(id="new", run_id="run-1", kind=99))  # type: ignore[arg-type]
    unknown = pb.DetectorToAgent.FromString(b"\xfa\x3e\x01x")
    unknown.seq = session.seq = session.seq + 1
    session.outgoing.put(unknown)
    session.send(directive=order())
    until(lambda: gate.delivered)
    (status,) = until(lambda: session.of("directive_status"))
    assert (status.directive_id, status.reason) == ("new", "unsupported")
    assert client.connected


def test_policy_breaker_and_transition_reach_the_gate(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """A policy is applied and acknowledged, and named in the next Hello; breakers and transitions are handed on."""
    detector.welcome.policy.CopyFrom(
        pb.Policy(
            version="v1", hard_limits=pb.RunLimits(max_steps=9), tools={"t": pb.ToolSpec(side_effect="read")},
            fail_closed_tools=["pay"],
        )
    )  # fmt: skip
    client = connect()
    session = detector.session
    (status,) = until(lambda: session.of("policy_status"))
    assert (status.version, status.state) == ("v1", pb.PolicyStatus.STATE_APPLIED)
    (policy,) = gate.policies
    assert (policy.hard_limits, policy.tools, policy.fail_closed_tools) == (
        Limits(9), {"t": ToolFacts("read")}, frozenset({"pay"}),
    )  # fmt: skip
    session.send(breaker=pb.BreakerState(tool="t", phase=pb.BREAKER_PHASE_OPEN, open_for_ms=1500))
    session.send(transition=pb.Transition(run_id="run-1", to=pb.RUN_PHASE_DONE, reason="ok"))
    until(lambda: gate.transitions)
    assert gate.breakers == [("t", "open", 1.5)]
    assert gate.transitions == [("run-1", "done", "ok")]
    session.end()
    until(lambda: len(detector.sessions) == 2)
    assert client.policy_version == detector.sessions[1].hello.policy_version == "v1"


def test_what_is_not_supported_is_answered(detector: FakeDetector, connect: Callable[..., ControlClient]) -> None:
    """Requests beyond our capabilities get an answer, not silence."""
    connect()
    session = detector.session
    session.send(scene_request=pb.SceneRequest(request_id="1", run_id="run-1"))
    session.send(ask_model=pb.AskModel(request_id="2"))
    session.send(run_tool=pb.RunTool(request_id="3"))
    until(lambda: session.of("tool_result"))
    answers = [session.of(kind)[0] for kind in ("scene", "model_answer", "tool_result")]
    assert [(answer.request_id, answer.error) for answer in answers] == [
        ("1", "unsupported"), ("2", "unsupported"), ("3", "unsupported"),
    ]  # fmt: skip


def test_a_gate_that_fails_does_not_cost_the_stream(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in a handler ends with that message."""

    def broken(*_: object) -> None:
        raise RuntimeError

    client = connect()
    monkeypatch.setattr(gate, "set_breaker", broken)
    detector.session.send(breaker=pb.BreakerState(tool="t", phase=pb.BREAKER_PHASE_OPEN))
    detector.session.send(directive=order())
    until(lambda: gate.delivered)
    assert client.connected


# ------------------------------------------------------------------------------------- heartbeats and full state


def test_heartbeats_tell_calls_progress_and_counters(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """At the welcomed interval: ages, timeouts, steps, idle time, and everything the gate did by itself."""
    connect()
    gate.calls.append(call())
    gate.runs[0].steps = 4
    gate.counters.holds, gate.counters.fail_open_timeout = 3, 1
    session = detector.session
    beat = until(lambda: next((beat for beat in beats(session) if beat.in_flight), None))
    (flying,) = beat.in_flight
    assert (flying.run_id, flying.span_id.hex(), flying.action, flying.timeout_s) == ("run-1", SPAN, "search", 3.0)
    assert (flying.interruptible, list(flying.stack)) == (True, [])
    assert (beat.runs[0].run_id, beat.runs[0].steps, beat.runs[0].phase) == ("run-1", 4, pb.RUN_PHASE_RUNNING)
    assert (beat.counters.holds, beat.counters.fail_open_timeout, beat.counters.spans_dropped) == (3, 1, 7)
    count = len(beats(session))
    until(lambda: len(beats(session)) >= count + 3)


def test_old_calls_and_idle_runs_carry_a_stack(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """Once a call is old, a beat says where its thread is: file, line, function, innermost last, and no value."""
    stop = threading.Event()

    def stuck_here(secret: str) -> None:
        stop.wait(30)

    thread = threading.Thread(target=stuck_here, args=("sesame",))
    thread.start()
    connect()
    gate.calls.append(call(started_at=time.monotonic() - 60, thread_id=thread.ident))
    gate.runs.append(FakeRun("idle", last_activity_at=time.monotonic() - 60, thread_id=thread.ident or 0))
    session = detector.session
    beat = until(lambda: next((beat for beat in beats(session) if beat.in_flight), None))
    stop.set()
    thread.join()
    (flying,) = beat.in_flight
    assert flying.age_ms >= 60_000
    own = [index for index, line in enumerate(flying.stack) if "stuck_here" in line]
    assert own
    assert f"{os.path.basename(__file__)}:" in flying.stack[own[0]]
    assert "wait" in flying.stack[-1]
    assert not any("sesame" in line for line in flying.stack)
    idle = next(run for run in beat.runs if run.run_id == "idle")
    assert idle.idle_ms >= 60_000
    assert any("stuck_here" in line for line in idle.stack)


async def test_the_stack_of_a_task_goes_down_to_what_it_awaits(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """A suspended task has no thread: its frames are those of the coroutines that wait for each other."""
    forever = asyncio.get_running_loop().create_future()

    async def inner() -> None:
        await forever

    async def outer() -> None:
        await inner()

    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    await asyncio.to_thread(connect)
    gate.calls.append(call(started_at=time.monotonic() - 60, task=task))
    session = await asyncio.to_thread(lambda: detector.session)
    beat = await asyncio.to_thread(until, lambda: next((b for b in beats(session) if b.in_flight), None))
    task.cancel()
    assert [line.rsplit(".", 1)[1] for line in beat.in_flight[0].stack] == ["outer", "inner"]


def test_a_call_with_effects_is_told_at_once(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """It does not wait for the next beat: should the process die in it, the detector knows that it had begun."""
    detector.welcome.heartbeat_ms = 60_000
    client = connect()
    gate.calls.append(call(effects=True))
    client.started(gate.calls[0])
    session = detector.session
    (beat,) = until(lambda: beats(detector.session))
    assert beat.in_flight[0].span_id.hex() == SPAN
    client.finished(SPAN)
    gate.calls.clear()
    client.started(call(effects=True))  # and over again, before anybody looked
    client.status("d", "received")
    until(lambda: session.of("directive_status"))
    assert len(beats(session)) == 1


def test_full_state_is_sent_on_request_and_on_a_gap(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """Asked for it, or having missed a message itself, the agent tells everything it knows."""
    connect()
    gate.known.append(DirectiveOutcome("d", "applied", before="a", after="b"))
    gate.calls.append(call())
    session = detector.session
    session.send(request_full_state=pb.RequestFullState())
    (state,) = until(lambda: session.of("full_state"))
    assert [run.run_id for run in state.runs] == ["run-1"]
    assert [found.span_id.hex() for found in state.in_flight] == [SPAN]
    assert [(status.directive_id, status.state) for status in state.directives] == [
        ("d", pb.DirectiveStatus.STATE_APPLIED)
    ]
    session.send(seq=session.seq + 5, transition=pb.Transition(run_id="run-1", to=pb.RUN_PHASE_PAUSED))
    until(lambda: len(session.of("full_state")) == 2)
    assert gate.transitions


# ------------------------------------------------------------------------------------------------------- outages


def test_without_a_detector_everything_returns_at_once(
    gate: FakeGate, caplog: pytest.LogCaptureFixture, detector: FakeDetector, connect: Callable[..., ControlClient]
) -> None:
    """Nobody listens: holds are skipped, nothing blocks, one line is logged."""
    detector.kill()
    client = connect(wait=False)
    until(lambda: lines(caplog, logging.WARNING))
    began = time.monotonic()
    for number in range(1000):
        assert client.hold(TRACE, f"{number:016x}").wait(10) == Verdict("skipped")
        client.status(str(number), "received")
        client.started(call(effects=True))
    assert time.monotonic() - began < 5
    assert not client.wait_connected(0.5)
    assert len(lines(caplog, logging.WARNING)) == 1


def test_a_broken_stream_releases_holds_and_comes_back(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate, caplog: pytest.LogCaptureFixture
) -> None:
    """Killed: who waits goes on at once. Back: it reconnects by itself, same instance, open runs in its Hello."""
    caplog.set_level(logging.INFO, "spanward")
    client = connect()
    hold = client.hold(TRACE, SPAN)
    killer = threading.Timer(0.05, detector.kill)
    killer.start()
    began = time.monotonic()
    assert hold.wait(20) == Verdict("skipped")
    assert time.monotonic() - began < 10
    killer.join()
    until(lambda: not client.connected)
    detector.start()
    assert client.wait_connected(15)
    first, *_, last = detector.sessions
    assert first.hello.instance_id == last.hello.instance_id
    assert [run.run_id for run in last.hello.runs] == ["run-1"]
    assert (len(lines(caplog, logging.WARNING)), len(lines(caplog, logging.INFO))) == (1, 1)


def test_outcomes_of_an_outage_are_told_after_it(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """Final states and ends of runs wait for the next stream, and those just before the break are told again."""
    client = connect()
    client.status("before", "applied")
    session = detector.session
    until(lambda: session.of("directive_status"))
    detector.kill()
    until(lambda: not client.connected)
    run = gate.runs.pop()
    client.status("during", "failed", "late")
    client.end_run(run, "ValueError")
    detector.start()
    assert client.wait_connected(15)
    after = detector.session
    until(lambda: after.of("run_update"))
    assert [status.directive_id for status in after.of("directive_status")] == ["before", "during"]
    (update,) = after.of("run_update")
    assert (update.run.run_id, update.ended, update.end_reason) == ("run-1", True, "ValueError")
    assert list(after.hello.runs) == []


def test_a_frozen_detector_costs_each_hold_its_deadline(
    detector: FakeDetector, connect: Callable[..., ControlClient]
) -> None:
    """The stream stands but nothing comes: holds time out one by one, and messages pile up only so far."""
    client = connect()
    detector.freeze()
    for number in range(5000):
        client.status(str(number), "received")
    assert client.hold(TRACE, SPAN).wait(0.02) == Verdict("timeout")
    assert len(client.outbox) <= 2048
    detector.thaw()
    assert client.connected


def test_a_detector_that_never_welcomes_is_given_up(
    detector: FakeDetector, connect: Callable[..., ControlClient], monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """A handshake has its own deadline; then it is tried again."""
    monkeypatch.setattr(stream_module, "HANDSHAKE_S", 0.2)
    detector.freeze()
    client = connect(wait=False)
    until(lambda: lines(caplog, logging.WARNING))
    detector.thaw()
    assert client.wait_connected(15)


def test_a_cut_network_is_survived(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """Connections that are reset come back, as often as it takes."""
    with WireTap(detector.address) as tap:
        client = connect(tap.address)
        for _ in range(3):
            tap.cut()
            until(lambda: not client.connected)
            assert client.wait_connected(15)
        client.shutdown(1)


def test_asked_to_reconnect_it_does_so_quietly(
    detector: FakeDetector, connect: Callable[..., ControlClient], caplog: pytest.LogCaptureFixture
) -> None:
    """A stream that is ended on purpose is no outage: goodbye, a new stream, no line in the log."""
    client = connect()
    first = detector.session
    first.send(reconnect=pb.Reconnect(reason="age"))
    until(lambda: len(detector.sessions) == 2)
    assert client.wait_connected(10)
    assert [bye.reason for bye in first.of("goodbye")] == ["reconnect"]
    assert lines(caplog, logging.WARNING) == []


def test_reconnects_are_spaced(
    detector: FakeDetector, connect: Callable[..., ControlClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pauses between tries double from a tenth of a second to five, jittered."""
    pauses: list[float] = []
    detector.kill()
    client = connect(wait=False)
    real = client._stop.wait

    def wait(timeout: float | None = None) -> bool:
        pauses.append(timeout or 0.0)
        return real(0.001)

    monkeypatch.setattr(client._stop, "wait", wait)
    until(lambda: len(pauses) >= 9, 30)
    steady = [client_module.BACKOFF_LAST_S * factor for factor in (0.5, 1.5)]
    assert steady[0] <= pauses[-1] <= steady[1]
    assert max(pauses) <= steady[1]
    assert len({round(pause, 6) for pause in pauses}) > 5


def test_the_wire_carries_no_more_than_grpc_and_our_messages(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """The wire tap sees every message, put together from what really left through the socket."""
    with WireTap(detector.address) as tap:
        client = connect(tap.address)
        client.status("a-directive-id", "applied", "reason-code")
        until(lambda: "a-directive-id" in tap)
        messages = [pb.AgentToDetector.FromString(message) for message in tap.messages()]
        assert messages[0].hello.instance_id == client.instance_id
        assert "a-directive-id" in [message.directive_status.directive_id for message in messages]
        assert "something else" not in tap
        client.shutdown(1)


# ------------------------------------------------------------------------------------------------------------ end


def test_shutdown_says_what_is_left_and_goodbye(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """Everything queued is said before the goodbye; it is quick, and final."""
    client = connect()
    session = detector.session
    client.end_run(gate.runs[0], "completed")
    client.status("d", "applied")
    began = time.monotonic()
    client.shutdown(2)
    assert time.monotonic() - began < 5
    until(lambda: not session.open)
    kinds = [message.WhichOneof("message") for message in session.received]
    assert kinds[-1] == "goodbye"
    assert {"run_update", "directive_status"} <= set(kinds)
    client.shutdown(1)
    assert not client.connected
    client.register_run(FakeRun())
    assert client.hold(TRACE, SPAN).wait(10) == Verdict("skipped")


def test_shutdown_of_a_frozen_stream_is_quick(detector: FakeDetector, connect: Callable[..., ControlClient]) -> None:
    """A detector that does not answer the goodbye is not waited for, and no thread stays behind."""
    client = connect()
    detector.freeze()
    began = time.monotonic()
    client.shutdown(0.4)
    assert time.monotonic() - began < 5
    until(lambda: client._thread is not None and not client._thread.is_alive())


def test_a_disabled_client_does_nothing(
    detector: FakeDetector, connect: Callable[..., ControlClient], gate: FakeGate
) -> None:
    """As in a forked child: not connected, holds return at once, nothing is queued."""
    client = connect()
    client.disable()
    assert not client.connected
    assert client.hold(TRACE, SPAN).wait(10) == Verdict("skipped")
    queued = len(client.outbox)
    client.status("d", "applied")
    client.register_run(FakeRun())
    client.started(call(effects=True))
    client.shutdown(1)
    assert len(client.outbox) == queued


async def test_async_agents_wait_on_their_own_loop(
    detector: FakeDetector, connect: Callable[..., ControlClient]
) -> None:
    """Many coroutines hold at once; each gets its own verdict, and the loop is never entered by us."""
    client = await asyncio.to_thread(connect)
    spans = [f"{number:016x}" for number in range(1, 51)]
    waits = [asyncio.create_task(client.hold(TRACE, span).wait_async(10)) for span in spans]
    session = detector.session
    for span in reversed(spans):
        directive = pb.Directive(id=span, run_id="run-1", kind=pb.DIRECTIVE_KIND_RETRY)
        answer = pb.HoldAnswer(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(span), directive=directive)
        session.send(hold_answer=answer)
    verdicts = await asyncio.gather(*waits)
    assert [verdict.directive and verdict.directive.id for verdict in verdicts] == spans


def test_garbage_from_the_other_side_is_an_outage(
    connect: Callable[..., ControlClient], caplog: pytest.LogCaptureFixture
) -> None:
    """Something that is no detector answers: refused calls are an outage like any other."""
    server = grpc.server(ThreadPoolExecutor(2))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    client = connect(f"127.0.0.1:{port}", wait=False)
    until(lambda: lines(caplog, logging.WARNING))
    assert "UNIMPLEMENTED" in lines(caplog, logging.WARNING)[0]
    client.shutdown(1)
    server.stop(None)
