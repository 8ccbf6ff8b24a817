"""The whole detector over real sockets: OTLP in, holds answered, directives out and followed to their end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from spanward_control.v1 import control_pb2 as pb
from spanward_detector.config import ServerConfig
from spanward_detector.service import Detector, StartError

from tests.detector.service_fakes import (
    EXPORT_LOGS,
    RUN,
    Agent,
    FakeJudge,
    eventually,
    get_json,
    log_request,
    make_span,
    new_ref,
    span_request,
)


async def run_of(detector: Detector, run: str = RUN) -> Any:
    return await get_json(detector.http_port, f"/api/runs/{run}")


async def run_in_state(detector: Detector, state: str, run: str = RUN) -> Any:
    async with asyncio.timeout(5):
        while (found := await run_of(detector, run)).get("state") != state:
            pass
    return found


async def test_a_hold_without_a_directive_is_answered(detector: Detector, address: str) -> None:
    """A held span of a registered run is answered on its stream: go on."""
    async with Agent(address) as agent:
        welcome = await agent.next("welcome")
        await agent.start_run()
        ref = new_ref()
        await agent.export(span_request([make_span(ref, held=True)]))
        answer = await agent.next("hold_answer")

    assert welcome.epoch == 1
    assert welcome.policy.version == "sha256:policy"
    assert (answer.trace_id.hex(), answer.span_id.hex()) == ref
    assert not answer.HasField("directive")
    assert detector.metrics.holds.total("none") == 1


async def test_a_directive_goes_its_whole_way(detector: Detector, address: str) -> None:
    """Stored before it is sent, then applied, with all that the API tells of it."""
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.export(span_request([make_span(held=True, fails="tool_error", order="feedback")]))
        directive = (await agent.next("hold_answer")).directive
        stored = await run_of(detector)
        await agent.status(directive.id, "RECEIVED")
        await agent.status(directive.id, "APPLIED", before_digest="sha256:1", after_digest="sha256:2", apply_ms=2.5)
        await eventually(lambda: detector.metrics.directives.total("feedback", "L2", "applied") == 1)
        after = await run_of(detector)

    assert directive.feedback.template == "tool_error"
    assert stored["directives"][0] | {"id": directive.id, "kind": "feedback", "level": "L2"} == stored["directives"][0]
    assert stored["directives"][0]["state"] in ("pending", "sent")
    assert (stored["findings"][0]["failure_type"], stored["findings"][0]["severity"]) == ("tool_error", "error")
    assert (stored["steps"][0]["action"], stored["steps"][0]["kind"]) == ("search", "tool")
    applied = after["directives"][0]
    assert (applied["state"], applied["before_digest"], applied["after_digest"]) == ("applied", "sha256:1", "sha256:2")


async def test_parallel_holds_of_one_run_are_answered_each_for_itself(detector: Detector, address: str) -> None:
    """None waits for another's verdict, whichever request it came in."""
    refs = [new_ref() for _ in range(20)]
    async with Agent(address) as agent:
        await agent.start_run()
        await asyncio.gather(*(agent.export(span_request([make_span(ref, held=True)])) for ref in refs))
        answers = [(await agent.next("hold_answer")).span_id.hex() for _ in refs]

    assert sorted(answers) == sorted(ref.span_id for ref in refs)


async def test_a_span_that_comes_twice_is_answered_once(detector: Detector, address: str) -> None:
    """A retried export must not answer "go on" while the directive is on its way."""
    ref = new_ref()
    request = span_request([make_span(ref, held=True, order="feedback")])
    async with Agent(address) as agent:
        await agent.start_run()
        await asyncio.gather(*(agent.export(request) for _ in range(5)))
        first = await agent.next("hold_answer")
        await agent.export(span_request([make_span(run=RUN, held=True)]))
        second = await agent.next("hold_answer")

    assert first.HasField("directive")
    assert second.span_id.hex() != ref.span_id


async def test_a_span_may_be_faster_than_its_run(detector: Detector, address: str) -> None:
    """They come by different connections: the answer waits a moment for the stream to register the run."""
    async with Agent(address) as agent:
        await agent.next("welcome")
        ref = new_ref()
        await agent.export(span_request([make_span(ref, held=True)]))
        await agent.start_run()

        assert (await agent.next("hold_answer")).span_id.hex() == ref.span_id


async def test_a_hold_of_a_run_that_nobody_has_is_counted(detector: Detector, address: str) -> None:
    """Its agent goes on after its deadline; we say that it happened."""
    async with Agent(address) as agent:
        await agent.export(span_request([make_span(run="nobody", held=True)]))
        await eventually(lambda: detector.metrics.fail_open.total("no_stream") == 1)


async def test_spans_order_nothing_in_other_peoples_runs(detector: Detector, address: str) -> None:
    """A directive goes to the stream that registered its run, and to no other."""
    async with Agent(address) as mine, Agent(address) as other:
        await mine.start_run("mine")
        await other.start_run("other")
        await other.start_run("mine")  # cannot take it over
        await eventually(lambda: detector.metrics.rejected.total("control_foreign_run") == 1)
        await other.export(span_request([make_span(run="mine", held=True, order="terminate")]))

        assert (await mine.next("hold_answer")).directive.run_id == "mine"
        with pytest.raises(TimeoutError):
            await other.next("hold_answer", 0.2)


async def test_a_large_batch_does_not_stall_a_hold(detector: Detector, address: str) -> None:
    """Sixteen mebibytes with thousands of spans are judged in slices; a hold gets its answer in between."""
    filler = "x" * 2_900
    spans = [make_span(run="bulk", filler=filler) for _ in range(5_400)]
    request = span_request(spans)
    assert 15 * 2**20 < len(request) <= 16 * 2**20
    waits = []
    async with Agent(address) as bulk, Agent(address) as agent:
        await agent.start_run()
        began = time.perf_counter()
        task = asyncio.create_task(bulk.export(request))
        while not task.done():
            at = time.perf_counter()
            await agent.export(span_request([make_span(held=True)]))
            await agent.next("hold_answer")
            waits.append(time.perf_counter() - at)
        await task
        took = time.perf_counter() - began

    assert detector.metrics.steps.total("tool") == 5_400 + len(waits)
    # Held beside the batch itself, for machines differ: most answers come in a small part of its time.
    assert len(waits) > 3
    assert sorted(waits)[len(waits) // 2] < took / 4


async def test_held_spans_of_a_large_batch_come_first(detector: Detector, address: str, judge: FakeJudge) -> None:
    """Wherever in the request they stand, with only the few spans before them that are decoded together."""
    spans = [make_span(filler="x" * 500) for _ in range(300)]
    held = new_ref()
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.export(span_request([*spans, make_span(held, held=True)]))
        await agent.next("hold_answer")

    assert held.span_id in judge.seen[:16]
    assert len(judge.seen) == 301


async def test_log_records_are_taken(detector: Detector, address: str, judge: FakeJudge) -> None:
    """Older instrumentation puts content there."""
    async with Agent(address) as agent:
        await agent.export(log_request("gen_ai.choice"), EXPORT_LOGS)

    assert judge.seen == ["gen_ai.choice"]


async def test_a_run_ends_done_when_it_was_seen_clean(detector: Detector, address: str) -> None:
    """The agent is told of every move."""
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.export(span_request([make_span()]))
        await agent.end_run(steps=1)
        await run_in_state(detector, "DONE")
        while agent.got[-1:] == [] or agent.got[-1].transition.to != pb.RUN_PHASE_DONE:
            await agent.next("transition")
    run = await run_of(detector)

    assert [t["to"] for t in run["transitions"]] == ["RUNNING", "WAITING_VALIDATION", "DONE"]
    assert run["end_reason"] == "completed"
    assert run["conversation_id"] == ""
    assert run["ended_at"] > run["started_at"]


async def test_a_run_that_ended_unseen_waits_for_validation(detector: Detector, address: str) -> None:
    """No span, no verdict: it is not DONE by its own word."""
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.end_run(steps=2)
        await run_in_state(detector, "WAITING_VALIDATION")
        await asyncio.sleep(0.3)

        assert (await run_of(detector))["state"] == "WAITING_VALIDATION"


async def test_late_spans_decide_a_run_that_waits(detector: Detector, address: str) -> None:
    """They make it DONE, or FAILED."""
    async with Agent(address) as agent:
        for run in ("good", "bad"):
            await agent.start_run(run)
            await agent.end_run(run, steps=1)
        await run_in_state(detector, "WAITING_VALIDATION", "bad")
        await agent.export(span_request([make_span(run="good"), make_span(run="bad", fails="tool_error")]))
        await run_in_state(detector, "DONE", "good")
        await run_in_state(detector, "FAILED", "bad")


async def test_foreign_spans_make_runs_and_directives_are_only_recorded(detector: Detector, address: str) -> None:
    """An agent without our gate is seen all the same; its run is its trace."""
    ref = new_ref()
    span = make_span(ref, run="", fails="tool_error", order="feedback")
    async with Agent(address) as agent:
        await agent.export(span_request([span], scope="openinference.instrumentation.openai"))
    run = await run_of(detector, ref.trace_id)

    assert run["trace_ids"] == [ref.trace_id]
    assert [d["state"] for d in run["directives"]] == ["observe_only"]


async def test_unacknowledged_directives_come_again_with_the_same_process(detector: Detector, address: str) -> None:
    """The stream broke after the sending; the run is still open."""
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.export(span_request([make_span(held=True, order="pause")]))
        first = (await agent.next("hold_answer")).directive
        await agent.cut()
        await eventually(lambda: detector.metrics.registry.get_sample_value("spanward_agents_connected") == 0)
        agent._hello = {"runs": [pb.RunState(run_id=RUN, phase=pb.RUN_PHASE_RUNNING)]}
        await agent.open()
        again = await agent.next("directive")
        await agent.status(again.id, "APPLIED")
        await run_in_state(detector, "PAUSED")

    assert again.id == first.id
    assert again.answers_hold


async def test_directives_survive_the_detector(config: ServerConfig) -> None:
    """Committed, sent, not acknowledged; a new detector on the same data sends it again, with a higher epoch."""
    agents = Agent
    first = Detector(config, FakeJudge)
    await first.start()
    async with agents(f"127.0.0.1:{first.grpc_port}") as agent:
        await agent.start_run()
        await agent.export(span_request([make_span(held=True, order="feedback")]))
        sent = (await agent.next("hold_answer")).directive
        instance = agent.instance
        await first.stop()
    second = Detector(config, FakeJudge)
    await second.start()
    hello = {"runs": [pb.RunState(run_id=RUN, phase=pb.RUN_PHASE_RUNNING)], "last_epoch": sent.epoch}
    async with agents(f"127.0.0.1:{second.grpc_port}", instance, **hello) as agent:
        again = await agent.next("directive")
        await agent.status(again.id, "APPLIED")
        await eventually(lambda: second.metrics.directives.total("feedback", "L2", "applied") == 1)
    await second.stop()

    assert again.id == sent.id
    assert again.epoch == sent.epoch + 1


async def test_directives_of_a_dead_process_end_expired(detector: Detector, address: str) -> None:
    """The new process is a new run and is told nothing of the old one's."""
    async with Agent(address) as old:
        await old.start_run()
        await old.export(span_request([make_span(held=True, order="feedback")]))
        directive = (await old.next("hold_answer")).directive
        await old.status(directive.id, "RECEIVED")
        await eventually(lambda: detector.metrics.directives.total("feedback", "L2", "received") == 1)
    async with Agent(address) as new:
        await new.start_run("run-2")
        await eventually(lambda: detector.metrics.directives.total("feedback", "L2", "expired") == 1)
        with pytest.raises(TimeoutError):
            await new.next("directive", 0.1)
    run = await run_of(detector)

    assert run["directives"][0] | {"state": "expired", "reason": "process_gone"} == run["directives"][0]
    assert run["state"] == "WAITING_VALIDATION"


async def test_a_goodbye_ends_what_the_process_owed(detector: Detector, address: str) -> None:
    """It need not be waited for."""
    async with Agent(address) as agent:
        await agent.start_run()
        await agent.export(span_request([make_span(held=True, order="feedback")]))
        await agent.next("hold_answer")
        await agent.say(goodbye=pb.Goodbye(reason="shutdown"))
        assert await agent.code() is grpc.StatusCode.OK
    await eventually(lambda: detector.metrics.directives.total("feedback", "L2", "expired") == 1)


async def test_a_second_detector_on_the_same_port_is_told(detector: Detector, config: ServerConfig) -> None:
    """Port by port, with what to do."""
    for field, port in (("grpc_address", detector.grpc_port), ("http_address", detector.http_port)):
        second = Detector(replace(config, **{field: f"127.0.0.1:{port}"}), FakeJudge)
        with pytest.raises(StartError, match=f"127.0.0.1:{port} cannot be listened on"):
            await second.start()


async def test_a_second_detector_on_the_same_data_is_told(detector: Detector, config: ServerConfig) -> None:
    """And lets go of its ports."""
    second = Detector(config, FakeJudge)
    with pytest.raises(StartError, match="--data-dir"):
        await second.start()

    with pytest.raises(OSError, match="failed"):
        await asyncio.open_connection("127.0.0.1", second.http_port)


async def test_garbage_is_refused_by_name(detector: Detector, address: str) -> None:
    """INVALID_ARGUMENT for what is no request, RESOURCE_EXHAUSTED for what is too large; then life goes on."""
    async with Agent(address) as agent:
        for data, code in (
            (b"\xff" * 100, grpc.StatusCode.INVALID_ARGUMENT),
            (span_request([make_span(filler="x" * 2**24)]), grpc.StatusCode.RESOURCE_EXHAUSTED),
            (bytes(20 * 2**20), grpc.StatusCode.RESOURCE_EXHAUSTED),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await agent.export(data)
            assert caught.value.code() is code

        assert await agent.export(ExportTraceServiceRequest().SerializeToString()) == b""
    assert detector.metrics.rejected.total("protobuf") == 1
    assert detector.metrics.rejected.total("too_large") == 1


async def test_the_server_speaks_of_itself(detector: Detector, address: str) -> None:
    """Health and reflection answer."""
    async with Agent(address) as agent:
        health = await agent.export(b"", "/grpc.health.v1.Health/Check")
        reflect = agent.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")()
        await reflect.write(b"\x3a\x00")
        services = await reflect.read()
        reflect.cancel()

    assert health == b"\x08\x01"
    assert b"spanward_control.v1.ControlService" in services
    assert b"TraceService" in services
