"""Findings, directives and transitions as spans of the trace that they belong to.

They go to a Collector in the background, in batches. Nothing waits for them: what cannot be sent is dropped, the oldest
first, and counted. Span ids follow from what the span is about, so that telling a thing twice makes no second span.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import grpc
import grpc.aio
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from spanward import semconv

from spanward_detector import __version__
from spanward_detector.control.delivery import Tracked
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.model import Finding, SpanRef
from spanward_detector.run_lifecycle import Life, Move

_log = logging.getLogger(__name__)

_EXPORT: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_RETRIABLE: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED}
)
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_VALUE: Final = "gen_ai.evaluation.score.value"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

Value = str | int | float | bool
Export = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]


class EmittedEvent(NamedTuple):
    """A point in time on a span."""

    name: str
    at_ns: int
    attributes: Mapping[str, Value] = {}


@dataclass(frozen=True, slots=True)
class Emitted:
    """A span to export. ``parent_id`` "" = none known."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value]
    events: Sequence[EmittedEvent] = ()
    error: bool = False


def finding_span(life: Life, finding: Finding, at_ns: int) -> Emitted:
    """``detect <rule>``, child of the offending span, with the standard's own event for an evaluation."""
    kind = FAILURE_TYPES.get(finding.failure_type)
    attributes: dict[str, Value] = {
        **_of_run(life),
        semconv.FINDING_RULE: finding.rule,
        semconv.FAILURE_TYPE: finding.failure_type,
        semconv.FINDING_SEVERITY: finding.severity,
        semconv.FINDING_MODE: finding.mode,
        semconv.STEP_INDEX: finding.step,
        semconv.ACTION: finding.action,
    }
    if kind is not None:
        attributes[semconv.FAILURE_CAUSE] = kind.cause
        attributes[semconv.FAILURE_LAYER] = kind.layer
    evaluation: dict[str, Value] = {
        EVALUATION_NAME: finding.rule,
        EVALUATION_LABEL: "fail",
        EVALUATION_VALUE: 0.0,
        EVALUATION_EXPLANATION: finding.message,
    }
    return Emitted(
        finding.ref.trace_id,
        _span_id("detect", life.run_id, *finding.key[:2], *finding.ref),
        finding.ref.span_id,
        f"detect {finding.rule}",
        at_ns,
        at_ns,
        attributes,
        [EmittedEvent(semconv.EVALUATION_EVENT, at_ns, evaluation)],
        error=finding.severity == "error",
    )


def directive_span(life: Life, tracked: Tracked) -> Emitted:
    """``directive <kind>``, child of the offending span, from its issue to its last acknowledgement."""
    directive = tracked.directive
    steps = (
        ("issued", directive.created_ns),
        ("sent", tracked.sent_ns),
        ("received", tracked.received_ns),
        (directive.state, tracked.final_ns),
    )
    attributes: dict[str, Value] = {
        **_of_directive(life, tracked),
        semconv.DIRECTIVE_STATE: directive.state,
        semconv.DIRECTIVE_BEFORE: tracked.before,
        semconv.DIRECTIVE_AFTER: tracked.after,
        semconv.DIRECTIVE_REASON: tracked.reason,
    }
    return Emitted(
        directive.ref.trace_id,
        _span_id("directive", directive.id),
        directive.ref.span_id,
        f"directive {directive.kind}",
        directive.created_ns,
        tracked.final_ns or directive.created_ns,
        attributes,
        [EmittedEvent(name, at) for name, at in steps if at],
        error=directive.state in ("failed", "rejected"),
    )


def outcome_span(life: Life, tracked: Tracked, at_ns: int) -> Emitted:
    """``outcome <kind>``, child of the directive's span: whether it helped."""
    directive = tracked.directive
    return Emitted(
        directive.ref.trace_id,
        _span_id("outcome", directive.id),
        _span_id("directive", directive.id),
        f"outcome {directive.kind}",
        at_ns,
        at_ns,
        {
            **_of_directive(life, tracked),
            semconv.DIRECTIVE_STATE: directive.state,
            semconv.DIRECTIVE_RECOVERED_BY: tracked.recovered_by,
        },
        error=directive.state == "unverified",
    )


def transition_span(life: Life, move: Move, ref: SpanRef) -> Emitted:
    """``run FROM -> TO``, child of the span after which it happened."""
    attributes: dict[str, Value] = {
        **_of_run(life),
        semconv.RUN_STATE_FROM: move.from_state.value,
        semconv.RUN_STATE: move.to_state.value,
        semconv.RUN_REASON: move.reason,
    }
    return Emitted(
        ref.trace_id,
        _span_id("run", move.run_id, move.from_state, move.to_state, str(move.at_ns)),
        ref.span_id,
        f"run {move.from_state} -> {move.to_state}",
        move.at_ns,
        move.at_ns,
        attributes,
        error=move.to_state == "FAILED",
    )


def _of_run(life: Life) -> dict[str, Value]:
    known = {
        semconv.RUN_ID: life.run_id,
        semconv.AGENT_NAME: life.agent,
        semconv.CONVERSATION_ID: life.conversation_id,
    }
    return {semconv.RUN_STATE: life.state.value, **{key: value for key, value in known.items() if value}}


def _of_directive(life: Life, tracked: Tracked) -> dict[str, Value]:
    directive = tracked.directive
    return {
        **_of_run(life),
        semconv.DIRECTIVE_ID: directive.id,
        semconv.DIRECTIVE_KIND: directive.kind,
        semconv.DIRECTIVE_LEVEL: directive.level,
        semconv.FAILURE_TYPE: directive.failure_type,
        semconv.FINDING_RULE: directive.rule,
    }


def _span_id(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


# ------------------------------------------------------------------------------------------------------------- sending


class Emitter:
    """Sends spans to one endpoint.

    Args:
        endpoint: ``host:port``; "" = nobody, and nothing is kept.
        limit: spans that may wait.
        batch: spans in one request.
        delay_s: how long a span waits for company.
        timeout_s: for one request.
        retry_s: after a failure, doubling up to thirty seconds.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        limit: int = 4_096,
        batch: int = 256,
        delay_s: float = 0.1,
        timeout_s: float = 5.0,
        retry_s: float = 0.5,
    ) -> None:
        self.dropped = 0
        self.sent = 0
        self._endpoint = endpoint
        self._limit = limit
        self._batch = batch
        self._delay_s = delay_s
        self._timeout_s = timeout_s
        self._retry_s = retry_s
        self._waiting: deque[Emitted] = deque()
        self._wake = asyncio.Event()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def start(self) -> None:
        """Begin to send, on the running loop."""
        if self._endpoint and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="spanward-emit")

    def emit(self, span: Emitted) -> None:
        """Queue a span. Never blocks; the oldest gives way when too many wait."""
        if not self._endpoint or not span.trace_id:
            return
        if len(self._waiting) >= self._limit:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(span)
        self._wake.set()

    async def stop(self, timeout_s: float = 1.0) -> None:
        """Send what waits for at most ``timeout_s``, then end."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            _, pending = await asyncio.wait([self._task], timeout=timeout_s)
            for task in pending:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            self._task = None
        self.dropped += len(self._waiting)
        self._waiting.clear()

    async def _run(self) -> None:
        async with grpc.aio.insecure_channel(self._endpoint) as channel:
            export: Export = channel.unary_unary(_EXPORT)
            while not (self._stopping and not self._waiting):
                if not self._waiting:
                    self._wake.clear()
                    await self._wake.wait()
                    if not self._stopping:
                        await asyncio.sleep(self._delay_s)
                batch = [self._waiting.popleft() for _ in range(min(self._batch, len(self._waiting)))]
                if batch:
                    await self._send(export, batch)

    async def _send(self, export: Export, batch: list[Emitted]) -> None:
        request = encode(batch).SerializeToString()
        pause, told = self._retry_s, False
        while True:
            try:
                await export(request, timeout=self._timeout_s)
            except grpc.aio.AioRpcError as error:
                if not told:
                    told = True
                    _log.warning(
                        "spans cannot be emitted", extra={"endpoint": self._endpoint, "code": error.code().name}
                    )
                if error.code() not in _RETRIABLE or self._stopping:
                    self.dropped += len(batch)
                    return
                await asyncio.sleep(pause)
                pause = min(30.0, pause * 2)
            else:
                self.sent += len(batch)
                if told:
                    _log.info("spans are emitted again", extra={"endpoint": self._endpoint})
                return


def encode(batch: Sequence[Emitted]) -> ExportTraceServiceRequest:
    """One request, scope ``spanward.detector``: by it the Collector keeps our own spans from coming back to us."""
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    resource_spans.resource.attributes.append(_pair("service.name", "spanward-detector"))
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = semconv.DETECTOR_SCOPE
    scope_spans.scope.version = __version__
    scope_spans.spans.extend(
        Span(
            trace_id=bytes.fromhex(span.trace_id),
            span_id=bytes.fromhex(span.span_id),
            parent_span_id=bytes.fromhex(span.parent_id),
            name=span.name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=max(span.start_ns, span.end_ns),
            attributes=[_pair(key, value) for key, value in span.attributes.items() if value != ""],
            events=[
                Span.Event(
                    name=e.name, time_unix_nano=e.at_ns, attributes=[_pair(k, v) for k, v in e.attributes.items()]
                )
                for e in span.events
            ],
            status=Status(code=Status.STATUS_CODE_ERROR) if span.error else None,
        )
        for span in batch
    )
    return request


def _pair(key: str, value: Value) -> KeyValue:
    if isinstance(value, bool):
        return KeyValue(key=key, value=AnyValue(bool_value=value))
    if isinstance(value, int):
        return KeyValue(key=key, value=AnyValue(int_value=max(-(2**63), min(value, 2**63 - 1))))
    if isinstance(value, float):
        return KeyValue(key=key, value=AnyValue(double_value=value))
    return KeyValue(key=key, value=AnyValue(string_value=str(value).encode("utf-8", "replace").decode()))
