"""HTTP calls inside runs: child spans without content, and nothing at all elsewhere."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import httpx2
import pytest
import spanward
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.instrumentation.httpx import HTTPX2ClientInstrumentor, HTTPXClientInstrumentor
from opentelemetry.instrumentation.utils import suppress_http_instrumentation
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from spanward import semconv
from spanward.adapters.http import MAX_RETRY_AFTER_MS, retry_after_ms
from spanward.testing import Supervised

from tests.adapters.watching import attributes, everything, watched
from tests.stub_openai import StubModel, answer, serving

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
LIBRARIES = [pytest.param(httpx, id="httpx"), pytest.param(httpx2, id="httpx2")]


@pytest.fixture
def stub() -> Iterator[StubModel]:
    """A server whose services know the weather."""
    with serving() as server:
        yield server


def http_spans(gate: Supervised) -> list[ReadableSpan]:
    """HTTP spans, in the order in which they ended."""
    return [span for span in gate.spans.ended if semconv.HTTP_METHOD in attributes(span)]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_call_inside_a_tool_is_its_child(stub: StubModel, library: Any) -> None:
    """The span hangs below the tool's, names method, server and status, and belongs to the run."""

    @spanward.tool(side_effect="read")
    def look() -> int:
        with library.Client() as client:
            return int(client.get(f"{stub.base_url}/service/weather", params={"city": "北京"}).status_code)

    with watched(http=True) as gate, spanward.run("bot") as run:
        assert look() == 200

    (span,) = http_spans(gate)
    tool = next(other for other in gate.spans.ended if other.name == "execute_tool look")
    assert span.parent
    assert tool.context
    assert span.parent.span_id == tool.context.span_id
    assert span.kind is SpanKind.CLIENT
    assert span.name == "GET"
    assert attributes(span) == {
        semconv.HTTP_METHOD: "GET",
        semconv.HTTP_STATUS: 200,
        semconv.RUN_ID: run.id,
        "server.address": "127.0.0.1",
        "server.port": int(stub.base_url.rsplit(":", 1)[1]),
    }


@pytest.mark.parametrize("library", LIBRARIES)
async def test_async_calls_are_seen_too(stub: StubModel, library: Any) -> None:
    """An error status is an error, with the server's wish about trying again."""
    stub.failures.append(answer({}, 429, retry_after="7"))
    with watched(http=True) as gate:
        async with spanward.run("bot"), library.AsyncClient() as client:
            assert (await client.post(f"{stub.base_url}/v1/chat/completions", json={})).status_code == 429

    (span,) = http_spans(gate)
    assert attributes(span)[semconv.HTTP_STATUS] == 429
    assert attributes(span)[semconv.ERROR_TYPE] == "429"
    assert attributes(span)[semconv.RETRY_AFTER_MS] == 7000
    assert span.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_exception_passes_and_leaves_its_class(library: Any) -> None:
    """Its message may quote a URL, so it is in no event and no status."""
    refused = pytest.raises(library.ConnectError)
    with watched(http=True) as gate, spanward.run("bot"), library.Client() as client, refused:
        client.get("http://127.0.0.1:1/secret?city=bob")

    (span,) = http_spans(gate)
    assert attributes(span)[semconv.ERROR_TYPE] == "ConnectError"
    assert span.status.status_code is StatusCode.ERROR
    assert not span.status.description
    assert not span.events


def test_no_url_leaves_by_default(stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither path nor query, nor a header that the user captures for their spans; with capture on, the URL does."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_RESPONSE", ".*")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_REQUEST", ".*")
    url = f"{stub.base_url}/service/weather?city=bob"
    with watched(http=True) as gate, spanward.run("bot"):
        httpx.get(url, headers={"x-password": "hunter2"})
    assert not [word for word in ("bob", "/weather", "hunter2", "application/json") if word in everything(gate)]

    with watched(http=True, capture_content=True) as gate, spanward.run("bot"):
        httpx.get(url)
    assert attributes(http_spans(gate)[0])["url.full"] == url


def test_nothing_outside_runs_and_nothing_when_switched_off(stub: StubModel) -> None:
    """No span, and the request carries no header of ours."""
    url = f"{stub.base_url}/service/weather"
    with watched(http=True) as gate:
        assert "traceparent" not in httpx.get(url).request.headers
    assert gate.spans.ended == ()

    with watched(http=False) as gate, spanward.run("bot"):
        httpx.get(url)
    assert http_spans(gate) == []

    with watched(http=True) as gate, spanward.run("bot"):
        assert "traceparent" in httpx.get(url).request.headers
        with suppress_http_instrumentation():
            httpx.get(url)
    assert len(http_spans(gate)) == 1


@pytest.mark.parametrize(
    ("library", "instrumentor"),
    [
        pytest.param(httpx, HTTPXClientInstrumentor, id="httpx"),
        pytest.param(httpx2, HTTPX2ClientInstrumentor, id="httpx2"),
    ],
)
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_where_the_user_has_instrumented_we_step_aside(
    stub: StubModel, library: Any, instrumentor: Any, first: str
) -> None:
    """Each request is one span, theirs, whoever came first; and theirs works on after we are gone."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    url = f"{stub.base_url}/service/weather"
    if first == "theirs":
        instrumentor().instrument(tracer_provider=provider)
    try:
        with watched(http=True) as gate, spanward.run("bot"):
            if first == "ours":
                instrumentor().instrument(tracer_provider=provider)
            library.get(url)
        library.get(url)

        assert http_spans(gate) == []
        assert len(exporter.get_finished_spans()) == 2
    finally:
        instrumentor().uninstrument()


def test_a_client_that_the_user_has_instrumented_is_theirs(stub: StubModel) -> None:
    """Also when it is a single client."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with watched(http=True) as gate, spanward.run("bot"), httpx.Client() as theirs, httpx.Client() as other:
        HTTPXClientInstrumentor.instrument_client(theirs, tracer_provider=provider)
        theirs.get(f"{stub.base_url}/service/weather")
        other.get(f"{stub.base_url}/service/weather")

    assert len(http_spans(gate)) == 1
    assert len(exporter.get_finished_spans()) == 1


def test_a_failure_of_ours_never_reaches_the_request(stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A span that cannot be started leaves the request as it is, and is counted."""
    with watched(http=True) as gate, spanward.run("bot"):
        real = gate.runtime.spans.start

        def broken(name: str, *args: Any, **kwargs: Any) -> trace.Span:
            if name == "GET":
                raise RuntimeError("a bug")
            return real(name, *args, **kwargs)

        monkeypatch.setattr(gate.runtime.spans, "start", broken)
        assert httpx.get(f"{stub.base_url}/service/weather").status_code == 200

    assert gate.runtime.counters.internal_errors == 1


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"retry-after": "120"}, 120_000, id="seconds"),
        pytest.param({"retry-after": "1.5"}, 1500, id="fraction"),
        pytest.param({"retry-after-ms": "20", "retry-after": "120"}, 20, id="milliseconds-win"),
        pytest.param({"retry-after": "-3"}, 0, id="negative"),
        pytest.param({"retry-after": "1e999"}, MAX_RETRY_AFTER_MS, id="for-ever"),
        pytest.param({"retry-after": "nan"}, None, id="not-a-number"),
        pytest.param({"retry-after": "soon"}, None, id="words"),
        pytest.param({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30_000, id="date-by-our-clock"),
        pytest.param(
            {"retry-after": "Fri, 01 Jan 2010 00:00:10 GMT", "date": "Fri, 01 Jan 2010 00:00:00 GMT"},
            10_000,
            id="date-by-the-servers-clock",
        ),
        pytest.param({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0, id="date-gone-by"),
        pytest.param({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", "date": "?"}, 30_000, id="bad-date-header"),
    ],
)
def test_retry_after(headers: Mapping[str, str], expected: int | None) -> None:
    """Seconds, milliseconds and dates; a date counts from the server's own clock."""
    assert expected == retry_after_ms(headers, NOW)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_header_is_survived(wish: str, served: str) -> None:
    """Servers write what they like."""
    wait = retry_after_ms({"retry-after": wish, "date": served}, NOW)

    assert wait is None or 0 <= wait <= MAX_RETRY_AFTER_MS
    assert json.dumps(wait)


@pytest.mark.parametrize("year", ["9" * 400, "18446744073709551616"])
def test_a_date_that_no_calendar_has_says_nothing(year: str) -> None:
    """Neither as the time to wait for nor as the server's own."""
    good, bad = "Thu, 01 Jan 2026 00:00:20 GMT", f"Thu, 01 Jan 2026 {year}:00:20 GMT"

    assert retry_after_ms({"retry-after": bad, "date": good}, NOW) is None
    assert retry_after_ms({"retry-after": good, "date": bad}, NOW) is not None
