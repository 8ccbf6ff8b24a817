"""Which of the user's own spans are copied to the detector, and how much of them."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from spanward.forward import ForwardingProcessor, is_dialect
from spanward.span_codec import Queued


@pytest.fixture
def copies() -> list[Queued]:
    return []


@pytest.fixture
def provider(copies: list[Queued]) -> TracerProvider:
    processor = ForwardingProcessor()
    processor.sink = copies.append
    made = TracerProvider()
    made.add_span_processor(processor)
    return made


@pytest.mark.parametrize(
    ("scope", "known"),
    [
        ("openinference.instrumentation.langchain", True),
        ("opentelemetry.instrumentation.genai.openai", True),
        ("opentelemetry.instrumentation.openai_v2", True),
        ("opentelemetry.instrumentation.openai.v1", True),
        ("opentelemetry.instrumentation.langchain", True),
        ("pydantic-ai", True),
        ("langsmith", True),
        ("ai", True),
        ("gen_ai", True),
        ("strands.telemetry.tracer", True),
        ("gcp.vertex.agent", True),
        ("airflow", False),
        ("opentelemetry.instrumentation.httpx", False),
        ("my.app", False),
        ("", False),
    ],
)
def test_dialects_are_known_by_scope(scope: str, known: bool) -> None:
    """Agent instrumentation is told by its scope, and nothing else is taken for it."""
    assert is_dialect(scope) is known


def test_agent_spans_are_copied_whole_and_unchanged(provider: TracerProvider, copies: list[Queued]) -> None:
    """The copy is the very span that the user's exporter gets."""
    span = provider.get_tracer("pydantic-ai").start_span("chat", attributes={"a": 1})
    span.end()
    (copy,) = copies
    assert (copy.forwarded, copy.structure_only) == (True, False)
    assert dict(copy.span.attributes or {}) == {"a": 1}


def test_hand_written_agent_spans_are_told_by_their_marks(provider: TracerProvider, copies: list[Queued]) -> None:
    """A span under the user's own scope counts when it says that it is an agent's."""
    tracer = provider.get_tracer("my.app")
    tracer.start_span("chat", attributes={"gen_ai.operation.name": "chat"}).end()
    tracer.start_span("other", attributes={"gen_ai.request.model": "m"}).end()
    assert [copy.span.name for copy in copies] == ["chat"]


def test_ordinary_spans_stay_where_they_are(provider: TracerProvider, copies: list[Queued]) -> None:
    """What has nothing to do with an agent is not copied, HTTP calls outside of steps included."""
    provider.get_tracer("my.app").start_span("query").end()
    provider.get_tracer("opentelemetry.instrumentation.httpx").start_span("GET").end()
    assert copies == []


@pytest.mark.parametrize("above", ["spanward", "langsmith"])
def test_descendants_of_steps_are_copied_at_any_depth(
    provider: TracerProvider, copies: list[Queued], above: str
) -> None:
    """Spans below a step or an agent span come as structure only, grandchildren too, whoever made the step."""
    step = (TracerProvider() if above == "spanward" else provider).get_tracer(above).start_span("step")
    app, http = provider.get_tracer("my.app"), provider.get_tracer("opentelemetry.instrumentation.httpx")
    with trace.use_span(step), app.start_as_current_span("inner"):
        http.start_span("GET").end()
    step.end()
    found = {copy.span.name: copy.structure_only for copy in copies}
    assert found == {"GET": True, "inner": True} | ({"step": False} if above == "langsmith" else {})


def test_content_on_copies_descendants_whole(copies: list[Queued]) -> None:
    """Where content may leave, nothing of a descendant is left out."""
    processor = ForwardingProcessor()
    processor.sink, processor.capture_content = copies.append, True
    provider = TracerProvider()
    provider.add_span_processor(processor)
    with trace.use_span(TracerProvider().get_tracer("spanward").start_span("step")):
        provider.get_tracer("x").start_span("GET").end()
    assert [copy.structure_only for copy in copies] == [False]


def test_only_the_living_are_kept_in_mind(provider: TracerProvider, copies: list[Queued]) -> None:
    """Families are forgotten as their members end: the processor does not grow."""
    processor = provider._active_span_processor._span_processors[0]
    for _ in range(100):
        with trace.use_span(TracerProvider().get_tracer("spanward").start_span("step")):
            provider.get_tracer("x").start_span("GET").end()
    assert isinstance(processor, ForwardingProcessor)
    assert processor._below == set()
    assert len(copies) == 100


def test_the_detectors_own_spans_are_never_copied(provider: TracerProvider, copies: list[Queued]) -> None:
    """An embedded detector that reports through the user's provider must not watch itself."""
    attributes = {"gen_ai.operation.name": "x"}
    provider.get_tracer("spanward.detector").start_span("detect loop", attributes=attributes).end()
    assert copies == []


def test_switched_off_it_does_nothing(provider: TracerProvider, copies: list[Queued]) -> None:
    """After shutdown the processor stays on the provider and lets everything pass."""
    processor = provider._active_span_processor._span_processors[0]
    assert isinstance(processor, ForwardingProcessor)
    processor.sink = None
    with trace.use_span(TracerProvider().get_tracer("spanward").start_span("step")):
        provider.get_tracer("langsmith").start_span("chain").end()
    assert copies == []
    assert processor._below == set()
