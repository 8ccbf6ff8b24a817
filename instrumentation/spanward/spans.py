"""Step spans, made beside whatever provider the user has, and copies of the user's agent spans.

They pass no provider: set as the global one it would have theirs refused, and through theirs they would meet their
exporter and their sampler. Parents are whatever span is current, whoever made it, so that one trace holds both.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from spanward import semconv
from spanward.forward import ForwardingProcessor
from spanward.sender import SpanSender
from spanward.span_codec import Queued
from spanward.step_span import StepSpan

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from spanward.config import Settings
    from spanward.control_client import ControlClient

log = logging.getLogger("spanward")

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_NOT_SAMPLED: Final = TraceFlags(TraceFlags.DEFAULT)
_KINDS: Final[Mapping[str, SpanKind]] = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}


class SpanPipeline:
    """Implements :class:`spanward.ports.StepSpans`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._resource = _own_resource(settings, None)
        self._sender = SpanSender(settings.spans_target, lambda: self._resource)
        # With content off only what we know is sent of a step: while it is current, code of the user's may write on it.
        self._structure_only = not settings.capture_content
        self._sampler: Sampler | None = None
        self._ids: IdGenerator = RandomIdGenerator()
        self._global: object = None
        self.refresh()

    @property
    def dropped(self) -> int:
        """Spans that never left."""
        return self._sender.dropped

    def start(
        self,
        name: str,
        kind: Literal["internal", "client"],
        attributes: dict[str, Any],
        parent: Context | None = None,
    ) -> Span:
        """Starts a span below the current one, or below that of ``parent``, without making it current."""
        if attributes.get(semconv.OPERATION_NAME) == semconv.OP_INVOKE_AGENT:
            self.refresh()
            self._sender.warm()
        above = trace.get_current_span(parent).get_span_context()
        if above.is_valid:
            # The flag is what the user's spans below ours inherit: were it always on, a user who samples 1 % of the
            # traces would suddenly export, and pay for, all of them. Ours are recorded whatever it says.
            context = SpanContext(
                above.trace_id, self._ids.generate_span_id(), False, above.trace_flags, above.trace_state
            )
            return StepSpan(name, _KINDS[kind], context, above, attributes, self._queue)
        return StepSpan(name, _KINDS[kind], self._root_context(parent, name, attributes), None, attributes, self._queue)

    def _root_context(self, parent: Context | None, name: str, attributes: Mapping[str, Any]) -> SpanContext:
        """Of a span without a parent: sampled or not as the user's own sampler says."""
        trace_id, state, sampled = self._ids.generate_trace_id(), None, True
        if self._sampler is not None:
            theirs = self._sampler.should_sample(parent, trace_id, name, attributes=attributes)
            sampled, state = theirs.decision is Decision.RECORD_AND_SAMPLE, theirs.trace_state
        return SpanContext(trace_id, self._ids.generate_span_id(), False, _SAMPLED if sampled else _NOT_SAMPLED, state)

    def _queue(self, span: StepSpan) -> None:
        # `end` says right after this how urgent it is.
        self._sender.put(Queued(span, False, self._structure_only), arm=False)

    def complete_later(self, span: Span, work: Callable[[], Mapping[str, Any]]) -> None:
        """Has the sender's thread work out the rest of its attributes."""
        if isinstance(span, StepSpan):
            span.complete_later(work)

    def end(self, span: Span, *, urgent: bool) -> None:
        """Ends it; ``urgent`` sends it now, with all that is queued."""
        span.end()
        if urgent:
            self._sender.kick(held=isinstance(span, StepSpan) and semconv.HOLD in span.attributes)
        else:
            self._sender.arm()

    def carried_by(self, client: ControlClient) -> None:
        """Let the control stream carry what somebody waits for, where it leads to where spans go anyway."""
        if self._settings.spans_target == self._settings.endpoint:
            self._sender.carried_by(client)
            client.spans = self._sender

    def flush(self, timeout_s: float) -> bool:
        """Waits until all has left; False when it has not."""
        return self._sender.flush(timeout_s)

    def shutdown(self, timeout_s: float) -> None:
        """Stops forwarding and sending. Idempotent."""
        processor = _processors.get(self._global) if self._global is not None else None
        if processor is not None and processor.sink == self._sender.put:
            processor.sink = None
        self._sender.shutdown(timeout_s)

    def refresh(self) -> None:
        """Looks whether the user has set a global provider since. Called at the start of each run; cheap."""
        provider: Any = trace.get_tracer_provider()
        if provider is self._global or not hasattr(provider, "add_span_processor"):
            return
        try:
            self._adopt(provider)
        except Exception:
            # Somebody's own provider may do anything; without it our own spans still work.
            log.debug("the global tracer provider could not be used", exc_info=True)

    def _adopt(self, provider: Any) -> None:
        self._global = provider
        self._resource = _own_resource(self._settings, getattr(provider, "resource", None))
        sampler, ids = getattr(provider, "sampler", None), getattr(provider, "id_generator", None)
        if isinstance(sampler, Sampler):
            self._sampler = sampler
        if isinstance(ids, IdGenerator):
            self._ids = ids
        processor = _processors.get(provider)
        if processor is None:
            processor = _processors[provider] = ForwardingProcessor()
            provider.add_span_processor(processor)
        processor.capture_content = self._settings.capture_content
        processor.sink = self._sender.put


_processors: weakref.WeakKeyDictionary[Any, ForwardingProcessor] = weakref.WeakKeyDictionary()
"""One per provider, whatever the number of times that we are switched on and off: processors cannot be removed."""


def step_spans(settings: Settings) -> SpanPipeline:
    """The span pipeline of this process. Leaves no thread running and opens no channel until the first span."""
    return SpanPipeline(settings)


def _own_resource(settings: Settings, theirs: object) -> Resource:
    base = theirs if isinstance(theirs, Resource) else Resource.create()
    if settings.service_name and base.attributes.get(SERVICE_NAME) != settings.service_name:
        return base.merge(Resource({SERVICE_NAME: settings.service_name}))
    return base
