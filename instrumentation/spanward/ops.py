"""Operations that a flow yields, and the two drivers that perform them.

A flow is a generator: it yields an operation and is sent what came of it. Each operation knows how it is done in sync
code (``perform``) and in async code (``aperform``); the drivers do nothing else. An exception of the tool comes back as
an :class:`Outcome`; what is no ``Exception`` (cancellation, interrupt, exit) is thrown into the flow at its yield, so
that it can put down what it holds, and goes on to the caller.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from spanward.errors import CallInterrupted, ToolTimeout
from spanward.ports import Control, Hold, Verdict

if TYPE_CHECKING:
    from spanward.runs import Run

Invoker = Callable[[Any], Any]
Cause = Literal["", "timeout", "interrupted"]


class Outcome(NamedTuple):
    """What came of a call.

    Attributes:
        value: what it returned.
        error: what it raised, or :class:`ToolTimeout` or :class:`CallInterrupted`.
        returned_at: ``time.perf_counter()`` when it came back.
        cause: why it was cut short, or "".
        unknown: it was abandoned, and whether it had its effect is not known.
    """

    value: Any = None
    error: Exception | None = None
    returned_at: float = 0.0
    cause: Cause = ""
    unknown: bool = False


class Op(Protocol):
    """One thing to be done for a flow."""

    def perform(self, invoke: Invoker) -> Any: ...
    async def aperform(self, invoke: Invoker) -> Any: ...


Flow = Generator[Op, Any, Any]


def on_event_loop() -> bool:
    """This thread runs an event loop right now: it must not be made to wait."""
    return asyncio._get_running_loop() is not None


class CallControl:
    """Lets another thread cut a call short while it is in flight."""

    __slots__ = ("_cut", "_lock", "_over", "_wanted")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cut: Callable[[Cause], None] | None = None
        self._wanted = False
        self._over = False

    def arm(self, cut: Callable[[Cause], None]) -> None:
        """The call starts; ``cut`` ends it, from any thread."""
        with self._lock:
            self._cut = cut
            if self._wanted:
                # The call was told of before it could be cut, and somebody was quick.
                cut("interrupted")

    def disarm(self) -> None:
        """The call is over. Once this returns, nobody is cutting it."""
        with self._lock:
            self._over = True
            self._cut = None

    def interrupt(self) -> bool:
        """Cuts the call short. False when it is over. Any thread."""
        with self._lock:
            if self._over:
                return False
            if self._cut is not None and not self._wanted:
                self._cut("interrupted")
            self._wanted = True
            return True


class Invoke(NamedTuple):
    """Make the call. Sent back: its :class:`Outcome`.

    Attributes:
        arguments: handed to the driver's ``invoke``.
        timeout_s: 0 = none. An async call is cancelled; a sync one is abandoned on its worker thread.
        control: set when it may be interrupted from outside.
        worker: run a sync call on a thread of its own (needed for ``timeout_s`` and ``control``).
        fn: called instead of the driver's ``invoke``.
        label: names the thread.
    """

    arguments: Any
    attempt: int = 1
    timeout_s: float = 0.0
    control: CallControl | None = None
    worker: bool = False
    fn: Invoker | None = None
    label: str = ""

    def perform(self, invoke: Invoker) -> Outcome:
        call = self.fn or invoke
        if self.worker:
            return _on_worker(self, call)
        try:
            value = call(self.arguments)
        except Exception as error:
            return Outcome(None, error, time.perf_counter())
        return Outcome(value, None, time.perf_counter())

    async def aperform(self, invoke: Invoker) -> Outcome:
        call = self.fn or invoke
        if self.control is not None or self.timeout_s:
            return await _cancellable(self, call)
        try:
            value = call(self.arguments)
            if inspect.isawaitable(value):
                value = await value
        except Exception as error:
            return Outcome(None, error, time.perf_counter())
        return Outcome(value, None, time.perf_counter())


class Wait(NamedTuple):
    """Wait for the verdict of a hold. Sent back: the :class:`Verdict`, or None where this thread must not wait."""

    hold: Hold
    timeout_s: float

    def perform(self, _invoke: Invoker) -> Verdict | None:
        if not on_event_loop():
            return self.hold.wait(self.timeout_s)
        verdict = self.hold.wait(0)
        return None if verdict.kind == "timeout" else verdict

    async def aperform(self, _invoke: Invoker) -> Verdict:
        return await self.hold.wait_async(self.timeout_s)


class Connect(NamedTuple):
    """Wait for the stream to be opened for the first time. Sent back: nothing, for who asks next looks himself."""

    client: Control
    timeout_s: float

    def perform(self, _invoke: Invoker) -> None:
        if not on_event_loop():
            self.client.wait_connected(self.timeout_s)

    async def aperform(self, _invoke: Invoker) -> None:
        await asyncio.to_thread(self.client.wait_connected, self.timeout_s)


class Sleep(NamedTuple):
    """Let time pass, but not for a run that is over."""

    run: Run
    seconds: float

    def perform(self, _invoke: Invoker) -> None:
        if not on_event_loop():
            self.run.bell.wait(self.run.is_over, self.seconds)

    async def aperform(self, _invoke: Invoker) -> None:
        await self.run.bell.wait_async(self.run.is_over, self.seconds)


class Paused(NamedTuple):
    """Wait until the run is resumed, is over, or has waited out its lease.

    Sent back: True when it may go on or is over, False when its lease is, None where this thread must not wait.
    """

    run: Run

    def perform(self, _invoke: Invoker) -> bool | None:
        if on_event_loop():
            return None
        return self.run.bell.wait(self.run.may_move, self.run.lease_left_s())

    async def aperform(self, _invoke: Invoker) -> bool:
        return await self.run.bell.wait_async(self.run.may_move, self.run.lease_left_s())


class Approval(NamedTuple):
    """Wait for somebody to decide on the action with this digest. Sent back: True, False, or None for no answer."""

    run: Run
    action_digest: str
    timeout_s: float

    def perform(self, _invoke: Invoker) -> bool | None:
        if not on_event_loop():
            self.run.bell.wait(self._decided, self.timeout_s)
        return self.run.approvals.get(self.action_digest)

    async def aperform(self, _invoke: Invoker) -> bool | None:
        await self.run.bell.wait_async(self._decided, self.timeout_s)
        return self.run.approvals.get(self.action_digest)

    def _decided(self) -> bool:
        return self.action_digest in self.run.approvals or self.run.is_over()


def drive(flow: Flow, invoke: Invoker) -> Any:
    """Performs a flow in sync code; ``invoke(arguments)`` makes the call itself."""
    try:
        op = next(flow)
        while True:
            try:
                answer = op.perform(invoke)
            except BaseException as error:
                op = flow.throw(error)
            else:
                op = flow.send(answer)
    except StopIteration as stop:
        return stop.value


async def adrive(flow: Flow, invoke: Invoker) -> Any:
    """Performs a flow in async code; ``invoke(arguments)`` may return an awaitable or a value."""
    try:
        op = next(flow)
        while True:
            try:
                answer = await op.aperform(invoke)
            except BaseException as error:
                op = flow.throw(error)
            else:
                op = flow.send(answer)
    except StopIteration as stop:
        return stop.value


def _cut_short(cause: Cause, label: str, unknown: bool) -> Outcome:
    error: Exception = (
        ToolTimeout(f"{label} timed out") if cause == "timeout" else CallInterrupted(f"{label} was interrupted")
    )
    return Outcome(None, error, time.perf_counter(), cause, unknown)


def _on_worker(op: Invoke, call: Invoker) -> Outcome:
    """Runs a sync call on a thread of its own, which is left behind when the call is cut short."""
    settled = threading.Event()
    lock = threading.Lock()
    outcomes: list[Outcome] = []
    fatal: list[BaseException] = []
    context = contextvars.copy_context()

    def settle(outcome: Outcome) -> None:
        with lock:
            if not outcomes:
                outcomes.append(outcome)
        settled.set()

    def work() -> None:
        try:
            value = context.run(call, op.arguments)
        except Exception as error:
            settle(Outcome(None, error, time.perf_counter()))
        except BaseException as error:
            fatal.append(error)
            settled.set()
        else:
            settle(Outcome(value, None, time.perf_counter()))

    # A daemon: an abandoned call must not keep the process from ending.
    threading.Thread(target=work, name=f"spanward-{op.label}", daemon=True).start()
    if op.control is not None:
        op.control.arm(lambda cause: settle(_cut_short(cause, op.label, unknown=True)))
    try:
        if not settled.wait(op.timeout_s or None):
            settle(_cut_short("timeout", op.label, unknown=True))
    finally:
        if op.control is not None:
            op.control.disarm()
    if fatal:
        raise fatal[0]
    return outcomes[0]


async def _cancellable(op: Invoke, call: Invoker) -> Outcome:
    """Awaits a call in this very task, so that context variables it sets are kept, and cancels only the call.

    As ``asyncio.timeout``: the task is cancelled and, outside the call, uncancelled; a cancellation by others wins.
    """
    task = asyncio.current_task()
    if task is None:  # driven by something that is no task: nothing to cancel
        return await op._replace(control=None, timeout_s=0.0).aperform(call)
    loop = asyncio.get_running_loop()
    others = task.cancelling()
    cause: Cause = ""
    over = False

    def cut(why: Cause) -> None:
        nonlocal cause
        if not over and not cause:
            cause = why
            task.cancel()

    timer = loop.call_later(op.timeout_s, cut, "timeout") if op.timeout_s else None
    if op.control is not None:
        op.control.arm(lambda why: _soon(loop, cut, why))
    value: Any = None
    error: Exception | None = None
    try:
        value = call(op.arguments)
        if inspect.isawaitable(value):
            value = await value
    except asyncio.CancelledError:
        if not cause or task.uncancel() > others:
            raise
        return _cut_short(cause, op.label, unknown=False)
    except Exception as caught:
        error = caught
    finally:
        over = True
        if timer is not None:
            timer.cancel()
        if op.control is not None:
            op.control.disarm()
    if cause:
        # The call swallowed its cancellation and came back all the same: what it says counts.
        task.uncancel()
    return Outcome(value, error, time.perf_counter())


def _soon(loop: asyncio.AbstractEventLoop, cut: Callable[[Cause], None], cause: Cause) -> None:
    try:
        loop.call_soon_threadsafe(cut, cause)
    except RuntimeError:
        # The loop is closed, and the call with it.
        return
