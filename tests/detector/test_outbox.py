"""What waits for one agent: bounded, orders to stop survive, nothing is lost without a word."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_control.v1 import control_pb2 as pb
from spanward_detector.control.outgoing import ClosedError, Outbound, Outgoing

LIMIT = 8


def item(
    number: int, cls: str = "directive", *, urgent: bool = False, key: str = "", log: list | None = None
) -> Outbound:
    log = [] if log is None else log
    message = pb.DetectorToAgent(seq=number)
    return Outbound(message, cls, key=key, urgent=urgent, dropped=lambda reason: log.append((number, reason)))


def drain(queue: Outgoing) -> list[int]:
    async def take() -> list[int]:
        return [(await queue.get()).message.seq for _ in range(len(queue))]

    return asyncio.run(take())


def test_messages_leave_in_the_order_in_which_they_came() -> None:
    """Up to the limit it is a plain queue."""
    queue = Outgoing(LIMIT)
    for n in range(LIMIT):
        queue.offer(item(n))

    assert drain(queue) == list(range(LIMIT))


def test_the_newest_order_to_stop_survives_a_full_queue() -> None:
    """Ordinary directives and answers give way to it, with a reason."""
    dropped: list = []
    queue = Outgoing(LIMIT)
    queue.offer(item(0, urgent=True, log=dropped))
    for n in range(1, 1_000):
        queue.offer(item(n, "answer" if n % 2 else "directive", log=dropped))
    queue.offer(item(1_000, urgent=True, log=dropped))

    left = drain(queue)

    assert {0, 1_000} <= set(left)
    assert len(left) == LIMIT
    assert len(dropped) == 1_001 - LIMIT
    assert {reason for _, reason in dropped} == {"queue_full"}


def test_of_too_many_orders_to_stop_the_newest_survive() -> None:
    """Even they cannot make the queue grow."""
    queue = Outgoing(LIMIT)
    for n in range(100):
        queue.offer(item(n, urgent=True))

    assert drain(queue) == list(range(100 - LIMIT, 100))


def test_a_newer_state_overtakes_the_older_one() -> None:
    """Of the moves of one run only the last has to be known."""
    dropped: list = []
    queue = Outgoing(LIMIT)
    for n, key in enumerate(["a", "b", "a"]):
        queue.offer(item(n, "state", key=key, log=dropped))

    assert drain(queue) == [1, 2]
    assert dropped == [(0, "overtaken")]


def test_a_closed_queue_drops_what_waits_and_what_comes() -> None:
    """With the reason for which it was closed."""
    dropped: list = []
    queue = Outgoing(LIMIT)
    queue.offer(item(1, log=dropped))
    queue.close("disconnected")
    queue.offer(item(2, log=dropped))

    assert dropped == [(1, "disconnected"), (2, "disconnected")]
    assert len(queue) == 0


async def test_a_reader_that_waits_is_told_of_the_end() -> None:
    """So that its stream can end clean."""
    queue = Outgoing(LIMIT)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.close("disconnected")

    with pytest.raises(ClosedError, match="disconnected"):
        await waiting


async def test_the_reader_waits_until_there_is_something() -> None:
    """It is woken by the next message, and may give up waiting."""
    queue = Outgoing(LIMIT)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.offer(item(5))
    assert (await waiting).message.seq == 5

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 0.01)
    queue.offer(item(6))
    assert (await queue.get()).message.seq == 6


@given(
    st.lists(
        st.tuples(st.sampled_from(["answer", "directive", "state"]), st.booleans(), st.sampled_from(["", "a", "b"])),
        max_size=60,
    )
)
def test_every_message_is_either_there_or_dropped_once(offers: list[tuple[str, bool, str]]) -> None:
    """None is lost without a word, none is both, and the bound holds after every step."""
    dropped: list = []
    queue = Outgoing(LIMIT)
    for n, (cls, urgent, key) in enumerate(offers):
        queue.offer(item(n, cls, urgent=urgent and cls == "directive", key=key, log=dropped))
        assert len(queue) <= LIMIT

    left = drain(queue)

    assert sorted(left + [number for number, _ in dropped]) == list(range(len(offers)))
    assert left == sorted(left)
