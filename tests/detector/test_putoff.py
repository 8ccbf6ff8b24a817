"""What is put off while an agent waits: in order, once, and never later than what builds on it."""

from __future__ import annotations

import asyncio

import pytest
from spanward_detector import putoff
from spanward_detector.putoff import PutOff


@pytest.fixture
async def commit() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


async def test_the_rest_follows_the_commit_by_itself(commit: asyncio.Future[None]) -> None:
    """Not at once, for the directive is written to its stream first; and not before."""
    later, done = PutOff(), asyncio.Event()
    later.until_committed(commit, done.set)
    await asyncio.sleep(0)
    assert later.committing
    commit.set_result(None)
    await asyncio.sleep(0)
    assert not done.is_set()

    await asyncio.wait_for(done.wait(), 5)
    assert not later.committing


async def test_a_commit_that_fails_costs_nothing_of_the_rest(commit: asyncio.Future[None]) -> None:
    """What was seen was seen, whatever the disk says."""
    later, done = PutOff(), asyncio.Event()
    later.until_committed(commit, done.set)
    commit.set_exception(OSError("disk full"))

    await asyncio.wait_for(done.wait(), 5)
    assert isinstance(commit.exception(), OSError)


async def test_news_are_told_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without anybody asking."""
    monkeypatch.setattr(putoff, "NEWS_S", 0.0)
    told = asyncio.Event()
    PutOff().until_told(told.set)

    await asyncio.wait_for(told.wait(), 5)


async def test_who_changes_the_state_comes_after_all_that_was_put_off(commit: asyncio.Future[None]) -> None:
    """News first, then the rest in its order, each once; who only uses the state does not have to wait for news."""
    later, done = PutOff(), list[str]()
    later.until_told(lambda: done.append("news"))
    later.settle()
    assert done == []
    later.until_committed(commit, lambda: done.append("rest"))
    later.until_committed(commit, lambda: done.append("more"))

    later.settle()
    later.catch_up()

    assert done == ["news", "rest", "more"]


async def test_a_fault_costs_neither_the_others_nor_who_comes_next(commit: asyncio.Future[None]) -> None:
    """Each is done by itself."""
    later, done = PutOff(), list[int]()
    later.until_committed(commit, lambda: done.append(1 // 0))
    later.until_committed(commit, lambda: done.append(2))

    later.settle()

    assert done == [2]
