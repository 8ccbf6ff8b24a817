"""Life of the control stream: lazily begun, begun again, ended clean, and what the gate calls.

One daemon thread owns the stream and reads from it; a thread of gRPC's takes what there is to say from the generator of
:class:`spanward.control_client.stream.Stream`, which also keeps the time for heartbeats. Neither ever enters the user's
event loop. The sync API is used on purpose: all ``grpc.aio`` loops of a process share one poller, and a second one
beside the user's own makes both of them log errors.

Nothing here raises into the host, and nothing starts before the first run.
"""

from __future__ import annotations

import atexit
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from spanward.channel import enter_own_thread, usable
from spanward.control_client.carried import NoSpans
from spanward.control_client.hold import Holds
from spanward.control_client.outbox import Outbox, RunChange
from spanward.outage import outage
from spanward.ports import DirectiveOutcome, GateSink, Hold, InFlightCall, RunView, SpanSource, StatusState

if TYPE_CHECKING:
    from spanward.config import Settings
    from spanward.control_client.stream import Stream

log = logging.getLogger("spanward")

BACKOFF_FIRST_S: Final = 0.1
BACKOFF_LAST_S: Final = 5.0
REFUSED_BACKOFF_S: Final = 30.0
GOODBYE_S: Final = 0.25
EXIT_S: Final = 0.15


class ControlClient:
    """Implements :class:`spanward.ports.Control`.

    Attributes:
        epoch: highest fencing epoch of a detector that we were connected to.
        policy_version: of the last policy handed to the gate.
        spans: that the stream may carry.
    """

    def __init__(self, settings: Settings, gate: GateSink, *, spans_dropped: Callable[[], int] = lambda: 0) -> None:
        self.settings = settings
        self.gate = gate
        self.spans_dropped = spans_dropped
        self.instance_id = _new_id()
        self.outbox = Outbox()
        self.holds = Holds(gate.deliver)
        self.spans: SpanSource = NoSpans()
        self.outage = outage(settings.endpoint)
        self.epoch = 0
        self.policy_version = ""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stream: Stream | None = None
        self._ready = threading.Event()
        self._stop = threading.Event()
        self._begun = False
        self._off = not usable()
        _live.add(self)

    # ------------------------------------------------------------------------------------- called by the gate

    @property
    def connected(self) -> bool:
        """The stream is open and welcomed."""
        return self._ready.is_set() and not self._off

    def wait_connected(self, timeout_s: float) -> bool:
        """Starts and waits for the stream; for programs that want their first step watched too."""
        self._start()
        return not self._off and self._ready.wait(timeout_s)

    def register_run(self, run: RunView) -> None:
        """Tells of a new run, and starts the stream when it is the first."""
        self._tell(RunChange(run, started=True))

    def update_run(self, run: RunView) -> None:
        """Tells of its phase, limits or tools."""
        self._tell(RunChange(run))

    def end_run(self, run: RunView, reason: str) -> None:
        """Tells that it has ended; kept until it could be said."""
        self._tell(RunChange(run, ended=True, reason=reason))

    def hold(self, trace_id: str, span_id: str) -> Hold:
        """Registers a waiter; without a stream it is one that returns at once."""
        if not self.connected:
            return self.holds.skipped()
        waiter = self.holds.add(trace_id, span_id)
        if not self._ready.is_set():  # lost between the two: nobody else will release it
            self.holds.release_all()
        return waiter

    def status(
        self,
        directive_id: str,
        state: StatusState,
        reason: str = "",
        before: str = "",
        after: str = "",
        apply_ms: float = 0.0,
    ) -> None:
        """Tells the state of a directive; final ones are kept until they could be said."""
        if not self._off:
            self.outbox.put_status(DirectiveOutcome(directive_id, state, reason, before, after, apply_ms))

    def started(self, call: InFlightCall) -> None:
        """Has calls with effects told soon, so that a process that dies in one leaves a trace of it."""
        stream = self._stream
        if call.effects and stream is not None and not self._off:
            stream.beat_soon()

    def finished(self, span_id: str) -> None:
        """Nothing to do: heartbeats read the gate's own table, and the span tells the end."""

    def fetch_soon(self) -> bool:
        """Has the stream carry the spans that are queued; False when it cannot now."""
        stream = self._stream
        return stream is not None and self.connected and stream.fetch_soon()

    def recall(self) -> None:
        """Gives back spans that may not have arrived."""
        if (stream := self._stream) is not None:
            stream.recall()

    def shutdown(self, timeout_s: float) -> None:
        """Says what is left and goodbye, within ``timeout_s``. Idempotent."""
        if self._off:
            return
        self._off = True
        self._stop.set()
        self._ready.clear()
        thread, stream = self._thread, self._stream
        deadline = time.monotonic() + timeout_s
        if stream is not None:
            stream.say_goodbye("shutdown")
        if thread is not None and thread is not threading.current_thread():
            # An orderly end takes milliseconds; who does not take part in it is not waited for.
            thread.join(min(GOODBYE_S, timeout_s / 2))
            if thread.is_alive() and stream is not None:
                stream.cancel()
            thread.join(max(0.0, deadline - time.monotonic()))
        self.holds.release_all()
        self.outage.forget("control")
        _live.discard(self)

    def disable(self) -> None:
        """For a forked child: no gRPC, no threads, no locks; holds return at once."""
        self._off = True
        # Kept for ever: gRPC must not be asked to tear down what belongs to the parent.
        _inherited.append((self._stream, self._thread))
        self._stream = None

    # ------------------------------------------------------------------------------------------- our thread

    def _tell(self, change: RunChange) -> None:
        if not self._off:
            self.outbox.put_run(change)
            self._start()

    def _start(self) -> None:
        if self._begun or self._off:
            return
        with self._lock:
            first, self._begun = not self._begun, True
        if first:
            self._thread = threading.Thread(target=self._run, name="spanward-control", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        enter_own_thread()
        # Deferred: gRPC and protobuf load on our own thread.
        from spanward.control_client.stream import RefusedError, Stream

        backoff = BACKOFF_FIRST_S
        refusals = 0
        while not self._stop.is_set():
            stream = self._stream = Stream(self)
            if self._stop.is_set():  # a shutdown that did not see the stream would wait for it in vain
                return
            floor_s = 0.0
            try:
                ended = stream.run()
            except RefusedError as refused:
                refusals += 1
                floor_s = refused.retry_after_s or (0.0 if refused.transient else REFUSED_BACKOFF_S)
                if refused.reason == "duplicate_instance" and refusals > 1:
                    # Not the ghost of our own last stream, then: a copy of this process. It is told apart from now on.
                    self.instance_id = _new_id()
                ended = f"refused: {refused.reason}"
            except Exception as error:  # our own failure: the host must not hear more of it than of any outage
                log.debug("control stream", exc_info=True)
                ended = type(error).__name__
            finally:
                self._ready.clear()
                self.holds.release_all()
                self.outbox.stream_broke()
            if self._stop.is_set():
                return
            if stream.welcomed:
                backoff, refusals = BACKOFF_FIRST_S, 0
            if stream.asked_to_reconnect:
                self._stop.wait(random.uniform(0.0, BACKOFF_FIRST_S))  # noqa: S311 - spreads load, keeps no secret
                continue
            self.outage.failed("control", ended)
            self._stop.wait(max(floor_s, backoff) * random.uniform(0.5, 1.5))  # noqa: S311
            backoff = min(BACKOFF_LAST_S, 2 * backoff)

    # ------------------------------------------------------------------------------- called by the stream

    def welcomed(self, epoch: int) -> None:
        """The stream is up."""
        self.epoch = epoch
        self.gate.set_epoch(epoch)
        self.outage.recovered("control")
        self._ready.set()


def _new_id() -> str:
    import uuid_utils  # deferred: compiled code

    return str(uuid_utils.uuid7())


_live: weakref.WeakSet[ControlClient] = weakref.WeakSet()
_inherited: list[object] = []


def _after_fork() -> None:
    for client in list(_live):
        client.disable()


def _at_exit() -> None:
    for client in list(_live):
        client.shutdown(EXIT_S)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
