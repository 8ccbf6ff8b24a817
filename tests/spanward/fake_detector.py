"""A detector for tests: a real gRPC server on an ephemeral port that answers by script and records everything.

    with FakeDetector() as detector:
        detector.script = lambda span: feedback(span)     # or None: go on
        client = ControlClient(settings(detector.address), gate)

It can be frozen (takes calls, answers nothing), stopped and started again on the same port.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Self

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from spanward_control.v1 import control_pb2 as pb

HOLD = "spanward.hold"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
CONNECT = "/spanward_control.v1.ControlService/Connect"

Script = Callable[[Span], pb.Directive | None]


def until(condition: Callable[[], object], timeout_s: float = 10.0) -> Any:
    """The condition's first true value. Fails when it has none in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.002)
    raise AssertionError(f"not within {timeout_s} s")


def attribute(span: Span, key: str) -> Any:
    """Value of a span's attribute; None when it has none."""
    for pair in span.attributes:
        if pair.key == key:
            return getattr(pair.value, pair.value.WhichOneof("value"))
    return None


def feedback(span: Span, **fields: Any) -> pb.Directive:
    """A feedback directive for this span."""
    fields = {
        "id": f"d-{span.span_id.hex()}",
        "run_id": str(attribute(span, "spanward.run.id") or ""),
        "kind": pb.DIRECTIVE_KIND_FEEDBACK,
        "level": pb.LEVEL_L2,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "answers_hold": True,
        "feedback": pb.Feedback(template="tool_error", slots={"attempts": "1"}),
        **fields,
    }
    return pb.Directive(**fields)


@dataclass
class Session:
    """One control stream as the detector sees it.

    Attributes:
        takes: what was received is said to be dealt with.
    """

    hello: pb.Hello
    outgoing: SimpleQueue[pb.DetectorToAgent | None] = field(default_factory=SimpleQueue)
    received: list[pb.AgentToDetector] = field(default_factory=list)
    open: bool = True
    seq: int = 0
    takes: bool = True

    def send(self, *, seq: int | None = None, **message: Any) -> None:
        """Sends a message, numbered; ``seq`` fakes another number."""
        self.seq = self.seq + 1 if seq is None else seq
        taken = self.received[-1].seq if self.takes and self.received else 0
        self.outgoing.put(pb.DetectorToAgent(seq=self.seq, taken=taken, **message))

    def end(self) -> None:
        """Ends the stream from the detector's side."""
        self.outgoing.put(None)

    def of(self, kind: str) -> list[Any]:
        """All messages of this kind so far."""
        return [getattr(message, kind) for message in list(self.received) if message.WhichOneof("message") == kind]


class FakeDetector:
    """See the module.

    Attributes:
        script: the verdict on a span that carries ``spanward.hold``.
        welcome: sent to every session; ``refuse`` takes its place once set.
        spans: all spans ever received, in order, doubles included; ``requests`` those of each call.
        sessions: all control streams ever, in order.
        answer_delay_s: before each verdict.
        export_status: with which Export is refused, when set.
        carried: requests that came on a control stream; they are not among ``requests``.
    """

    def __init__(self, script: Script | None = None) -> None:
        self.script: Script = script or (lambda _span: None)
        self.welcome = pb.Welcome(epoch=1, heartbeat_ms=1000)
        self.refuse: pb.Refused | None = None
        self.answers = True
        self.answer_delay_s = 0.0
        self.export_status: grpc.StatusCode | None = None
        self.export_answer = ExportTraceServiceResponse()
        self.requests: list[ExportTraceServiceRequest] = []
        self.carried: list[ExportTraceServiceRequest] = []
        self.spans: list[Span] = []
        self.sessions: list[Session] = []
        self._thawed = threading.Event()
        self._thawed.set()
        self._server: grpc.Server | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def session(self) -> Session:
        """The newest session that is still open; waits for one."""
        return until(lambda: next((s for s in reversed(self.sessions) if s.open), None))

    def named(self, name: str) -> list[Span]:
        """Spans of this name so far."""
        return [span for span in list(self.spans) if span.name == name]

    # --- life

    def start(self) -> Self:
        """Listens, on the port of before if there was one."""
        options = (("grpc.so_reuseport", 1), ("grpc.max_receive_message_length", 16 << 20))
        server = grpc.server(ThreadPoolExecutor(16, thread_name_prefix="fake-detector"), options=options)
        server.add_generic_rpc_handlers((_Handlers(self),))
        self._port = server.add_insecure_port(f"127.0.0.1:{self._port}")
        server.start()
        self._server = server
        return self

    def kill(self) -> None:
        """Cuts all connections and stops listening, without goodbye."""
        server, self._server = self._server, None
        self._thawed.set()
        for session in self.sessions:
            session.end()
        if server is not None:
            server.stop(None).wait()

    def freeze(self) -> None:
        """From now on nothing is answered, and connections stay."""
        self._thawed.clear()

    def thaw(self) -> None:
        """Goes on, with all that has come meanwhile."""
        self._thawed.set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    # --- service

    def _export(self, request: ExportTraceServiceRequest, context: grpc.ServicerContext) -> ExportTraceServiceResponse:
        self._thawed.wait()
        if self.export_status is not None:
            context.abort(self.export_status, "as scripted")
        self.requests.append(request)
        self._take(request)
        return self.export_answer

    def _take(self, request: ExportTraceServiceRequest) -> None:
        for group in request.resource_spans:
            for scope in group.scope_spans:
                for span in scope.spans:
                    self.spans.append(span)
                    if self.answers and attribute(span, HOLD):
                        self._answer(span)

    def _answer(self, span: Span) -> None:
        if self.answer_delay_s:
            time.sleep(self.answer_delay_s)
        answer = pb.HoldAnswer(trace_id=span.trace_id, span_id=span.span_id, directive=self.script(span))
        for session in list(self.sessions):
            if session.open:
                session.send(hold_answer=answer)

    def _connect(
        self, incoming: Iterator[pb.AgentToDetector], context: grpc.ServicerContext
    ) -> Iterator[pb.DetectorToAgent]:
        self._thawed.wait()
        first = next(incoming, None)
        if first is None:
            return
        session = Session(first.hello)
        session.received.append(first)
        if self.refuse is not None:
            self.sessions.append(session)
            session.open = False
            yield pb.DetectorToAgent(seq=1, refused=self.refuse)
            return
        session.send(welcome=self.welcome)
        self.sessions.append(session)
        context.add_callback(session.end)
        threading.Thread(target=self._read, args=(session, incoming), daemon=True).start()
        try:
            while (message := session.outgoing.get()) is not None:
                self._thawed.wait()
                yield message
        finally:
            session.open = False

    def _read(self, session: Session, incoming: Iterator[pb.AgentToDetector]) -> None:
        try:
            for message in incoming:
                self._thawed.wait()
                session.received.append(message)
                if message.HasField("spans"):
                    request = ExportTraceServiceRequest.FromString(message.spans.request)
                    self.carried.append(request)
                    self._take(request)
        except Exception:  # the stream was cut
            session.received = list(session.received)
        session.end()


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, detector: FakeDetector) -> None:
        self._detector = detector

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if call.method == EXPORT:
            return grpc.unary_unary_rpc_method_handler(
                self._detector._export,
                request_deserializer=ExportTraceServiceRequest.FromString,
                response_serializer=ExportTraceServiceResponse.SerializeToString,
            )
        if call.method == CONNECT:
            return grpc.stream_stream_rpc_method_handler(
                self._detector._connect,
                request_deserializer=pb.AgentToDetector.FromString,
                response_serializer=pb.DetectorToAgent.SerializeToString,
            )
        return None
