"""The gate around coroutines: cancellation, timeouts and interrupts in place, holds side by side, no blocked loop."""

import asyncio
import contextlib
import contextvars
import threading

import pytest
import spanward
from spanward import semconv
from spanward.ports import GateDirective, Verdict
from spanward.testing import directive_for, supervised


@contextlib.contextmanager
def ending(kind=spanward.AgentTerminated):
    """The block ends by this exception."""
    with pytest.raises(kind) as caught:
        yield caught


@spanward.tool(side_effect="read")
async def lookup(key: str):
    """A tool that knows one key."""
    await asyncio.sleep(0)
    if key != "a":
        raise KeyError(key)
    return {"key": key}


@spanward.tool(side_effect="read")
def sync_lookup(key: str):
    """A sync tool, as async agents often have."""
    return {"key": key}


async def until(condition):
    """Lets the loop run until something is so."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)


async def test_results_errors_and_verdicts():
    """As in sync code: the result, the exception, or the text that takes its place."""

    def answer(span):
        return directive_for(span, "feedback") if span.attributes.get(semconv.ERROR_TYPE) else None

    with supervised(answer) as gate:
        async with spanward.run("bot"):
            assert await lookup("a") == {"key": "a"}
            assert "quoted as data" in await lookup("b")

    assert gate.control.states(gate.control.statuses[0].directive_id) == ["received", "applied"]


async def test_uninstrumented_coroutine_is_itself():
    """Nothing happens without a runtime."""
    assert await lookup("a") == {"key": "a"}
    async with spanward.run("bot"), spanward.step("think"):
        assert await lookup("a") == {"key": "a"}


async def test_timeout_cancels_the_call_and_nothing_else():
    """The coroutine sees its cancellation; the task that called it goes on."""
    seen = []

    @spanward.tool(timeout=0.02)
    async def slow():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with supervised() as gate:
        async with spanward.run("bot"):
            with ending(TimeoutError):
                await slow()
            await asyncio.sleep(0)
            assert asyncio.current_task().cancelling() == 0

    assert seen == ["cancelled"]
    assert gate.spans.steps("tool")[0][semconv.OUTCOME_UNKNOWN] is True


async def test_swallowed_cancellation_counts_as_an_answer():
    """A coroutine that catches its timeout and returns has returned; no stray cancellation is left behind."""

    @spanward.tool(timeout=0.02)
    async def stubborn():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "partial"

    with supervised():
        async with spanward.run("bot"):
            assert await stubborn() == "partial"
            await asyncio.sleep(0)
            assert asyncio.current_task().cancelling() == 0


async def test_interrupt_from_another_thread():
    """An order cancels the call in flight; without more, the run goes on by the degraded answer."""

    @spanward.tool
    async def hanging():
        await asyncio.Event().wait()

    with supervised() as gate:
        async with spanward.run("bot") as run:

            def interrupt():
                gate.control.until(lambda control: control.calls_started)
                span_id = gate.control.calls_started[0].span_id
                gate.runtime.deliver(GateDirective("i1", run.id, "interrupt_call", payload={"span_id": span_id}))

            threading.Thread(target=interrupt).start()
            assert "hanging" in await hanging()

    assert gate.control.states("i1") == ["received", "applied"]
    assert gate.spans.steps("tool")[0][semconv.ERROR_TYPE] == "CallInterrupted"


async def test_a_call_may_refuse_to_be_interrupted():
    """interruptible=False is told in the heartbeat and in the answer."""
    with supervised() as gate:
        async with spanward.run("bot") as run:

            @spanward.tool(interruptible=False)
            async def critical():
                span_id = gate.control.calls_started[0].span_id
                gate.runtime.deliver(GateDirective("i1", run.id, "interrupt_call", payload={"span_id": span_id}))
                await asyncio.sleep(0)
                return "done"

            assert await critical() == "done"

    assert gate.control.statuses[-1].reason == "not_interruptible"


async def test_cancellation_by_somebody_else_wins():
    """A cancelled task is cancelled, timeout or not; the step is ended and journalled, and nobody waits."""

    @spanward.tool(timeout=30)
    async def slow():
        await asyncio.Event().wait()

    async def agent():
        async with spanward.run("bot"):
            await slow()

    with supervised() as gate:
        task = asyncio.create_task(agent())
        await until(lambda: gate.control.calls_started)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert gate.control.holds == []
    assert gate.spans.steps("tool")[0][semconv.ERROR_TYPE] == "CancelledError"
    assert gate.control.updates[-1].reason == "CancelledError"


async def test_cancellation_in_a_hold_loses_no_result():
    """What the tool did is journalled before the gate waits; the waiter is taken down and the cancellation goes on."""
    from spanward.facts import digest

    @spanward.tool
    async def pay(amount):
        return f"paid {amount}"

    with supervised(manual=True, hold_min_ms=5000, hold_max_ms=5000) as gate:
        async with spanward.run("bot") as run:
            run.pending.add("call-1", "pay", digest({"amount": 5}))
            task = asyncio.create_task(pay(5))
            await until(lambda: gate.control.holds)
            task.cancel()
            gate.control.settle(gate.control.holds[0].span_id, Verdict("none"))
            with pytest.raises(asyncio.CancelledError):
                await task
            entry = gate.runtime.journal.finished(run.id, "call-1", digest({"amount": 5}))

    assert entry.value == "paid 5"
    assert gate.control.holds[0].cancelled


async def test_parallel_calls_hold_for_themselves():
    """The verdict on one is not waited for by the other, and each gets its own."""
    with supervised(manual=True, hold_min_ms=10_000, hold_max_ms=10_000) as gate:
        async with spanward.run("bot"):
            tasks = [asyncio.create_task(lookup("a")) for _ in range(3)]
            await until(lambda: len(gate.control.holds) == 3)
            second = gate.control.holds[1].span_id
            gate.control.settle(second, Verdict("directive", directive_for(gate.spans.by_id(second), "feedback")))
            await until(lambda: sum(task.done() for task in tasks) == 1)
            waiting = [task for task in tasks if not task.done()]
            for hold in gate.control.holds:
                gate.control.settle(hold.span_id, Verdict("none"))
            results = await asyncio.gather(*tasks)

    assert len(waiting) == 2
    assert sorted(type(result).__name__ for result in results) == ["dict", "dict", "str"]


async def test_sync_tool_on_the_loop_never_waits():
    """It sends its span at once, counts the skipped hold, and the next safe point takes the verdict."""
    with supervised(manual=True) as gate:
        async with spanward.run("bot") as run:
            run.pending.add("call-1", "sync_lookup", "")
            assert sync_lookup("a") == {"key": "a"}
            assert gate.runtime.counters.hold_skipped_loop == 1
            (hold,) = gate.control.holds
            order = directive_for(gate.spans.by_id(hold.span_id), "feedback", directive_id="d1")
            gate.control.settle(hold.span_id, Verdict("directive", order))
            async with spanward.step("ask the model"):
                pass
            directive, text = run.take_replacement("call-1")

    assert directive.id == "d1"
    assert text
    assert hold.span_id in gate.spans.urgent


async def test_deferred_terminate_ends_the_run_at_the_next_safe_point():
    """The verdict on a call that could not wait is not lost."""
    with supervised(manual=True) as gate, ending():
        async with spanward.run("bot"):
            sync_lookup("a")
            (hold,) = gate.control.holds
            order = directive_for(gate.spans.by_id(hold.span_id), "terminate", reason="loop")
            gate.control.settle(hold.span_id, Verdict("directive", order))
            await lookup("a")

    assert len(gate.spans.steps("tool")) == 1


async def test_deferred_holds_end_with_the_run():
    """Nobody waits for what nobody will ask about."""
    with supervised(manual=True) as gate:
        async with spanward.run("bot"):
            sync_lookup("a")

    assert gate.control.holds[0].cancelled


async def test_pause_holds_the_run_until_it_is_resumed():
    """Other runs and the loop go on meanwhile."""
    with supervised() as gate:
        async with spanward.run("bot") as run:
            gate.runtime.deliver(GateDirective("p1", run.id, "pause", payload={"lease_ms": 60_000}))
            task = asyncio.create_task(lookup("a"))
            for _ in range(20):
                await asyncio.sleep(0)
            assert not task.done()
            assert gate.runtime.calls_in_flight() == []
            assert run.phase == "paused"
            gate.runtime.deliver(GateDirective("r1", run.id, "resume"))
            assert await task == {"key": "a"}
            assert run.phase == "running"

    assert gate.control.states("p1") == gate.control.states("r1") == ["received", "applied"]


async def test_pause_as_a_verdict_gives_the_result_after_the_resume():
    """The hold ends with the pause; the tool's own result follows when the run goes on."""

    def answer(span):
        return directive_for(span, "pause", directive_id="p1", lease_ms=60_000)

    with supervised(answer) as gate:
        async with spanward.run("bot") as run:
            task = asyncio.create_task(lookup("a"))
            await until(lambda: run.paused)
            gate.runtime.deliver(GateDirective("r1", run.id, "resume"))
            assert await task == {"key": "a"}

    assert gate.control.states("p1") == ["received", "applied"]


async def test_pause_that_nobody_ends_gives_the_run_up():
    """After its lease the run is over, with an exception of its own that is a termination, too."""
    with supervised() as gate, ending(spanward.AgentPaused) as caught:
        async with spanward.run("bot") as run:
            gate.runtime.deliver(GateDirective("p1", run.id, "pause", payload={"lease_ms": 10}))
            task = asyncio.create_task(lookup("a"))
            await asyncio.sleep(0)
            gate.clock.advance(1)
            await task

    assert caught.value.reason == "pause_expired"
    assert caught.value.user_message


async def test_terminate_wakes_a_paused_run():
    """A run that is paused can be ended."""
    with supervised() as gate, ending():
        async with spanward.run("bot") as run:
            run.pause(60)
            task = asyncio.create_task(lookup("a"))
            await asyncio.sleep(0)
            gate.runtime.deliver(GateDirective("t1", run.id, "terminate"))
            await task


async def test_sync_tool_of_a_paused_run_on_the_loop_is_not_made():
    """It cannot wait, so a call with effects is refused; a read may go."""

    @spanward.tool
    def write():
        return "written"

    with supervised():
        async with spanward.run("bot") as run:
            run.pause(60)
            assert "paused" in write()
            assert sync_lookup("a") == {"key": "a"}


async def test_context_variables_set_by_a_tool_are_kept():
    """The call runs in the caller's own task, timeout or not."""
    variable = contextvars.ContextVar("variable", default="before")

    @spanward.tool(timeout=30)
    async def sets():
        variable.set("after")

    with supervised():
        async with spanward.run("bot"):
            await sets()

    assert variable.get() == "after"


async def test_retry_delay_ends_when_the_run_is_over():
    """A terminate during the delay is not made to wait for it."""

    def answer(span):
        return directive_for(span, "retry", delay_ms=60_000) if span.attributes.get(semconv.ERROR_TYPE) else None

    with supervised(answer) as gate, ending():
        async with spanward.run("bot") as run:
            task = asyncio.create_task(lookup("b"))
            await until(lambda: gate.control.statuses)
            run.terminate("operator")
            await task

    assert len(gate.spans.steps("tool")) == 1


async def test_async_approver_decides_for_async_tools():
    """It is awaited there; in sync code a coroutine is no yes."""

    async def approver(name, arguments):
        await asyncio.sleep(0)
        return True

    @spanward.tool(side_effect="high_risk")
    async def transfer(amount):
        return "sent"

    with supervised(approver=approver):
        async with spanward.run("bot"):
            assert await transfer(5) == "sent"


async def test_approval_can_be_waited_for():
    """With a wait set, an approve that comes meanwhile lets the call through."""
    from spanward.facts import digest

    @spanward.tool(side_effect="high_risk")
    async def transfer(amount):
        return "sent"

    with supervised(approval_wait_s=30) as gate:
        async with spanward.run("bot") as run:
            task = asyncio.create_task(transfer(5))
            await until(lambda: gate.spans.steps("validation"))
            payload = {"action_digest": digest({"amount": 5})}
            gate.runtime.deliver(GateDirective("a1", run.id, "approve", payload=payload))
            assert await task == "sent"


async def test_async_fallback_and_sync_fallback():
    """A coroutine tool may fall back to either kind."""

    async def other():
        return "async"

    for fallback, expected in ((other, "async"), (lambda: "sync", "sync")):

        @spanward.tool(side_effect="read", fallback=fallback)
        async def down():
            raise ConnectionError

        def answer(span):
            return directive_for(span, "fallback") if span.attributes.get(semconv.ERROR_TYPE) else None

        with supervised(answer):
            async with spanward.run("bot"):
                assert await down() == expected


async def test_sync_tool_does_not_await_an_async_fallback():
    """It cannot, so the answer is the degraded one."""

    async def other():
        return "async"

    @spanward.tool(side_effect="read", fallback=other)
    def down():
        raise ConnectionError

    def answer(span):
        return directive_for(span, "fallback", strategy="tool_fallback")

    def agent():
        with spanward.run("bot"):
            return down()

    with supervised(answer):
        assert "down" in await asyncio.to_thread(agent)
