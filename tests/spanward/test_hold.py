"""Waiters for verdicts: sync, async, early, late, cancelled."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from spanward.control_client.hold import HOLDS_MAX, Holds
from spanward.ports import GateDirective, Verdict

from tests.spanward.fake_detector import until

ORDER = GateDirective("d", "run", "feedback")


class Late(list[GateDirective]):
    pass


@pytest.fixture
def late() -> Late:
    return Late()


@pytest.fixture
def holds(late: Late) -> Holds:
    return Holds(late.append)


def test_an_answer_before_the_wait_is_kept(holds: Holds) -> None:
    """The detector may be faster than the gate: the verdict waits for its waiter."""
    waiter = holds.add("t", "s")
    assert holds.answer("t", "s", ORDER)
    assert waiter.wait(1) == Verdict("directive", ORDER)


def test_an_answer_wakes_a_thread(holds: Holds) -> None:
    """A blocked thread gets the verdict long before its deadline."""
    waiter = holds.add("t", "s")
    threading.Timer(0.01, holds.answer, ("t", "s", None)).start()
    began = time.monotonic()
    assert waiter.wait(10) == Verdict("none")
    assert time.monotonic() - began < 5


def test_silence_ends_at_the_deadline(holds: Holds) -> None:
    """Nobody answers: the wait ends as a timeout, and what comes later finds no waiter."""
    waiter = holds.add("t", "s")
    assert waiter.wait(0.01) == Verdict("timeout")
    assert not holds.answer("t", "s", ORDER)
    assert len(holds) == 0
    began = time.monotonic()
    assert waiter.wait(10) == Verdict("timeout")
    assert time.monotonic() - began < 5


def test_looking_leaves_the_waiter_in_place(holds: Holds) -> None:
    """A wait of no time only looks: the verdict can still be taken at the next safe point."""
    waiter = holds.add("t", "s")
    assert waiter.wait(0) == Verdict("timeout")
    holds.answer("t", "s", ORDER)
    assert waiter.wait(0) == Verdict("directive", ORDER)


def test_waiters_do_not_wait_for_each_other(holds: Holds) -> None:
    """Verdicts are keyed by span: answered in any order, each thread gets its own."""
    waiters = {name: holds.add("t", name) for name in "abc"}
    got: dict[str, Verdict] = {}
    threads = [
        threading.Thread(target=lambda name=name, waiter=waiter: got.update({name: waiter.wait(10)}))
        for name, waiter in waiters.items()
    ]
    for thread in threads:
        thread.start()
    for name in "cab":
        holds.answer("t", name, GateDirective(name, "run", "retry"))
    for thread in threads:
        thread.join(5)
    assert {name: verdict.directive and verdict.directive.id for name, verdict in got.items()} == {n: n for n in "abc"}


def test_a_directive_that_nobody_took_is_delivered_late(holds: Holds, late: Late) -> None:
    """Cancelling after the answer hands the directive on; cancelling twice does nothing more."""
    waiter = holds.add("t", "s")
    holds.answer("t", "s", ORDER)
    waiter.cancel()
    waiter.cancel()
    assert late == [ORDER]


def test_cancelling_before_the_answer_forgets_the_waiter(holds: Holds, late: Late) -> None:
    """A cancelled waiter is out of the table and delivers nothing itself."""
    waiter = holds.add("t", "s")
    waiter.cancel()
    assert not holds.answer("t", "s", ORDER)
    assert late == []


def test_a_lost_stream_releases_everybody(holds: Holds) -> None:
    """When the stream breaks, those who wait go on at once and can tell that nobody was asked."""
    waiter = holds.add("t", "s")
    threading.Timer(0.01, holds.release_all).start()
    assert waiter.wait(10) == Verdict("skipped")


def test_waiters_are_bounded(holds: Holds) -> None:
    """Beyond the bound nobody is asked, and nothing grows."""
    for number in range(HOLDS_MAX):
        holds.add("t", str(number))
    assert holds.add("t", "more").wait(10) == Verdict("skipped")
    assert len(holds) == HOLDS_MAX


async def test_async_waiting_leaves_the_loop_free(holds: Holds) -> None:
    """A coroutine waits while others run; an answer from another thread wakes it."""
    waiter = holds.add("t", "s")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    other = asyncio.create_task(tick())
    threading.Timer(0.03, holds.answer, ("t", "s", ORDER)).start()
    assert await waiter.wait_async(10) == Verdict("directive", ORDER)
    other.cancel()
    assert ticks > 3


async def test_async_early_answer_and_timeout(holds: Holds) -> None:
    """An early answer needs no waiting; silence ends at the deadline and frees the table."""
    early = holds.add("t", "early")
    holds.answer("t", "early", None)
    assert await early.wait_async(10) == Verdict("none")
    assert await holds.add("t", "never").wait_async(0.01) == Verdict("timeout")
    assert len(holds) == 0


async def test_cancelling_the_task_ends_the_waiter(holds: Holds) -> None:
    """Cancellation passes through the wait, and the waiter is gone."""
    task = asyncio.create_task(holds.add("t", "s").wait_async(10))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(holds) == 0


def test_an_answer_for_a_closed_loop_is_harmless(holds: Holds) -> None:
    """The loop that waited may be gone by the time of the answer: the control thread must not feel it."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(holds.add("t", "s").wait_async(10))
    loop.run_until_complete(asyncio.sleep(0.001))
    loop.close()
    assert holds.answer("t", "s", ORDER)
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # left behind on purpose


def test_giving_up_and_answering_at_once_lose_no_verdict(holds: Holds, late: Late) -> None:
    """Whatever the race, each directive is taken exactly once: by its waiter, or as a late one."""
    taken = 0
    for number in range(300):
        waiter = holds.add("t", str(number))
        order = GateDirective(str(number), "run", "retry")

        def answer(number: int = number, order: GateDirective = order) -> None:
            if not holds.answer("t", str(number), order):
                late.append(order)

        thread = threading.Thread(target=answer)
        thread.start()
        taken += waiter.wait(0.0001).directive is not None
        thread.join()
    until(lambda: taken + len(late) == 300)
