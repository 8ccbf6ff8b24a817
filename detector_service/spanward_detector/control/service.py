"""``ControlService.Connect``: one coroutine per stream reads, one writes."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Final

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from spanward_control.v1 import control_pb2 as pb

from spanward_detector.config import ServerConfig
from spanward_detector.control import codec
from spanward_detector.control.outgoing import ClosedError, Outbound, Outgoing
from spanward_detector.control.session import Session
from spanward_detector.control.watch import Watch
from spanward_detector.engine import Engine
from spanward_detector.intake import Intake
from spanward_detector.metrics import Metrics
from spanward_detector.store import Store

_log = logging.getLogger(__name__)

SERVICE: Final = "spanward_control.v1.ControlService"
_HELLO_S: Final = 10.0
_LAST_WRITE_S: Final = 1.0

Context = grpc.aio.ServicerContext[bytes, bytes]


class ControlService:
    """Serves agents.

    Args:
        engine: what follows from what they say.
        intake: takes the spans that they send on the stream.
        watch: told of heartbeats and of streams that come and go.
        store: for the epoch.
        metrics: what is counted.
        config: sizes and times.
        detector_id: of this process.
        monotonic: clock.
        jitter: a number from -1 to 1, for the age of a stream.
    """

    def __init__(
        self,
        engine: Engine,
        intake: Intake,
        watch: Watch,
        store: Store,
        metrics: Metrics,
        config: ServerConfig,
        detector_id: str,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = lambda: random.uniform(-1, 1),  # noqa: S311 - spreads load, hides nothing
    ) -> None:
        self._engine = engine
        self._intake = intake
        self._watch = watch
        self._store = store
        self._metrics = metrics
        self._config = config
        self._detector_id = detector_id
        self._monotonic = monotonic
        self._jitter = jitter
        self._stopping = asyncio.Event()

    def handler(self) -> grpc.GenericRpcHandler:
        """For :meth:`grpc.aio.Server.add_generic_rpc_handlers`. Messages stay bytes: we say what is wrong with them."""
        connect: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self.connect)
        return grpc.method_handlers_generic_handler(SERVICE, {"Connect": connect})

    def stop(self) -> None:
        """Ask every agent to come back elsewhere, or later."""
        self._stopping.set()

    # ----------------------------------------------------------------------------------------------------- one stream

    async def connect(self, _requests: object, context: Context) -> None:
        """Serve one stream until either side ends it."""
        try:
            await self._stream(context)
        except _BadMessageError as error:
            await context.abort(error.code, error.detail)

    async def _stream(self, context: Context) -> None:
        hello = await self._hello(context)
        if hello is None:
            return
        session = Session(
            instance_id=hello.instance_id,
            service=hello.service_name[: codec.MAX_LINE],
            accepts=codec.accepted_kinds(hello.accepts),
            outgoing=Outgoing(self._config.stream_queue),
            heard_at=self._monotonic(),
        )
        if not self._engine.sessions.add(session):
            await self._refuse(context, "duplicate_instance", "this instance id has a live stream already")
            return
        _log.info("agent connected", extra={"instance": session.instance_id, "service": session.service})
        try:
            await self._serve(context, session, hello)
        finally:
            self._engine.sessions.remove(session)
            session.outgoing.close("disconnected")
            self._watch.disconnected(session)
            _log.info("agent disconnected", extra={"instance": session.instance_id, "reason": session.said_goodbye})

    async def _hello(self, context: Context) -> pb.Hello | None:
        try:
            first = await asyncio.wait_for(self._read(context), _HELLO_S)
        except TimeoutError:
            first = None
        if first is None or first.WhichOneof("message") != "hello":
            await self._refuse(context, "bad_hello", "the first message must be Hello")
            return None
        hello = first.hello
        if not hello.instance_id or len(hello.instance_id) > codec.MAX_ID:
            await self._refuse(context, "bad_hello", f"instance_id must have 1 to {codec.MAX_ID} characters")
            return None
        return hello

    async def _refuse(self, context: Context, reason: str, message: str) -> None:
        self._metrics.refused.add(reason)
        _log.warning("stream refused", extra={"reason": reason, "peer": context.peer()})
        answer = codec.refused(reason, message, retry_after_ms=1000)
        answer.seq = 1
        await context.write(answer.SerializeToString())

    async def _serve(self, context: Context, session: Session, hello: pb.Hello) -> None:
        if hello.last_epoch > self._store.epoch:  # our store is younger than the agent's memory
            await self._store.raise_epoch(hello.last_epoch)
        source = self._engine.pipeline.policy
        policy = codec.policy(source) if hello.policy_version != source.version else None
        heartbeat_ms = int(self._config.heartbeat_s * 1000)
        self._say(session, codec.welcome(self._store.epoch, heartbeat_ms, self._detector_id, policy))
        runs = codec.agent_runs(hello.runs)
        self._watch.connected(session, [run.run_id for run in runs])
        for run in runs:
            self._engine.register(session, run, fresh=False)
        loop = asyncio.get_running_loop()
        reader = loop.create_task(self._listen(context, session))
        writer = loop.create_task(self._speak(context, session))
        ending = loop.create_task(self._age(session))
        tasks = (reader, writer, ending)
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if ending in done and not writer.done():
                await asyncio.wait([writer], timeout=_LAST_WRITE_S)
        finally:
            # a write that is cancelled in the middle leaves no room for the status at the end of the stream
            session.outgoing.close("disconnected")
            await asyncio.wait([writer], timeout=_LAST_WRITE_S)
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, _BadMessageError):
                raise result
            if isinstance(result, Exception) and not isinstance(result, _ENDINGS):
                _log.error(
                    "a stream ended by a fault of ours", exc_info=result, extra={"instance": session.instance_id}
                )

    async def _age(self, session: Session) -> None:
        """Until the stream has its age, so that agents spread over detectors again; or until we stop."""
        age = self._config.stream_age_s * (1 + 0.1 * self._jitter())
        reason = "age"
        try:
            await asyncio.wait_for(self._stopping.wait(), age)
            reason = "shutdown"
        except TimeoutError:
            pass
        self._say(session, codec.reconnect(reason))

    # ----------------------------------------------------------------------------------------------------------- write

    @staticmethod
    def _say(session: Session, message: pb.DetectorToAgent) -> None:
        session.outgoing.offer(Outbound(message, "stream"))

    async def _speak(self, context: Context, session: Session) -> None:
        seq = 0
        while True:
            item = await session.outgoing.get()
            seq += 1
            item.message.seq = seq
            item.message.taken = session.seq
            try:
                await context.write(item.message.SerializeToString())
            except BaseException:
                item.dropped("disconnected")
                raise
            item.sent()
            if item.message.HasField("reconnect"):
                raise _OverError

    # ------------------------------------------------------------------------------------------------------------ read

    async def _read(self, context: Context) -> pb.AgentToDetector | None:
        """The next message; None when the agent has ended the stream."""
        data: object = await context.read()
        if not isinstance(data, bytes):  # the mark for the end of the stream
            return None
        if len(data) > self._config.max_control_bytes:
            self._metrics.rejected.add("control_too_large")
            limit = self._config.max_control_bytes
            raise _BadMessageError(
                grpc.StatusCode.RESOURCE_EXHAUSTED, f"a message of {len(data)} bytes; at most {limit} are taken"
            )
        try:
            return pb.AgentToDetector.FromString(data)
        except DecodeError:
            self._metrics.rejected.add("control_protobuf")
            raise _BadMessageError(grpc.StatusCode.INVALID_ARGUMENT, "not an AgentToDetector message") from None

    async def _listen(self, context: Context, session: Session) -> None:
        while (message := await self._read(context)) is not None:
            session.heard_at = self._monotonic()
            if message.seq != session.seq + 1 and message.seq:
                _log.warning("messages of an agent were missed", extra={"instance": session.instance_id})
                self._say(session, codec.request_full_state())
            session.seq = message.seq or session.seq + 1
            if (take := _TAKE.get(message.WhichOneof("message") or "")) is not None:
                take(self, session, message)
            if session.said_goodbye:
                return

    def _heartbeat(self, session: Session, message: pb.AgentToDetector) -> None:
        beat = message.heartbeat
        counters = codec.fail_open(beat.counters) if beat.HasField("counters") else {}
        self._watch.heartbeat(session, codec.progress(beat.runs), codec.in_flight(beat.in_flight), counters)

    def _run_update(self, session: Session, message: pb.AgentToDetector) -> None:
        self._run_changed(session, message.run_update)

    def _run_changed(self, session: Session, update: pb.RunUpdate) -> None:
        run = codec.agent_run(update.run)
        if run is None:
            self._metrics.rejected.add("control_run_id")
            return
        if update.ended:
            taken = self._engine.run_ended(session, run, update.end_reason[: codec.MAX_LINE])
        else:
            taken = self._engine.register(session, run, fresh=update.started)
        if not taken:
            self._metrics.rejected.add("control_foreign_run")

    def _spans(self, session: Session, message: pb.AgentToDetector) -> None:
        for update in message.spans.runs:
            self._run_changed(session, update)
        self._intake.carried(message.spans.request)

    def _directive_status(self, session: Session, message: pb.AgentToDetector) -> None:
        if (ack := codec.ack(message.directive_status)) is not None:
            self._engine.delivery.acknowledge(session, ack)

    def _full_state(self, session: Session, message: pb.AgentToDetector) -> None:
        state = message.full_state
        for status in state.directives:
            if (ack := codec.ack(status)) is not None:
                self._engine.delivery.acknowledge(session, ack)
        runs = codec.agent_runs(state.runs)
        for run_id in set(session.runs).difference(run.run_id for run in runs):
            self._engine.run_unseen(run_id, "ended_unseen")
            self._engine.sessions.release(session, run_id)
        for run in runs:
            self._engine.register(session, run, fresh=False)
        session.in_flight = codec.in_flight(state.in_flight)

    def _policy_status(self, session: Session, message: pb.AgentToDetector) -> None:
        status = message.policy_status
        if status.state == pb.PolicyStatus.STATE_FAILED:
            _log.warning(
                "an agent refused the policy",
                extra={"instance": session.instance_id, "error": status.error[: codec.MAX_LINE]},
            )

    def _goodbye(self, session: Session, message: pb.AgentToDetector) -> None:
        session.said_goodbye = message.goodbye.reason[: codec.MAX_LINE] or "unknown"


class _BadMessageError(Exception):
    """The stream is aborted with a status."""

    def __init__(self, code: grpc.StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class _OverError(Exception):
    """``Reconnect`` has been written."""


_ENDINGS: Final = (grpc.RpcError, grpc.aio.UsageError, grpc.aio.InternalError, ClosedError, _OverError)
"""How a stream ends when the other side is gone, or when we meant it to."""

_Take = Callable[[ControlService, Session, pb.AgentToDetector], None]
_TAKE: Final[dict[str, _Take]] = {
    "heartbeat": ControlService._heartbeat,
    "run_update": ControlService._run_update,
    "directive_status": ControlService._directive_status,
    "spans": ControlService._spans,
    "full_state": ControlService._full_state,
    "policy_status": ControlService._policy_status,
    "goodbye": ControlService._goodbye,
}
"""What is done with each message. Others (a second Hello, what a later release may send) are ignored."""
