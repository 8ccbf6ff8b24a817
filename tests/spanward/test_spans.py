"""Our own provider beside the user's: who sees which span, how often, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.util._once import Once
from spanward.spans import SpanPipeline, step_spans

from tests.spanward.fake_detector import FakeDetector, attribute, until
from tests.spanward.fakes import settings
from tests.spanward.threads import left_running

RUN = {"gen_ai.operation.name": "invoke_agent", "spanward.run.id": "r"}


@pytest.fixture
def detector() -> Iterator[FakeDetector]:
    with FakeDetector() as running:
        yield running


@pytest.fixture(autouse=True)
def _own_global(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts as a process in which nobody has set a provider."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())


@pytest.fixture
def pipeline(detector: FakeDetector) -> Iterator[SpanPipeline]:
    made = step_spans(settings(detector.address))
    yield made
    made.shutdown(1)


def user_provider(**options: Any) -> tuple[TracerProvider, InMemorySpanExporter]:
    """What a user's own set-up looks like."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "theirs", "team": "x"}), **options)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider, exporter


def step(pipeline: SpanPipeline, name: str = "step", **attributes: Any) -> None:
    """A step that starts and ends, urgently."""
    pipeline.end(pipeline.start(name, "internal", attributes), urgent=True)


def resource_of(detector: FakeDetector, name: str) -> dict[str, Any]:
    """Resource attributes under which the span of this name came."""
    for request in list(detector.requests):
        for group in request.resource_spans:
            for scope in group.scope_spans:
                if any(span.name == name for span in scope.spans):
                    return {p.key: getattr(p.value, p.value.WhichOneof("value")) for p in group.resource.attributes}
    return {}


def test_nothing_happens_before_the_first_span(detector: FakeDetector) -> None:
    """Making the pipeline leaves no thread running, opens no connection, and leaves the global provider alone."""
    with left_running() as threads:
        made = step_spans(settings(detector.address))
    assert threads == []
    assert trace._TRACER_PROVIDER is None
    made.shutdown(0.1)


def test_steps_arrive_with_the_given_service_name(detector: FakeDetector) -> None:
    """Without any provider of the user's, spans carry a resource of ours with the name from the settings."""
    pipeline = step_spans(settings(detector.address, service_name="bot"))
    step(pipeline, "s", **{"spanward.run.id": "r"})
    (span,) = until(lambda: detector.named("s"))
    assert attribute(span, "spanward.run.id") == "r"
    assert resource_of(detector, "s")["service.name"] == "bot"
    pipeline.shutdown(1)


def test_theirs_and_ours_share_a_trace_but_not_an_exporter(detector: FakeDetector, pipeline: SpanPipeline) -> None:
    """A step below the user's span is its child; their exporter sees their span only, the detector the step only."""
    provider, exporter = user_provider()
    with provider.get_tracer("app").start_as_current_span("request") as request:
        step(pipeline, "s", **RUN)
    (span,) = until(lambda: detector.named("s"))
    assert span.trace_id.hex() == f"{request.get_span_context().trace_id:032x}"
    assert span.parent_span_id.hex() == f"{request.get_span_context().span_id:016x}"
    assert [found.name for found in exporter.get_finished_spans()] == ["request"]
    assert pipeline.flush(5)
    assert {found.name for found in detector.spans} == {"s"}
    assert trace.get_tracer_provider() is provider


def test_a_provider_set_later_is_found_at_the_next_run(detector: FakeDetector, pipeline: SpanPipeline) -> None:
    """The user may set up telemetry after us: from the next run on its resource and its agent spans count."""
    step(pipeline, "early", **RUN)
    provider, _ = user_provider()
    step(pipeline, "late", **RUN)
    provider.get_tracer("openinference.instrumentation.openai").start_span("ChatCompletion").end()
    until(lambda: detector.named("ChatCompletion") and detector.named("late") and detector.named("early"))
    assert resource_of(detector, "early")["service.name"] != "theirs"
    assert resource_of(detector, "late") == {"service.name": "theirs", "team": "x"}
    copied = {"service.name": "theirs", "team": "x", "spanward.forwarded": True}
    assert resource_of(detector, "ChatCompletion") == copied


def test_a_sampler_of_one_percent_blinds_nobody(detector: FakeDetector, pipeline: SpanPipeline) -> None:
    """Every step arrives though the user samples next to nothing, also below their unsampled spans."""
    provider, exporter = user_provider(sampler=ParentBased(ALWAYS_OFF))
    for number in range(20):
        step(pipeline, f"root {number}", **RUN)
        with provider.get_tracer("app").start_as_current_span("request"):
            step(pipeline, f"child {number}")
    until(lambda: len(detector.spans) == 40)
    assert exporter.get_finished_spans() == ()


def test_their_sampling_stays_theirs(pipeline: SpanPipeline) -> None:
    """Their spans below our steps are sampled as they would be without us: as many, and whole traces."""
    provider, exporter = user_provider(sampler=ParentBased(TraceIdRatioBased(0.25)))
    tracer = provider.get_tracer("app")
    for _ in range(400):
        root = pipeline.start("run", "internal", RUN)
        with trace.use_span(root, end_on_exit=False):
            tracer.start_span("a").end()
            tracer.start_span("b").end()
        pipeline.end(root, urgent=False)
    exported = exporter.get_finished_spans()
    assert 50 <= len(exported) / 2 <= 160
    assert len(exported) == 2 * len({span.context.trace_id for span in exported})


def test_their_ids_are_borrowed(pipeline: SpanPipeline) -> None:
    """A run's trace id is made by the user's generator: some back ends read a time from it."""

    class Ids(RandomIdGenerator):
        def generate_trace_id(self) -> int:
            return 0xABC

    user_provider(id_generator=Ids())
    assert pipeline.start("run", "internal", RUN).get_span_context().trace_id == 0xABC


def test_no_limit_truncates(detector: FakeDetector, pipeline: SpanPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of OTEL_* are for exports that somebody pays for; facts of a step arrive whole."""
    monkeypatch.setenv("OTEL_ATTRIBUTE_COUNT_LIMIT", "4")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "8")
    own = step_spans(settings(detector.address))
    step(own, "s", **{f"spanward.k{number}": "v" * 100 for number in range(300)})
    (span,) = until(lambda: detector.named("s"))
    assert len(span.attributes) == 300
    assert {len(pair.value.string_value) for pair in span.attributes} == {100}
    own.shutdown(1)


def test_what_users_write_on_a_step_stays_here(detector: FakeDetector) -> None:
    """While a step is current, code in it may record anything on it: with content off nothing of that leaves."""
    for capture in (False, True):
        pipeline = step_spans(settings(detector.address, capture_content=capture))
        span = pipeline.start(f"s {capture}", "internal", {"spanward.run.id": "r"})
        with trace.use_span(span):
            current = trace.get_current_span()
        current.set_attribute("order", "secret")
        current.add_event("secret")
        current.record_exception(ValueError("secret"))
        current.set_status(trace.StatusCode.ERROR, "secret")
        pipeline.end(span, urgent=True)
        (sent,) = until(lambda capture=capture: detector.named(f"s {capture}"))
        assert (b"secret" in sent.SerializeToString()) is capture
        assert sent.status.code == 2
        pipeline.shutdown(1)


def test_switched_on_again_forwards_once(detector: FakeDetector) -> None:
    """Processors cannot be taken off a provider: off and on again must neither double nor lose its spans."""
    provider, _ = user_provider()
    tracer = provider.get_tracer("langsmith")
    for number in range(3):
        pipeline = step_spans(settings(detector.address))
        tracer.start_span(f"chain {number}").end()
        assert pipeline.flush(5)
        pipeline.shutdown(1)
        tracer.start_span("while off").end()
    assert [span.name for span in detector.spans] == ["chain 0", "chain 1", "chain 2"]


def test_a_strange_provider_is_left_alone(detector: FakeDetector, pipeline: SpanPipeline) -> None:
    """A global provider that is no SDK one, or fails, costs us nothing but its spans."""

    class Odd(TracerProvider):
        def add_span_processor(self, span_processor: Any) -> None:
            raise RuntimeError("no")

    trace.set_tracer_provider(Odd())
    step(pipeline, "s", **RUN)
    until(lambda: detector.named("s"))


def test_two_processes_of_spans_end_with_the_detector_away() -> None:
    """With nobody listening, steps end as quickly as ever and are counted once they are given up."""
    pipeline = step_spans(settings("127.0.0.1:1"))
    for _ in range(100):
        step(pipeline)
    assert not pipeline.flush(0.05)
    pipeline.shutdown(0.1)
    assert pipeline.dropped == 100
