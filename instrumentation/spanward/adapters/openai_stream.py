"""Streams of the openai SDK: the user's stream object stays, what it iterates over is supervised.

Words pass as they come. Tool calls are kept to the end, judged, and then handed out as the server sent them, with
repaired arguments, or not at all: then the events of the next answer follow in the same stream.
"""

import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any

from spanward.adapters.model_flow import AS_IT_IS, Decision, Exchange, requested, resumed, settled, suspended
from spanward.adapters.openai_events import Collector, Fate
from spanward.gate import Flow, OpenStep, Outcome, adrive, drive, end_step


class Live:
    """The state of one supervised stream. Holds no reference to the user's stream object."""

    def __init__(
        self, exchange: Exchange, collector: Callable[..., Collector], step: OpenStep, invoke: Callable[[Any], Any]
    ) -> None:
        self.invoke = invoke
        self._exchange = exchange
        self._make = collector
        self._collector = collector()
        self._step: OpenStep | None = step
        self._blind = False
        self.kept: list[Any] = []

    def take(self, event: object) -> Fate:
        """What becomes of an event. After a failure of ours everything passes."""
        if self._blind:
            return "release"
        try:
            fate = self._collector.take(event)
        except Exception:
            self._exchange.runtime.internal_error("reading a stream")
            self._blind = True
            return "release"
        if fate == "keep":
            self.kept.append(event)
        return fate

    def released(self) -> list[Any]:
        """The kept events, which are kept no longer."""
        kept, self.kept = self.kept, []
        return kept

    def whole(self) -> Flow:
        """At the end of an answer: verdict, and its effect on what is kept. Returns the :class:`Decision`."""
        step, self._step = self._step, None
        if step is None or self._blind:
            self._end(step)
            return AS_IT_IS
        reply = self._collector.reply()
        outcome = Outcome(reply, None, time.perf_counter())
        decision: Decision = yield from settled(
            self._exchange,
            resumed(step),
            outcome,
            reply,
            resumable=self._collector.resumable,
            replaceable=self._collector.replaceable,
        )
        if decision.again is not None:
            self.kept = []
        elif decision.arguments or decision.degraded:
            self._rewrite(decision)
        return decision

    def _rewrite(self, decision: Decision) -> None:
        try:
            if decision.degraded:
                self._collector.degrade(self.kept, decision.degraded)
            else:
                self._collector.rewrite(self.kept, decision.arguments)
        except Exception:
            self._exchange.runtime.internal_error("rewriting a stream")

    def next_answer(self) -> Flow:
        """Makes the next request of the exchange. Returns the stream of its answer."""
        self._step, stream = yield from opened(self._exchange)
        self._collector = self._make(resumed=True)
        self._blind = self._step is None
        return stream

    def abandon(self, error: BaseException | None = None) -> None:
        """Nobody reads on. Idempotent; any thread."""
        step, self._step = self._step, None
        self._end(step, error)

    @staticmethod
    def _end(step: OpenStep | None, error: BaseException | None = None) -> None:
        if step is not None:
            end_step(resumed(step), {}, error)


def opened(exchange: Exchange) -> Flow:
    """Makes a request whose answer is streamed.

    Returns:
        The open step, its span not current, and the stream.

    Raises:
        Exception: what the SDK raised.
        AgentTerminated: the run is over.
    """
    while True:
        step, outcome = yield from requested(exchange)
        if outcome.error is None:
            return suspended(step) if step is not None else None, outcome.value
        decision = yield from settled(exchange, step, outcome, None)
        if decision.again is None:
            raise outcome.error


def supervise(stream: Any, live: Live) -> None:
    """Puts a supervised iterator into a ``Stream``, in place: its type, response and methods stay."""
    events = _events(stream, stream._iterator, live)

    def close() -> None:
        stream.response.close()
        try:
            events.close()
        except ValueError:  # it is being read by another thread, and ends there
            return
        live.abandon()

    stream._iterator = events
    stream.close = close
    # A stream that is dropped before anybody reads it never enters its iterator.
    weakref.finalize(stream, live.abandon).atexit = False


def supervise_async(stream: Any, live: Live) -> None:
    """As :func:`supervise`, for an ``AsyncStream``."""
    events = _async_events(stream, stream._iterator, live)

    async def close() -> None:
        await stream.response.aclose()
        try:
            await events.aclose()
        except RuntimeError:  # it is being read by another task, and ends there
            return
        live.abandon()

    stream._iterator = events
    stream.close = close
    weakref.finalize(stream, live.abandon).atexit = False


def _events(stream: Any, source: Iterator[Any], live: Live) -> Generator[Any, None, None]:
    try:
        while True:
            try:
                for event in source:
                    fate = live.take(event)
                    if fate == "keep":
                        continue
                    if fate == "release":
                        yield from live.released()
                    yield event
            except Exception as error:
                live.abandon(error)
                yield from live.released()
                raise
            if drive(live.whole(), live.invoke).again is None:
                yield from live.released()
                return
            following = drive(live.next_answer(), live.invoke)
            stream.response, source = following.response, following._iterator
    finally:
        live.abandon()


async def _async_events(stream: Any, source: AsyncIterator[Any], live: Live) -> AsyncGenerator[Any, None]:
    try:
        while True:
            try:
                async for event in source:
                    fate = live.take(event)
                    if fate == "keep":
                        continue
                    if fate == "release":
                        for kept in live.released():
                            yield kept
                    yield event
            except Exception as error:
                live.abandon(error)
                for kept in live.released():
                    yield kept
                raise
            if (await adrive(live.whole(), live.invoke)).again is None:
                for kept in live.released():
                    yield kept
                return
            following = await adrive(live.next_answer(), live.invoke)
            stream.response, source = following.response, following._iterator
    finally:
        live.abandon()
