"""Wire bytes of spans against the stock encoder."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState
from spanward.span_codec import Queued, encode_batches
from spanward.step_span import StepSpan

MIB = 1 << 20

long_texts = st.sampled_from(["x" * 999, "é" * 2000, "𝄞" * 999])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | long_texts
scalars = texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary(max_size=20)
values = st.recursive(
    st.none() | scalars,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
attributes = st.dictionaries(texts.filter(bool) | st.just("k" * 5000), values, max_size=8)
times = st.integers(0, 2**63)
states = st.none() | st.just(TraceState([("vendor", "a:b"), ("other", "1")]))
contexts = st.builds(
    SpanContext,
    st.integers(1, 2**128 - 1),
    st.integers(1, 2**64 - 1),
    st.booleans(),
    st.just(TraceFlags(1)),
    states,
)
resources = st.builds(
    Resource, st.dictionaries(texts.filter(bool), texts, max_size=3), st.sampled_from(["", "https://r"])
)
scopes = st.builds(
    InstrumentationScope,
    texts,
    st.none() | texts,
    st.sampled_from([None, "https://s"]),
    st.sampled_from([{}, {"a": 1}]),
)
spans = st.builds(
    ReadableSpan,
    texts,
    contexts,
    st.none() | contexts,
    resources,
    attributes,
    st.lists(st.builds(Event, texts, attributes, times), max_size=3),
    st.lists(st.builds(Link, contexts, attributes), max_size=2),
    st.sampled_from(SpanKind),
    st.none(),
    st.sampled_from([Status(), Status(StatusCode.OK), Status(StatusCode.ERROR, "näh"), Status(StatusCode.ERROR)]),
    times,
    times,
    scopes,
)


def decoded(payload: bytes) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(payload)


def make(name: str = "s", resource: Resource | None = None, scope: str = "x", **fields: Any) -> ReadableSpan:
    """A small finished span."""
    return ReadableSpan(
        name,
        SpanContext(1, 2, False),
        resource=resource or Resource.get_empty(),
        start_time=1,
        end_time=2,
        instrumentation_scope=fields.pop("instrumentation_scope", InstrumentationScope(scope)),
        **fields,
    )


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(spans)
def test_any_span_equals_the_stock_encoding(span: ReadableSpan) -> None:
    """Whatever the SDK can hold, our bytes decode to the message that the stock encoder makes."""
    batches, unfit = encode_batches([Queued(span)], span.resource, 16 * MIB)
    assert unfit == 0
    assert [batch.spans for batch in batches] == [1]
    assert decoded(batches[0].payload) == encode_spans([span])


def test_spans_are_grouped_by_resource_and_scope() -> None:
    """Spans of one resource and one scope share their heads, as in the stock encoding."""
    one, other = Resource({"service.name": "a"}), Resource({"service.name": "b"})
    scope = InstrumentationScope("lib", "1")
    all_spans = [make(str(i), [one, other][i % 2], instrumentation_scope=scope) for i in range(6)]
    batches, _ = encode_batches([Queued(span, forwarded=False) for span in all_spans[::2]], one, MIB)
    assert decoded(batches[0].payload) == encode_spans(all_spans[::2])


def test_own_spans_carry_the_resource_of_now() -> None:
    """The resource of our own spans is the one given at the time of sending, whatever their provider was made with."""
    batches, _ = encode_batches([Queued(make())], Resource({"service.name": "late"}), MIB)
    (group,) = decoded(batches[0].payload).resource_spans
    assert [(pair.key, pair.value.string_value) for pair in group.resource.attributes] == [("service.name", "late")]


def test_forwarded_spans_keep_their_resource() -> None:
    """A copy of the user's span comes under its own resource, not ours, and says that it is a copy."""
    theirs = make(resource=Resource({"service.name": "theirs"}))
    batches, _ = encode_batches([Queued(theirs, forwarded=True)], Resource({"service.name": "ours"}), MIB)
    (group,) = decoded(batches[0].payload).resource_spans
    name, mark = group.resource.attributes
    assert (name.value.string_value, mark.key, mark.value.bool_value) == ("theirs", "spanward.forwarded", True)


def test_a_copy_s_mark_does_not_rub_off_on_our_own_spans() -> None:
    """Both may have one and the same resource; only the copies are marked."""
    shared = Resource({"service.name": "one"})
    batches, _ = encode_batches([Queued(make("theirs", shared), forwarded=True), Queued(make("ours"))], shared, MIB)
    groups = decoded(batches[0].payload).resource_spans
    marked = {
        g.scope_spans[0].spans[0].name: "spanward.forwarded" in [a.key for a in g.resource.attributes] for g in groups
    }
    assert marked == {"theirs": True, "ours": False}


def test_a_step_is_written_like_an_sdk_span() -> None:
    """Our own light span and an SDK span with the same content give the same message."""
    context = SpanContext(5, 6, False, TraceFlags(1))
    parent = SpanContext(5, 7, False, TraceFlags(1))
    step = StepSpan(
        "execute_tool a", SpanKind.CLIENT, context, parent, {"gen_ai.tool.name": "a", "n": 3, "ids": ("x", "y")}
    )
    step.add_event("note", {"k": 1}, 12)
    step.set_status(StatusCode.ERROR)
    step.end()
    twin = ReadableSpan(
        name=step.name, context=context, parent=parent, resource=Resource.get_empty(), attributes=dict(step.attributes),
        events=[Event("note", {"k": 1}, 12)], kind=SpanKind.CLIENT, status=Status(StatusCode.ERROR),
        start_time=step.start_time, end_time=step.end_time, instrumentation_scope=InstrumentationScope("spanward"),
    )  # fmt: skip
    batches, _ = encode_batches([Queued(step)], Resource.get_empty(), MIB)
    assert decoded(batches[0].payload) == encode_spans([twin])


def test_structure_only_leaves_nothing_that_may_be_content() -> None:
    """With content off, a URL, a statement, an event's text and a status message stay here; codes and times leave."""
    span = make(
        attributes={
            "url.full": "https://x/?q=secret", "http.response.status_code": 429, "db.query.text": "secret",
            "error.type": "429", "spanward.run.id": "r",
            "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": "secret", "order": "secret",
        },
        events=[
            Event("exception", {"exception.type": "E", "exception.message": "secret"}, 1),
            Event("secret", {"a": "secret"}, 1),
        ],
        links=[Link(SpanContext(3, 4, True), {"a": "secret"})],
        status=Status(StatusCode.ERROR, "secret"),
    )  # fmt: skip
    batches, _ = encode_batches([Queued(span, structure_only=True)], span.resource, MIB)
    assert b"secret" not in batches[0].payload
    (sent,) = decoded(batches[0].payload).resource_spans[0].scope_spans[0].spans
    assert {pair.key for pair in sent.attributes} == {
        "http.response.status_code", "error.type", "spanward.run.id", "gen_ai.tool.name",
    }  # fmt: skip
    assert [[pair.key for pair in event.attributes] for event in sent.events] == [["exception.type"]]
    assert sent.status.code == 2


def test_what_utf8_or_int64_cannot_hold_does_not_cost_the_span() -> None:
    """Half a surrogate pair and a 30-digit integer arrive in some form; the receiver takes the batch."""
    span = make("\ud800", attributes={"half": "a\udfff", "long": 10**29, "\ud800": 1})
    batches, unfit = encode_batches([Queued(span)], span.resource, MIB)
    (sent,) = decoded(batches[0].payload).resource_spans[0].scope_spans[0].spans
    found = {pair.key: pair.value.string_value for pair in sent.attributes}
    assert (found["half"], found["long"], unfit) == ("a?", str(10**29), 0)


def test_a_span_that_cannot_be_written_costs_no_other() -> None:
    """A broken span is counted and left out; its neighbours go."""
    broken = make(attributes={"huge": 10**5000})
    batches, unfit = encode_batches([Queued(make("a")), Queued(broken), Queued(make("b"))], Resource.get_empty(), MIB)
    assert ([batch.spans for batch in batches], unfit) == ([2], 1)


@pytest.mark.parametrize("count", [1, 7, 40])
def test_batches_stay_below_the_limit(count: int) -> None:
    """Spans are split over requests that each fit; one that fits in none is counted."""
    queued = [Queued(make(str(i), attributes={"text": "x" * 3000})) for i in range(count)]
    queued.append(Queued(make("big", attributes={"text": "x" * 20_000})))
    batches, unfit = encode_batches(queued, Resource.get_empty(), 10_000)
    assert all(len(batch.payload) <= 10_000 for batch in batches)
    assert (sum(batch.spans for batch in batches), unfit) == (count, 1)
