"""The SDK of an agent cuts long attributes and drops those above a count: then we are blind, and nobody is to blame."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from spanward_detector.ingest import decode_traces
from spanward_detector.model import Finding
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import default

from tests.detector.otlp import TRACES, capture, one

GOOD = [name for name, scenario in TRACES if scenario == "success"]


def judged(data: bytes) -> list[Finding]:
    """All that stands against a request at the end."""
    pipeline = Pipeline(default())
    pipeline.spans(decode_traces(data))
    for run in pipeline.runs:
        pipeline.settle(run.id)
    return [found for run in pipeline.runs for found in run.findings()]


def spoilt(name: str, change: Callable[[Span], None]) -> bytes:
    """A good capture with each of its spans changed."""
    message = ExportTraceServiceRequest.FromString(capture(name, "success"))
    for resource in message.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                change(span)
    return message.SerializeToString()


def _cut_value(value: AnyValue, length: int) -> None:
    if value.WhichOneof("value") == "string_value":
        value.string_value = value.string_value[:length]
    for item in value.array_value.values if value.WhichOneof("value") == "array_value" else ():
        _cut_value(item, length)


def cut(span: Span, length: int) -> None:
    """What OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT does."""
    for pair in [*span.attributes, *(pair for event in span.events for pair in event.attributes)]:
        _cut_value(pair.value, length)


def drop(span: Span, count: int, *, oldest: bool) -> None:
    """What OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT does: Python's SDK lets the oldest go, others take no more."""
    over = len(span.attributes) - count
    if over > 0:
        kept = list(span.attributes)[over:] if oldest else list(span.attributes)[:count]
        del span.attributes[:]
        span.attributes.extend(kept)
        span.dropped_attributes_count = over


def blamed(found: list[Finding]) -> list[str]:
    """Messages of findings that say something against the agent."""
    return [
        f"{f.failure_type}: {f.message}" for f in found if f.severity != "info" and f.failure_type != "telemetry_gap"
    ]


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("length", [128, 250, 256, 512, 1000, 1024, 2048, 4095])
def test_values_that_were_cut_off_are_not_the_agents_fault(name: str, length: int) -> None:
    """A JSON text that ends in the middle where the SDK cuts is neither malformed nor truncated by the model."""
    assert blamed(judged(spoilt(name, lambda span: cut(span, length)))) == []


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("oldest", [True, False])
@pytest.mark.parametrize("count", [8, 12, 16, 20, 30])
def test_attributes_that_were_dropped_are_not_the_agents_fault(name: str, count: int, oldest: bool) -> None:
    """No unknown tool, lost reply or lost goal is told of a span that says that it is not whole."""
    assert blamed(judged(spoilt(name, lambda span: drop(span, count, oldest=oldest)))) == []


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_spans_that_were_sampled_away_are_not_the_agents_fault(name: str, share: float) -> None:
    """Whatever spans are missing, a good run does not become a bad one."""
    message = ExportTraceServiceRequest.FromString(capture(name, "success"))
    chance = random.Random(name)
    for resource in message.resource_spans:
        for scope in resource.scope_spans:
            kept = [span for span in scope.spans if chance.random() >= share]
            del scope.spans[:]
            scope.spans.extend(kept)

    assert blamed(judged(message.SerializeToString())) == []


CHATS = {
    "openinference.instrumentation.openai": (
        {},
        "llm.input_messages.{}.message.{}",
        {
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "What time would you like to come?",
            "openinference.span.kind": "LLM",
        },
    ),
    "opentelemetry.instrumentation.openai.v1": (
        {"llm.request.type": "chat", "gen_ai.system": "openai"},
        "gen_ai.prompt.{}.{}",
        {
            "gen_ai.completion.0.finish_reason": "stop",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "What time would you like to come?",
        },
    ),
}
"""Scopes that write one attribute for each field of each message: what they set before, between and after those."""


def _long_chat(scope: str, limit: int | None) -> bytes:
    """Two calls of a model, the second with a long history."""
    first, key, last = CHATS[scope]
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add()
    spans.scope.name = scope
    for number, turns in enumerate((4, 80), 1):
        start = 1_760_000_000_000_000_000 + number * 1_000_000_000
        span = spans.spans.add(
            trace_id=bytes(15) + b"\x01", span_id=bytes(7) + bytes((number,)), name="chat",
            start_time_unix_nano=start, end_time_unix_nano=start + 900_000_000,
        )  # fmt: skip
        texts = ["You book tables at the harbour restaurant.", "A table for order 77123 on Friday, for four please."]
        texts += [f"Answer or question {turn} of a long conversation." for turn in range(turns)]
        roles = ["system", "user"] + ["assistant", "user"] * (turns // 2)
        pairs = dict(first)
        for at, (role, text) in enumerate(zip(roles, texts, strict=True)):
            pairs |= {key.format(at, "role"): role, key.format(at, "content"): text}
        for name, value in (pairs | last).items():
            span.attributes.add(key=name).value.string_value = value
        if limit is not None:
            drop(span, limit, oldest=True)
    return message.SerializeToString()


@pytest.mark.parametrize("scope", CHATS)
def test_a_long_history_of_which_the_sdk_dropped_the_beginning_has_not_lost_its_goal(scope: str) -> None:
    """Of 128 attributes, the default, the system text and the request are the first to go: the gap is told, once."""
    (gap,) = judged(_long_chat(scope, 128))

    assert (gap.failure_type, gap.severity, gap.facts["why"]) == ("telemetry_gap", "warning", "attributes")
    assert gap.ref.span_id == "0000000000000002"
    assert judged(_long_chat(scope, None)) == []


def test_arguments_that_end_at_the_limit_are_unknown_and_others_are_not() -> None:
    """A round length alone is no limit: the text must have been cut, and nothing of the span may be longer."""
    args = '{"path": "report.md", "content": "' + "word " * 400
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write_file"}

    at_the_limit = one(tool | {"gen_ai.tool.call.arguments": args[:1024]})
    assert (at_the_limit.lost, at_the_limit.arguments, at_the_limit.arguments_facts) == ("values", None, None)

    elsewhere = one(tool | {"gen_ai.tool.call.arguments": args[:1011]})
    assert elsewhere.lost == ""
    assert elsewhere.arguments_facts is not None
    assert elsewhere.arguments_facts.form == "truncated"

    longer = one(tool | {"gen_ai.tool.call.arguments": args[:1024], "gen_ai.tool.description": "x" * 1100})
    assert longer.lost == ""

    whole = one(tool | {"gen_ai.tool.call.arguments": args[:1022] + '"}'})
    assert (whole.lost, whole.arguments_facts and whole.arguments_facts.form) == ("", "ok")
