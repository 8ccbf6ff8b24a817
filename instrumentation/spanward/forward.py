"""Copies of the user's own agent spans, for the detector only: what they export themselves stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import get_current_span

from spanward import semconv
from spanward.span_codec import Queued

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

DIALECT_PREFIXES: Final = (
    "openinference.", "opentelemetry.instrumentation.genai.", "pydantic-ai", "langsmith", "strands.",
    "gcp.vertex.agent",
    *(
        f"opentelemetry.instrumentation.{package}"
        for package in (
            "agno", "alephalpha", "anthropic", "bedrock", "cohere", "crewai", "google_genai", "google_generativeai",
            "groq", "haystack", "langchain", "llamaindex", "mcp", "mistralai", "ollama", "openai", "replicate",
            "sagemaker", "together", "transformers", "vertexai", "watsonx", "writer",
        )
    ),
)  # fmt: skip
"""Scopes that begin so are agent instrumentation: ``openai`` stands for ``openai_v2`` and ``openai_agents`` too."""
DIALECT_SCOPES: Final = frozenset({"ai", "gen_ai"})
MARKERS: Final = frozenset({
    semconv.OPERATION_NAME, "openinference.span.kind", "traceloop.span.kind", "langsmith.span.kind", "ai.operationId",
    "pydantic_ai.all_messages", "logfire.msg",
})  # fmt: skip
"""Attributes that tell an agent's span under any scope, a hand-written one included."""

_FAMILIES_MAX: Final = 65_536
_scopes: dict[str, bool] = {}


def is_dialect(scope: str) -> bool:
    """Whether the scope is that of agent instrumentation."""
    known = _scopes.get(scope)
    if known is None:
        if len(_scopes) > 1024:
            _scopes.clear()
        known = _scopes[scope] = scope in DIALECT_SCOPES or scope.startswith(DIALECT_PREFIXES)
    return known


def scope_name(span: ReadableSpan) -> str:
    """Name of the span's instrumentation scope, or ""."""
    scope = span.instrumentation_scope
    return scope.name if scope is not None else ""


class ForwardingProcessor(SpanProcessor):
    """Sits on the user's provider; changes nothing there.

    Agent spans are copied whole: whether they carry content is for their own instrumentation's switch. Of other spans
    that descend from those or from a step of ours (HTTP calls inside a tool) only the structure is copied, unless
    content may leave: a URL or a statement is what a tool was asked.

    Attributes:
        sink: takes the copies; None after shutdown, as a provider keeps its processors for ever.
        capture_content: descendants are copied whole.
    """

    def __init__(self) -> None:
        self.sink: Callable[[Queued], None] | None = None
        self.capture_content = False
        self._below: set[int] = set()  # ids of live spans that descend from a step or an agent span

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Notes whose child it is; only the living are kept in mind."""
        if self.sink is None or len(self._below) >= _FAMILIES_MAX:
            return
        parent: Any = get_current_span(parent_context)
        scope = getattr(getattr(parent, "instrumentation_scope", None), "name", "")
        if scope == semconv.SCOPE or is_dialect(scope) or parent.get_span_context().span_id in self._below:
            self._below.add(span.get_span_context().span_id)

    def on_end(self, span: ReadableSpan) -> None:
        """Copies it, if it is one of those."""
        sink, context = self.sink, span.context
        if sink is None or context is None:
            return
        below = context.span_id in self._below
        self._below.discard(context.span_id)
        scope = scope_name(span)
        if scope in (semconv.SCOPE, semconv.DETECTOR_SCOPE):
            return
        if is_dialect(scope) or _marked(span):
            sink(Queued(span, forwarded=True))
        elif below:
            sink(Queued(span, forwarded=True, structure_only=not self.capture_content))


def _marked(span: ReadableSpan) -> bool:
    attributes: Any = span.attributes
    # copy() reaches the dict below the SDK's read-only view; asking the view costs a Python call for each marker.
    return bool(attributes) and not MARKERS.isdisjoint(attributes.copy())
