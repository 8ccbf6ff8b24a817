"""Composition root: one event loop that serves gRPC and HTTP, and everything behind them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable

from uuid_utils import uuid7

from spanward_detector import api, heap, semantic
from spanward_detector.breakers import Breakers
from spanward_detector.config import ServerConfig, split_address
from spanward_detector.control.grpc_server import AddressTakenError, GrpcServer
from spanward_detector.control.outages import Outages
from spanward_detector.control.service import ControlService
from spanward_detector.control.watch import Watch
from spanward_detector.emit import Emitter
from spanward_detector.engine import Engine, Judge
from spanward_detector.first_cause import cause_of
from spanward_detector.http_server import HttpServer, listen
from spanward_detector.intake import Intake
from spanward_detector.judge import LlmJudge
from spanward_detector.metrics import Metrics, by_state
from spanward_detector.notes import Notes
from spanward_detector.semantic.follow import Change, SemanticFollower
from spanward_detector.store import SqliteStore, Store, StoreError
from spanward_detector.store.base import Record

_log = logging.getLogger(__name__)


class StartError(RuntimeError):
    """The detector could not start; the message says what to do about it."""


class Detector:
    """The whole service on the running event loop.

    Args:
        config: addresses, files, limits; None = from the environment.
        make_pipeline: makes what judges spans; None = the pipeline with the policy of ``config``.

    Attributes:
        grpc_port: bound once started.
        http_port: bound once started.
    """

    def __init__(self, config: ServerConfig | None = None, make_pipeline: Callable[[], Judge] | None = None) -> None:
        self.config = config or ServerConfig.from_env()
        self.metrics = Metrics()
        self.store: Store = SqliteStore(
            self.config.database, self.config.store, observe=self.metrics.commit_seconds.observe
        )
        self.grpc_port = 0
        self.http_port = 0
        self._make_pipeline = make_pipeline or self._of_policy
        self._parts: _Parts | None = None
        self._swept_at = 0.0

    # ------------------------------------------------------------------------------------------------------ start, stop

    async def start(self) -> None:
        """Open the store, take the addresses, serve.

        Raises:
            StartError: an address is taken, the policy is wrong, or the store cannot be opened.
        """
        async with contextlib.AsyncExitStack() as undo:
            grpc_server = self._bind_grpc(undo)
            http_socket = self._bind_http(undo)
            undo.callback(self.store.close)
            try:
                await asyncio.to_thread(self.store.open)
            except StoreError as error:
                raise StartError(str(error)) from error
            parts = _Parts(self, grpc_server, self._make_pipeline())
            self._restore(parts)
            self._gauges(parts)
            await grpc_server.start((*parts.intake.handlers(), parts.control.handler()))
            parts.emitter.start()
            loop = asyncio.get_running_loop()
            parts.sweeping = loop.create_task(self._sweep(parts), name="spanward-sweep")
            parts.serving = loop.create_task(parts.http.serve(sockets=[http_socket]), name="spanward-http")
            await parts.http.up.wait()
            self._parts = parts
            undo.pop_all()

    async def stop(self) -> None:
        """End streams with ``Reconnect``, finish what is in progress, write what waits. Idempotent."""
        if (parts := self._parts) is None:
            return
        self._parts = None
        await parts.grpc.drain()
        parts.control.stop()
        await parts.grpc.stop()
        parts.http.should_exit = True
        if parts.serving is not None:
            await parts.serving
        if parts.sweeping is not None:
            parts.sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await parts.sweeping
        parts.engine.write()
        parts.judge.stop()
        parts.semantic.stop()
        await parts.emitter.stop()
        await asyncio.to_thread(self.store.close)

    def _bind_grpc(self, undo: contextlib.AsyncExitStack) -> GrpcServer:
        try:
            server = GrpcServer(self.config)
        except AddressTakenError:
            raise _taken(self.config.grpc_address, "--grpc-address") from None
        undo.push_async_callback(server.stop)
        self.grpc_port = server.port
        return server

    def _bind_http(self, undo: contextlib.AsyncExitStack) -> socket.socket:
        try:
            bound = listen(self.config.http_address)
        except OSError:
            raise _taken(self.config.http_address, "--http-address") from None
        undo.callback(bound.close)
        self.http_port = bound.getsockname()[1]
        return bound

    def _of_policy(self) -> Judge:
        from spanward_detector import policy
        from spanward_detector.pipeline import Pipeline
        from spanward_detector.shadow import Shadow, Shadowed

        path, tried = self.config.policy_path, self.config.shadow_policy_path
        try:
            rules = policy.default() if path is None else policy.load(path)
            live = Pipeline(rules.with_model(self.config.semantic_model))
            tries = Shadow(policy.load(tried)) if tried is not None else None
        except (policy.PolicyError, OSError) as error:
            raise StartError(f"the policy cannot be used: {error}") from error
        if why := semantic.missing(live.policy.semantic):
            raise StartError(why)
        return live if tries is None else Shadowed(live, tries)

    def _restore(self, parts: _Parts) -> None:
        """Take up what an earlier process left: open runs, and directives that nobody has acknowledged."""
        lives = parts.engine.runs.restore(self.store.open_runs())
        for life in lives:
            parts.watch.restored(life.run_id, life.instance_id)
        directives = parts.engine.delivery.restore()
        for tracked in parts.engine.delivery:
            parts.watch.restored(tracked.directive.run_id, tracked.instance_id)
        if lives or directives:
            _log.info("taken up", extra={"runs": len(lives), "directives": directives})

    # -------------------------------------------------------------------------------------------- asked by the HTTP API

    @property
    def healthy(self) -> bool:
        """Time passes, and the last commit did not fail."""
        alive = time.monotonic() - self._swept_at < 5 * self.config.tick_s + 5
        return alive and self.store.healthy

    def first_cause(self, run_id: str) -> Record | None:
        """Of a failed run that is still in memory."""
        run = self._parts.engine.pipeline.find(run_id) if self._parts is not None else None
        cause = cause_of(run, run.findings()) if run is not None else None
        if cause is None:
            return None
        return {
            "span_id": cause.ref.span_id,
            "step": cause.step,
            "agent": cause.agent,
            "failure_type": cause.finding.failure_type if cause.finding is not None else None,
            "basis": cause.basis,
            "why": cause.why,
        }

    async def fresh(self) -> None:
        """Until the store has everything that has happened."""
        if self._parts is not None:
            self._parts.engine.write()
        await self.store.flush()

    # ------------------------------------------------------------------------------------------------------------- time

    async def _sweep(self, parts: _Parts) -> None:
        """Heartbeats that did not come, deadlines, rows; runs that ended are looked at more often."""
        pause = min(self.config.tick_s, self.config.settle_s / 2)
        next_look = 0.0
        while True:
            self._swept_at = now = time.monotonic()
            try:
                if now >= next_look:
                    next_look = now + self.config.tick_s
                    parts.watch.look()
                    parts.engine.sweep(parts.watch.gone)
                    parts.outages.sweep(parts.engine.pipeline.policy.breaker.open_s)
                    if parts.intake.took_large():
                        await asyncio.to_thread(heap.give_back)
                else:
                    parts.engine.settle()
            except Exception:
                _log.exception("a fault of ours while looking at the clock")
            await asyncio.sleep(pause)

    def _gauges(self, parts: _Parts) -> None:
        metrics, engine, store = self.metrics, parts.engine, self.store
        metrics.gauge(
            "spanward_runs", "Runs in memory.", ("state",), lambda: by_state(run.state for run in engine.runs)
        )
        metrics.gauge("spanward_agents_connected", "Live control streams.", (), lambda: {(): len(engine.sessions)})
        metrics.gauge("spanward_directives_open", "Without a final state.", (), lambda: {(): len(engine.delivery)})
        metrics.gauge(
            "spanward_inflight_call_age_seconds", "Oldest call in flight.", ("agent", "action"), parts.watch.ages
        )
        metrics.gauge("spanward_store_queue", "Rows that wait to be written.", (), lambda: {(): store.depth})
        metrics.counter(
            "spanward_store_rows",
            "Rows and what became of them.",
            ("outcome",),
            lambda: {(outcome,): count for outcome, count in store.counters.items()},
        )
        metrics.counter(
            "spanward_semantic_questions",
            "Final answers to be judged by their meaning, and what became of them.",
            ("outcome",),
            lambda: {(outcome,): count for outcome, count in parts.semantic.counters.items()},
        )
        if (tally := getattr(engine.pipeline, "tally", None)) is not None:
            metrics.gauge(
                "spanward_shadow_findings", "Of runs in memory: found by both policies or one.", ("rule", "by"), tally
            )
        metrics.counter(
            "spanward_emit_dropped", "Spans about findings that were not sent.", (), lambda: {(): parts.emitter.dropped}
        )


class _Parts:
    """What lives from start to stop."""

    def __init__(self, detector: Detector, grpc_server: GrpcServer, pipeline: Judge) -> None:
        config, metrics, store = detector.config, detector.metrics, detector.store
        self.grpc = grpc_server
        self.emitter = Emitter(config.emit_endpoint)
        self.engine = Engine(
            pipeline,
            store,
            metrics,
            self.emitter,
            settle_s=config.settle_s,
            foreign_settle_s=config.foreign_settle_s,
        )
        self.outages = Outages(self.engine.sessions, Breakers(pipeline.policy.breaker.open_s))
        self._notes = notes = Notes(self.engine, store, metrics, self.emitter)
        loop = asyncio.get_running_loop()
        self.judge = LlmJudge(
            lambda: pipeline.policy.judge, lambda run, found: loop.call_soon_threadsafe(notes.found, run, found)
        )
        self.semantic = SemanticFollower(
            lambda: pipeline.policy.semantic, lambda change: loop.call_soon_threadsafe(self._changed, change)
        )
        self.engine.followers += [self.outages.follow, self.judge.follow, self.semantic.follow]
        self.watch = Watch(
            self.engine, metrics, silent_s=config.heartbeat_s * config.heartbeat_grace, gone_s=config.instance_gone_s
        )
        self.intake = Intake(self.engine, metrics, limit=config.max_message_bytes, chunk=config.chunk_spans)
        self.control = ControlService(self.engine, self.intake, self.watch, store, metrics, config, str(uuid7()))
        self.http = HttpServer(
            api.make_app(
                self.intake,
                metrics,
                store,
                detector,
                host=split_address(config.http_address)[0],
                allowed_hosts=config.allowed_hosts,
                limit=config.max_message_bytes,
            )
        )
        self.sweeping: asyncio.Task[None] | None = None
        self.serving: asyncio.Task[None] | None = None

    def _changed(self, change: Change) -> None:
        for finding in change.withdrawn:
            self._notes.withdrawn(change.run_id, finding)
        for finding in change.found:
            self._notes.found(change.run_id, finding)


def _taken(address: str, option: str) -> StartError:
    return StartError(
        f"{address} cannot be listened on: it is in use, perhaps by another detector, or not an address of this "
        f"machine; stop the other one or choose another with {option} HOST:PORT"
    )
