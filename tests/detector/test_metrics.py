"""Counting: bounded, cheap, and under the names that dashboards use."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from spanward_detector.metrics import MAX_SERIES, OVERFLOW, Counts, Metrics, by_state
from spanward_detector.service import Detector

PROMISED = {
    "spanward_spans", "spanward_steps", "spanward_findings", "spanward_directives",
    "spanward_directive_latency_seconds", "spanward_loop_latency_seconds", "spanward_repairs", "spanward_runs",
    "spanward_runs_ended",
    "spanward_agents_connected", "spanward_inflight_call_age_seconds", "spanward_holds", "spanward_fail_open",
    "spanward_ingest_rejected", "spanward_ingest_clamped", "spanward_telemetry_gaps", "spanward_store_queue",
    "spanward_store_commit_seconds", "spanward_emit_dropped", "spanward_build_info",
}  # fmt: skip


def families(text: bytes) -> dict[str, object]:
    return {family.name: family for family in text_string_to_metric_families(text.decode())}


async def test_every_promised_metric_is_there_from_the_start(detector: Detector) -> None:
    """Dashboards and alerts rely on the names."""
    assert families(detector.metrics.exposition("")[0]).keys() >= PROMISED


def test_label_sets_are_bounded() -> None:
    """A hundred thousand names cost two thousand series, and no count is lost."""
    metrics = Metrics()
    for n in range(100_000):
        metrics.findings.add(f"rule{n}", "custom", "error", "act")
    text, _ = metrics.exposition("")
    samples = [s for s in families(text)["spanward_findings"].samples if s.name.endswith("_total")]

    assert len(samples) == MAX_SERIES + 1
    assert sum(s.value for s in samples) == 100_000
    assert next(s for s in samples if s.labels["rule"] == OVERFLOW).value == 100_000 - MAX_SERIES


def test_gauges_are_bounded_too() -> None:
    """What is beyond is shown as one, with the largest value."""
    metrics = Metrics()
    metrics.gauge("spanward_ages", "x", ("agent",), lambda: {(f"a{n}",): float(n) for n in range(5_000)})
    samples = families(metrics.exposition("")[0])["spanward_ages"].samples

    assert len(samples) == MAX_SERIES
    assert next(s for s in samples if s.labels["agent"] == OVERFLOW).value == 4_999


def test_known_reasons_start_at_zero() -> None:
    """So that the first increase is one."""
    samples = families(Metrics().exposition("")[0])["spanward_fail_open"].samples

    assert {"no_stream", "store", "timeout"} <= {s.labels["reason"] for s in samples}
    assert {s.value for s in samples} == {0.0}


def test_states_without_runs_are_shown() -> None:
    """A run that is gone from a state leaves a zero, not a gap."""
    assert by_state(["DONE", "DONE"])["DONE",] == 2
    assert by_state([])["PAUSED",] == 0


def test_two_detectors_do_not_share_counts() -> None:
    """Each has its own registry."""
    first, second = Metrics(), Metrics()
    first.spans.add("genai")

    assert (first.spans.total("genai"), second.spans.total("genai")) == (1, 0)


def test_a_counter_remembers_the_last_trace() -> None:
    """As its exemplar, per label set."""
    counts = Counts("x", "y", ("rule",))
    counts.add("a", trace_id="t1")
    counts.add("a", trace_id="t2")
    counts.add("b")

    assert [s.exemplar and s.exemplar.labels for s in counts.family().samples] == [{"trace_id": "t2"}, None]
