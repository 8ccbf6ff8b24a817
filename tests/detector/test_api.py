"""HTTP: OTLP in, JSON and metrics out, nothing for strangers."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import orjson
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from spanward_detector.service import Detector
from spanward_detector.views import whole_run_view

from tests.detector.service_fakes import RUN, FakeJudge, get_json, http, log_request, make_span, new_ref, span_request

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
GZIP = PROTOBUF | {"content-encoding": "gzip"}
MIB = 2**20


def otlp_json(trace_id: str, span_id: str) -> bytes:
    span = {
        "traceId": trace_id, "spanId": span_id, "name": "x", "startTimeUnixNano": "1000", "endTimeUnixNano": "2000",
        "attributes": [{"key": "spanward.run.id", "value": {"stringValue": RUN}}],
    }  # fmt: skip
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "spanward"}, "spans": [span]}]}]}).encode()


@pytest.fixture
def port(detector: Detector) -> int:
    return detector.http_port


async def test_spans_come_by_protobuf_and_by_json(port: int, judge: FakeJudge) -> None:
    """Both are answered in the form in which they came, gzipped or not."""
    first, second, third = new_ref(), new_ref(), new_ref()
    answers = [
        await http(port, "/v1/traces", span_request([make_span(first)]), PROTOBUF),
        await http(port, "/v1/traces", otlp_json(*second), {"content-type": "application/json; charset=utf-8"}),
        await http(
            port, "/v1/traces", gzip.compress(span_request([make_span(third)])), PROTOBUF | {"content-encoding": "gzip"}
        ),
        await http(port, "/v1/logs", log_request("gen_ai.choice"), PROTOBUF),
    ]

    assert [(status, body) for status, _, body in answers] == [(200, b""), (200, b"{}"), (200, b""), (200, b"")]
    assert answers[0][1]["content-type"] == "application/x-protobuf"
    assert judge.seen == [first.span_id, second.span_id, third.span_id, "gen_ai.choice"]


BAD = [
    pytest.param("/v1/traces", b"\xff" * 99, PROTOBUF, 400, "protobuf", id="garbage-protobuf"),
    pytest.param("/v1/logs", b"\xff" * 99, PROTOBUF, 400, "protobuf", id="garbage-logs"),
    pytest.param("/v1/traces", b"{", JSON, 400, "json", id="half-json"),
    pytest.param("/v1/traces", b"[" * 100_000, JSON, 400, "depth", id="deep-json"),
    pytest.param("/v1/traces", b'{"a":' + b"9" * 5_000 + b"}", JSON, 400, "number", id="huge-number"),
    pytest.param("/v1/traces", b"hello", {"content-type": "text/plain"}, 415, "content_type", id="text"),
    pytest.param("/v1/traces", b"", {"content-type": ""}, 415, "content_type", id="no-type"),
    pytest.param("/v1/traces", b"x", PROTOBUF | {"content-encoding": "br"}, 415, "encoding", id="brotli"),
    pytest.param("/v1/traces", b"no gzip", GZIP, 400, "gzip", id="bad-gzip"),
    pytest.param("/v1/traces", bytes(20 * MIB), PROTOBUF, 413, "too_large", id="twenty-mebibytes"),
    pytest.param(
        "/v1/traces",
        gzip.compress(bytes(64 * MIB)),
        PROTOBUF | {"content-encoding": "gzip"},
        413,
        "too_large",
        id="bomb",
    ),
]


@pytest.mark.parametrize(("path", "body", "headers", "status", "code"), BAD)
async def test_what_cannot_be_taken_is_refused_by_name(
    detector: Detector, port: int, path: str, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    """With a status, a code and a word for a person; and it is counted."""
    found, _, answer = await http(port, path, body, headers)

    assert (found, orjson.loads(answer)["error"]["code"]) in [(status, code), (status, "json")]
    assert sum(detector.metrics.rejected.values.values()) == 1
    assert (await http(port, "/healthz"))[0] == 200


async def test_large_requests_are_taken_up_to_the_limit(detector: Detector, port: int) -> None:
    """Sixteen mebibytes are legal."""
    spans = [make_span(filler="x" * 60_000) for _ in range(275)]
    request = span_request(spans)
    assert 15 * MIB < len(request) <= 16 * MIB

    assert (await http(port, "/v1/traces", request, PROTOBUF))[0] == 200
    assert detector.metrics.steps.total("tool") == 275


async def test_runs_are_listed_and_told(detector: Detector, port: int) -> None:
    """With the keys that scripts rely on."""
    ref = new_ref()
    await http(port, "/v1/traces", span_request([make_span(ref, fails="loop", order="feedback")]), PROTOBUF)
    listed = (await get_json(port, "/api/runs"))["runs"]
    run = await get_json(port, f"/api/runs/{RUN}")

    assert [r["run_id"] for r in listed] == [RUN]
    summary = {"run_id", "agent", "state", "steps", "findings", "started_at", "conversation_id", "trace_ids"}
    assert summary <= listed[0].keys()
    assert (listed[0]["steps"], listed[0]["findings"], listed[0]["state"]) == (1, 1, "RUNNING")
    assert summary | {"directives", "transitions"} <= run.keys()
    assert {"index", "kind", "action", "span_id", "duration_ms", "start_at", "failed"} <= run["steps"][0].keys()
    assert {"failure_type", "rule", "severity", "mode", "span_id", "step", "message"} <= run["findings"][0].keys()
    assert {"id", "kind", "level", "state", "created_at"} <= run["directives"][0].keys()
    assert run["trace_ids"] == [ref.trace_id]


async def test_unknown_runs_and_paths_are_404(port: int) -> None:
    """As JSON, too."""
    for path in ("/api/runs/nobody", "/nothing", "/api/runs/" + "x" * 2_000, "/api/runs/../../etc/passwd"):
        status, headers, body = await http(port, path)

        assert status == 404
        assert headers["content-type"] == "application/json"
        assert orjson.loads(body)["error"]["code"] in ("no_such_run", "not_found")


async def test_wrong_methods_and_limits_are_refused(port: int) -> None:
    """Runs cannot be posted, spans not got, and a limit is a number."""
    assert (await http(port, "/api/runs", b"{}", JSON))[0] == 405
    assert (await http(port, "/v1/traces"))[0] == 405
    assert [(await http(port, f"/api/runs?limit={limit}"))[0] for limit in ("0", "-1", "x", "9999", "5")] == [
        400, 400, 400, 400, 200,
    ]  # fmt: skip


async def test_withdrawn_findings_are_not_shown() -> None:
    """The store keeps them, the API does not tell them."""
    record = {"run_id": "r", "steps": [], "findings": [{"rule": "a", "withdrawn": 1}, {"rule": "b", "withdrawn": 0}]}

    assert whole_run_view(record)["findings"] == [{"rule": "b"}]


async def test_times_beyond_the_calendar_are_null() -> None:
    """A hostile timestamp breaks no answer."""
    view = whole_run_view({"run_id": "r", "started_ns": 2**63 - 1, "ended_ns": 0})

    assert (view["started_at"] or "").startswith("2262")
    assert view["ended_at"] is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:8327"}, 200),
        ({"host": "[::1]:8327"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "localhost:1", "origin": "http://localhost:1"}, 200),
        ({"host": "localhost:1", "origin": "http://localhost:2"}, 403),
    ],
)
async def test_only_pages_of_our_own_may_ask(port: int, headers: dict[str, str], status: int) -> None:
    """A page that rebinds its name to us, or posts across origins, is refused."""
    assert (await http(port, "/api/runs", headers=headers))[0] == status
    body = span_request([make_span()])
    assert (await http(port, "/v1/traces", body, PROTOBUF | headers))[0] == status


async def test_every_answer_has_strict_headers(port: int) -> None:
    """Also the refusals; and the server does not say what it is made of."""
    for path in ("/api/runs", "/metrics", "/nothing", "/healthz"):
        _, headers, _ = await http(port, path)

        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


async def test_metrics_have_exemplars_for_who_wants_them(port: int) -> None:
    """OpenMetrics that a strict parser takes, with the trace that a finding is in."""
    ref = new_ref()
    await http(port, "/v1/traces", span_request([make_span(ref, fails="loop")]), PROTOBUF)
    plain = (await http(port, "/metrics"))[2].decode()
    _, headers, body = await http(port, "/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}

    labels = {"rule": "loop", "failure_type": "loop", "severity": "error", "mode": "act"}
    sample = next(s for s in families["spanward_findings"].samples if s.name == "spanward_findings_total")
    assert 'rule="loop",severity="error"} 1.0' in plain
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert (sample.labels, sample.exemplar.labels) == (labels, {"trace_id": ref.trace_id})


async def test_health_says_when_the_store_is_broken(detector: Detector, port: int, tmp_path: Path) -> None:
    """Directives cannot be given then."""
    detector.store._writer.healthy = False

    assert (await http(port, "/healthz"))[0] == 503


async def test_many_at_once(detector: Detector, port: int) -> None:
    """Requests do not get in each other's way."""
    bodies = [span_request([make_span(run=f"r{n}")]) for n in range(40)]
    answers = await asyncio.gather(*(http(port, "/v1/traces", body, PROTOBUF) for body in bodies))

    assert {status for status, _, _ in answers} == {200}
    assert len((await get_json(port, "/api/runs?limit=100"))["runs"]) == 40


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://]", "http://l[[["])
async def test_an_origin_that_is_no_address_is_refused(port: int, origin: str) -> None:
    """Like any other that is not ours."""
    status, _, body = await http(port, "/healthz", headers={"origin": origin})

    assert (status, orjson.loads(body)["error"]["code"]) == (403, "origin")


@pytest.mark.parametrize("limit", ["9" * 5000, "00000000000000000001", "1e3", "-1", "\u00b2".encode().hex()])
async def test_a_limit_that_is_no_such_number_is_refused(port: int, limit: str) -> None:
    """However many digits it has."""
    status, _, body = await http(port, f"/api/runs?limit={limit}")

    assert (status, orjson.loads(body)["error"]["code"]) == (400, "bad_limit")
