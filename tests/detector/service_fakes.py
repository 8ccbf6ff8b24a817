"""What the service's tests need: a pipeline that does what a span says, an agent, and spans made by hand."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from spanward_control.v1 import control_pb2 as pb
from spanward_detector.control.codec import AgentRun
from spanward_detector.directives import RepairLedger
from spanward_detector.ingest import RawLog, RawSpan
from spanward_detector.model import Directive, Finding, Kind, SpanRef, Step, Tick
from spanward_detector.pipeline import Verdict
from spanward_detector.policy import Policy
from uuid_utils import uuid7

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
EXPORT_LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
CONNECT = "/spanward_control.v1.ControlService/Connect"
RUN = "run-1"


@dataclass
class FakeRun:
    """What the service asks of a run."""

    id: str
    agent: str = ""
    service: str = ""
    conversation_id: str = ""
    state: str = "IDLE"
    ended: str = ""
    steps: int = 0
    limits: tuple[int, int] = (0, 0)
    repair: RepairLedger = field(default_factory=RepairLedger)
    recent: tuple[Step, ...] = ()
    agents: tuple[Step, ...] = ()

    def findings(self) -> list[Finding]:
        """None: the fake judge keeps none."""
        return []


class FakeJudge:
    """A pipeline whose verdict stands in the span: ``order`` names a directive, ``fails`` a failure type."""

    def __init__(self) -> None:
        self.policy = Policy(version="sha256:policy")
        self.runs: dict[str, FakeRun] = {}
        self.ticks: list[tuple[str, Tick]] = []
        self.on_tick: str = ""
        self.settled: list[str] = []
        self.seen: list[str] = []
        self.known: set[str] = set()

    def find(self, run_id: str) -> FakeRun | None:
        return self.runs.get(run_id)

    def register(self, told: AgentRun) -> FakeRun:
        run = self.runs.setdefault(told.run_id, FakeRun(told.run_id))
        run.agent = run.agent or told.agent
        run.limits = (told.max_steps, told.max_tokens)
        return run

    def spans(self, spans: Iterable[RawSpan]) -> list[Verdict]:
        return [self._verdict(span) for span in spans]

    def logs(self, logs: Iterable[RawLog]) -> list[Verdict]:
        self.seen += [log.event_name for log in logs]
        return []

    def tick(self, run_id: str, tick: Tick) -> Verdict | None:
        self.ticks.append((run_id, tick))
        if not self.on_tick:
            return None
        kind, self.on_tick = self.on_tick, ""
        step = make_step(run_id, SpanRef("ab" * 16, "cd" * 8), kind=Kind.TICK, tick=tick)
        found = make_finding(step, "hung")
        return verdict(step, self.runs[run_id], (found,), make_directive(step, kind, held=False))

    def settle(self, run_id: str) -> Verdict | None:
        self.settled.append(run_id)
        return None

    def _verdict(self, span: RawSpan) -> Verdict:
        get = span.attrs.text
        step = make_step(
            get("spanward.run.id") or span.trace_id,
            SpanRef(span.trace_id, span.span_id),
            kind=Kind(get("spanward.step.kind") or "tool"),
            action=get("spanward.action") or "",
            held=bool(span.attrs.bool("spanward.hold")),
            dialect="spanward" if span.scope == "spanward" else "genai",
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            run_ended=get("spanward.run.ended") or "",
        )
        twice = span.span_id in self.known
        self.known.add(span.span_id)
        self.seen.append(span.span_id)
        run = self.runs.setdefault(step.run_id, FakeRun(step.run_id))
        fails, order = (None, None) if twice else (get("fails"), get("order"))
        found = (make_finding(step, fails),) if fails else ()
        return verdict(step, run, found, make_directive(step, order, held=step.held) if order else None)


def verdict(
    step: Step, run: FakeRun, findings: tuple[Finding, ...] = (), directive: Directive | None = None
) -> Verdict:
    """A verdict that takes nothing back."""
    return Verdict(step, run, findings, directive=directive)


def make_step(run_id: str = RUN, ref: SpanRef | None = None, **fields: Any) -> Step:
    """A tool step that worked, but for the fields given."""
    values: dict[str, Any] = {
        "kind": Kind.TOOL, "parent_id": None, "start_ns": 1_000, "end_ns": 2_000, "dialect": "spanward",
        "scope": "spanward", "name": "execute_tool search",
    }  # fmt: skip
    return Step(ref=ref or new_ref(), run_id=run_id, **(values | fields))


def make_finding(step: Step, failure_type: str = "tool_error", /, **fields: Any) -> Finding:
    """An acting finding at a step."""
    values = {
        "rule": failure_type, "failure_type": failure_type, "severity": "error", "mode": "act", "message": "it failed",
        "ref": step.ref, "step": step.index, "agent": "bot", "action": step.action, "evidence": (step.ref.span_id,),
        "facts": {"tool": step.action},
    }  # fmt: skip
    return Finding(**(values | fields))


def make_directive(step: Step, kind: str, *, held: bool, **fields: Any) -> Directive:
    """An order about a step."""
    levels = {"retry": "L0", "repair_arguments": "L1", "feedback": "L2", "fallback": "L3", "terminate": "L4"}
    values: dict[str, Any] = {
        "id": str(uuid7()), "run_id": step.run_id, "kind": kind, "level": levels.get(kind, ""), "ref": step.ref,
        "failure_type": "tool_error", "rule": "tool_error", "answers_hold": held, "created_ns": time.time_ns(),
        "payload": {"template": "tool_error", "slots": {"tool": "search"}} if kind == "feedback" else {},
    }  # fmt: skip
    return Directive(**(values | fields))


def new_ref() -> SpanRef:
    """A span id of its own."""
    return SpanRef(os.urandom(16).hex(), os.urandom(8).hex())


class FakeClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at

    def now_ns(self) -> int:
        return int(self.at * 1e9)

    def go(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class FakeStore:
    """A store in a list; commits succeed at once, or fail, or are as the test holds them back."""

    epoch: int = 7
    fail: bool = False
    slow: bool = False
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    committed: list[Any] = field(default_factory=list)
    unfinished: list[Any] = field(default_factory=list)
    depth: int = 0
    healthy: bool = True
    counters: Mapping[str, int] = field(default_factory=dict)

    def commit(self, *rows: Any) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.fail:
            future.set_exception(RuntimeError("disk full"))
        else:
            self.committed += rows
            self.waiting.append(future)
            if not self.slow:
                self.through()
        return future

    def through(self) -> None:
        """The disk has answered."""
        while self.waiting:
            self.waiting.pop().set_result(None)

    def put(self, row: Any) -> bool:
        self.rows.append(row)
        return True

    def raise_epoch(self, to: int) -> asyncio.Future[None]:
        self.epoch = max(self.epoch, to)
        return self.commit()

    def unfinished_directives(self) -> list[Any]:
        return self.unfinished


# ------------------------------------------------------------------------------------------------------- over the wire


def span_request(spans: Iterable[Span], scope: str = "spanward") -> bytes:
    """An encoded request with these spans."""
    request = ExportTraceServiceRequest()
    scoped = request.resource_spans.add().scope_spans.add()
    scoped.scope.name = scope
    scoped.spans.extend(spans)
    return request.SerializeToString()


def make_span(
    ref: SpanRef | None = None, *, run: str = RUN, held: bool = False, **attributes: str | bool | int
) -> Span:
    """A tool span that has just ended."""
    ref = ref or new_ref()
    now = time.time_ns()
    values: dict[str, str | bool | int] = {"spanward.run.id": run, "spanward.action": "search", **attributes}
    if held:
        values["spanward.hold"] = True
    return Span(
        trace_id=bytes.fromhex(ref.trace_id),
        span_id=bytes.fromhex(ref.span_id),
        name="execute_tool search",
        start_time_unix_nano=now - 1_000_000,
        end_time_unix_nano=now,
        attributes=[_pair(key.replace("__", "."), value) for key, value in values.items()],
    )


def _pair(key: str, value: str | bool | int) -> KeyValue:
    name = {bool: "bool_value", int: "int_value", str: "string_value"}[type(value)]
    return KeyValue(key=key, value=AnyValue(**{name: value}))


def log_request(event: str) -> bytes:
    """An encoded request with one log record."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.event_name = event
    return request.SerializeToString()


class Agent:
    """The agent's side of a stream."""

    def __init__(self, address: str, instance: str = "", **hello: Any) -> None:
        self.instance = instance or str(uuid7())
        self.got: list[pb.DetectorToAgent] = []
        self.channel = grpc.aio.insecure_channel(address, options=[("grpc.max_send_message_length", -1)])
        self._hello = hello
        self._seq = 0
        self._stream: Any = None

    async def __aenter__(self) -> Agent:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self, *, hello: bool = True) -> None:
        self._stream = self.channel.stream_stream(CONNECT)()
        self._seq = 0
        if hello:
            values = {"accepts": list(range(1, 16)), "service_name": "test-agent"} | self._hello
            await self.say(hello=pb.Hello(instance_id=self.instance, **values))

    async def say(self, *, seq: int | None = None, **message: Any) -> None:
        self._seq = self._seq + 1 if seq is None else seq
        await self.raw(pb.AgentToDetector(seq=self._seq, **message).SerializeToString())

    async def raw(self, data: bytes) -> None:
        await self._stream.write(data)

    async def start_run(self, run: str = RUN, **fields: Any) -> None:
        state = pb.RunState(run_id=run, agent="bot", **fields)
        await self.say(run_update=pb.RunUpdate(run=state, started=True))

    async def end_run(self, run: str = RUN, reason: str = "completed", steps: int = 0) -> None:
        state = pb.RunState(run_id=run, agent="bot", steps=steps)
        await self.say(run_update=pb.RunUpdate(run=state, ended=True, end_reason=reason))

    async def status(self, directive_id: str, state: str, **fields: Any) -> None:
        await self.say(directive_status=pb.DirectiveStatus(directive_id=directive_id, state=f"STATE_{state}", **fields))

    async def next(self, kind: str, timeout_s: float = 5.0) -> Any:
        """The next message of a kind; others are kept in ``got``."""
        async with asyncio.timeout(timeout_s):
            while True:
                data = await self._stream.read()
                if data is grpc.aio.EOF:
                    raise EOFError(await self._stream.code())
                message = pb.DetectorToAgent.FromString(data)
                self.got.append(message)
                if message.WhichOneof("message") == kind:
                    return getattr(message, kind)

    async def code(self, timeout_s: float = 5.0) -> grpc.StatusCode:
        """How the stream ended."""
        async with asyncio.timeout(timeout_s):
            with contextlib.suppress(grpc.aio.AioRpcError):
                while await self._stream.read() is not grpc.aio.EOF:
                    pass
            return await self._stream.code()

    async def export(self, data: bytes, method: str = EXPORT) -> bytes:
        return await self.channel.unary_unary(method)(data)

    async def cut(self) -> None:
        """The stream is gone, and nobody said so."""
        self._stream.cancel()

    async def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
        await self.channel.close()


async def eventually(check: Callable[[], object], timeout_s: float = 5.0) -> None:
    """Until it holds.

    Raises:
        TimeoutError: it does not.
    """
    async with asyncio.timeout(timeout_s):
        while not check():
            await asyncio.sleep(0.01)


async def http(
    port: int, path: str, data: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of one request."""

    def ask() -> tuple[int, Mapping[str, str], bytes]:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, dict(headers or {}))
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    return await asyncio.to_thread(ask)


async def get_json(port: int, path: str) -> Any:
    """A JSON answer."""
    return orjson.loads((await http(port, path))[2])
