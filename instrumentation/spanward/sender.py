"""Sends spans to the detector, or to a Collector before it: at once when somebody waits, else within 10 ms.

The host's threads only append to a deque and wake a worker (about 10 microseconds). gRPC, encoding, waiting, and the
attributes that were put off are left to daemon threads of our own, which block in plain unary calls: a call made with
``future()`` on an idle channel starts a thread inside gRPC each time (0.3 to 0.7 ms of the caller's) and arrives no
sooner. As many calls are in flight as there are workers. What cannot be sent now is kept as bytes, bounded, oldest
dropped first, and sent again when the peer is back; the detector knows spans by their ids, so twice does no harm.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from spanward.backlog import Backlog
from spanward.channel import MAX_MESSAGE_BYTES, enter_own_thread, open_channel, status_code, usable
from spanward.outage import outage
from spanward.span_codec import Batch, Queued, encode_batches

if TYPE_CHECKING:
    import grpc
    from opentelemetry.sdk.resources import Resource

    from spanward.ports import Carrier

log = logging.getLogger("spanward")

METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
QUEUE_SPANS: Final = 4096
"""Spans that wait to be encoded."""
BATCH_BYTES: Final = MAX_MESSAGE_BYTES - 64 * 1024
BATCH_SPANS: Final = 512
FLUSH_S: Final = 0.01
CALL_S: Final = 2.0
"""Deadline of one call. Longer than any hold: an answer that is late for the hold is still an arrival."""
WORKERS: Final = 4
RETRY_FIRST_S: Final = 0.1
RETRY_LAST_S: Final = 2.0
EXIT_S: Final = 0.3

_RETRIABLE: Final = frozenset({
    "CANCELLED", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS",
})  # fmt: skip
"""As the OTLP specification has it; with other codes the same request would fail again."""


class SpanSender:
    """Bounded queue and workers. Starts no thread before the first span; every method is safe on any thread.

    Attributes:
        dropped: spans that will never leave: overflow, too big, or refused for good.
        sent: spans that the peer has accepted.
    """

    def __init__(self, address: str, resource: Callable[[], Resource], *, call_s: float = CALL_S) -> None:
        self._address = address
        self._resource = resource
        self._call_s = call_s
        self._outage = outage(address)
        self._lock = threading.Lock()
        self._queue: deque[Queued] = deque()
        self._backlog = Backlog()
        self._urgent: queue.SimpleQueue[bool] = queue.SimpleQueue()  # True: look at the queue; False: stop
        self._soon = threading.Event()
        self._stop = threading.Event()
        self._idle = threading.Condition(self._lock)
        self._busy = 0  # workers with spans in their hands
        self._workers = 0
        self._flushing = False
        self._threads: list[threading.Thread] = []
        self._channel: grpc.Channel | None = None
        self._export: Callable[..., bytes] | None = None
        self._retry_at = 0.0
        self._retry_s = 0.0  # 0: the last call got through
        self._reached_at = 0.0  # when a call last got through
        self._stuck = False  # a flush ran out of time, and nothing got through since
        self._warmed = False
        self._connected_once = False
        self._off = not usable()
        self._carrier: Carrier | None = None
        self.dropped = 0
        self.sent = 0
        _live.add(self)

    # ------------------------------------------------------------------------------------- called by the host

    def put(self, item: Queued, *, arm: bool = True) -> None:
        """Queues a span; ``arm`` has it sent within 10 ms, otherwise it waits for :meth:`arm` or :meth:`kick`."""
        if self._off:
            return
        # Appending needs no lock: workers take only as many as they have seen.
        self._queue.append(item)
        if len(self._queue) > QUEUE_SPANS:
            self._drop_oldest()
        if arm:
            self.arm()

    def _drop_oldest(self) -> None:
        with self._lock:
            if len(self._queue) > QUEUE_SPANS:
                self._queue.popleft()
                self.dropped += 1

    def arm(self) -> None:
        """What is queued leaves within 10 ms."""
        if self._soon.is_set() or self._off:
            return
        self._soon.set()
        if not self._flushing:
            self._start_flusher()

    def kick(self, *, held: bool = False) -> None:
        """What is queued leaves now; where somebody waits for it, by the control stream if that can carry it."""
        if self._off or (held and self._carrier is not None and self._carrier.fetch_soon()):
            return
        with self._lock:
            waiting = self._urgent.qsize()
            spare = self._workers - self._busy - waiting
            spawn = spare <= 0 and self._workers < WORKERS
            if spawn:
                self._workers += 1
        if spawn:
            self._start(self._work, f"spanward-spans-{self._workers}")
        elif waiting > WORKERS:
            return  # each token has a worker take the whole queue: more of them change nothing
        self._urgent.put(True)

    def warm(self) -> None:
        """Connects, so that the first span that somebody waits for need not. Once."""
        if not self._warmed and not self._off:
            self._warmed = True
            self.kick()

    def flush(self, timeout_s: float) -> bool:
        """Waits until everything has left. False when it has not, or was lost; in an outage after one more try."""
        if self._off:
            return False
        lost = self.dropped
        deadline = time.monotonic() + timeout_s
        if self._carrier is not None:
            self._carrier.recall()
        self.kick()
        with self._idle:
            while self._queue or self._busy or self._backlog:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._stuck = True
                    return False
                if self._retry_s and not self._queue and not self._busy:
                    return False  # tried, and kept for when the peer is back
                self._idle.wait(left)
        return self.dropped == lost

    def shutdown(self, timeout_s: float) -> None:
        """Sends what it can within ``timeout_s`` and stops. Idempotent."""
        if self._off:
            return
        deadline = time.monotonic() + timeout_s
        if (self._queue or self._busy) and not self._retry_s and not self._stuck:
            self.flush(timeout_s)
        self._off = True
        self._stop.set()
        self._soon.set()
        for _ in range(self._workers):
            self._urgent.put(False)
        with self._lock:
            channel, self._channel = self._channel, None
            self.dropped += len(self._queue) + self._backlog.clear()
            self._queue.clear()
        if channel is not None:
            channel.close()  # ends the calls in flight, so that their threads end too
        for thread in self._threads:
            # A thread that is inside gRPC while the interpreter goes down can take the process with it.
            thread.join(max(0.05, deadline - time.monotonic()))
        self._outage.forget("spans")
        _live.discard(self)

    def disable(self) -> None:
        """For a forked child: gRPC is not usable there, and no lock of ours may be touched."""
        self._off = True
        # Kept for ever: gRPC must not be asked to tear down what belongs to the parent.
        _inherited.append((self._channel, self._export))
        self._channel = self._export = None

    # ------------------------------------------------------------------------------- called by the control stream

    def carried_by(self, carrier: Carrier) -> None:
        """From now on the control stream may fetch what somebody waits for."""
        self._carrier = carrier

    def take(self) -> list[Batch]:
        """Encodes what is queued; it is the caller's now."""
        items = [] if self._off else self._in_hand()
        if not items:
            return []
        try:
            return self._encoded(items)
        finally:
            self._out_of_hand()

    def give_back(self, batches: list[Batch]) -> None:
        """Has them sent by a call, at once."""
        if self._off:
            self._drop(sum(batch.spans for batch in batches))
            return
        with self._lock:
            self.dropped += sum(map(self._backlog.keep, batches))
        self.kick()

    def count_sent(self, spans: int) -> None:
        """So many have arrived."""
        with self._lock:
            self.sent += spans

    # ------------------------------------------------------------------------------------------- our threads

    def _start_flusher(self) -> None:
        with self._lock:
            if self._flushing:
                return
            self._flushing = True
        self._start(self._flush_loop, "spanward-spans")

    def _start(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        enter_own_thread()
        if not self._connected_once:
            self._connected_once = True
            self._send(Batch(b"", 0))
        while self._urgent.get() and not self._off:
            self._send_queue()
            if self._backlog and not self._retry_s:
                self._send_backlog()

    def _flush_loop(self) -> None:
        enter_own_thread()
        while not self._off:
            self._soon.wait(self._pause_s())
            if self._stop.wait(FLUSH_S):
                return
            self._soon.clear()
            if self._retry_s and time.monotonic() < self._retry_at:
                continue
            self._send_queue()
            self._send_backlog()

    def _pause_s(self) -> float | None:
        """Seconds until the flusher has to look again although nobody calls it."""
        if not self._backlog:
            return None
        return max(0.0, self._retry_at - time.monotonic())

    def _send_queue(self) -> None:
        while not self._off:
            items = self._in_hand()
            if not items:
                return
            try:
                for batch in self._encoded(items):
                    self._send(batch)
            except Exception:  # a thread of ours must not end, nor be heard in the host
                log.debug("spans could not be sent", exc_info=True)
                self._drop(len(items))
            finally:
                self._out_of_hand()

    def _in_hand(self) -> list[Queued]:
        """The oldest spans that are queued; :meth:`_out_of_hand` is to be called after them, when there are some."""
        with self._lock:
            items = [self._queue.popleft() for _ in range(min(BATCH_SPANS, len(self._queue)))]
            self._busy += bool(items)
        return items

    def _out_of_hand(self) -> None:
        with self._idle:
            self._busy -= 1
            self._idle.notify_all()

    def _encoded(self, items: list[Queued]) -> list[Batch]:
        """Requests of these spans. Never raises: what cannot be encoded is dropped."""
        try:
            batches, unfit = encode_batches(items, self._resource(), BATCH_BYTES)
        except Exception:
            log.debug("spans could not be encoded", exc_info=True)
            batches, unfit = [], len(items)
        self._drop(unfit)
        return batches

    def _send_backlog(self) -> None:
        while not self._off:
            with self._lock:
                if not self._backlog:
                    return
                batch = self._backlog.take()
                self._busy += 1
            try:
                if not self._send(batch):
                    return
            finally:
                self._out_of_hand()

    def _send(self, batch: Batch) -> bool:
        """One call. False when the peer could not be reached; then the batch is in the backlog."""
        import grpc  # deferred to our own thread

        began = time.monotonic()
        try:
            answer = self._stub()(batch.payload, timeout=self._call_s)
        except (grpc.RpcError, ValueError) as error:  # ValueError: the channel was closed meanwhile
            self._failed(batch, status_code(error), began)
            return False
        with self._lock:
            self.sent += batch.spans
            self._retry_s = 0.0
            self._stuck = False
            self._reached_at = time.monotonic()
        self._outage.recovered("spans")
        if answer:
            self._drop(_rejected(answer))
        if self._backlog:
            self.arm()
        return True

    def _stub(self) -> Callable[..., bytes]:
        with self._lock:
            if self._export is None:
                if self._off:
                    raise ValueError("closed")
                self._channel = open_channel(self._address)
                self._export = self._channel.unary_unary(METHOD)
            return self._export

    def _failed(self, batch: Batch, code: str, began: float) -> None:
        if code not in _RETRIABLE:
            self._drop(batch.spans)
            self._outage.failed("spans", f"spans refused: {code}")
            return
        with self._lock:
            # Of calls side by side the slow one may fail after the peer is back: that is no new outage.
            outdated = began < self._reached_at
            if not outdated:
                self._retry_s = min(RETRY_LAST_S, 2 * self._retry_s or RETRY_FIRST_S)
                self._retry_at = time.monotonic() + self._retry_s
            self.dropped += self._backlog.keep(batch)
        if not self._off:
            if not outdated:
                self._outage.failed("spans", code)
            self.arm()

    def _drop(self, spans: int) -> None:
        if spans:
            with self._lock:
                self.dropped += spans


def _rejected(answer: bytes) -> int:
    """Spans that an ``ExportTraceServiceResponse`` says it rejected."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # deferred: answers are empty as a rule
        ExportTraceServiceResponse,
    )

    try:
        return int(ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)
    except Exception:  # a garbled answer says nothing about the spans
        return 0


_live: weakref.WeakSet[SpanSender] = weakref.WeakSet()
_inherited: list[object] = []


def _after_fork() -> None:
    for sender in list(_live):
        sender.disable()


def _at_exit() -> None:
    for sender in list(_live):
        sender.shutdown(EXIT_S)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
