"""Prometheus' configuration and rules, and the metrics that the Collector makes of spans."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
from pathlib import Path

import pytest
import yaml

from tests.real import stack

DEPLOY = stack.ROOT / "deploy"


def _promtool(*arguments: str | Path) -> None:
    done = subprocess.run([stack.binary("promtool"), *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("targets", ["targets-local.yml", "targets-compose.yml"])
def test_promtool_accepts_the_configuration(tmp_path: Path, targets: str) -> None:
    """The configuration is sound with each of its target files."""
    for name in ("prometheus.yml", "rules.yml"):
        shutil.copy(DEPLOY / name, tmp_path)
    shutil.copy(DEPLOY / targets, tmp_path / "targets.yml")
    _promtool("check", "config", tmp_path / "prometheus.yml")


def test_promtool_accepts_the_rules() -> None:
    """No rule has a syntax error or a doubtful name."""
    _promtool("check", "rules", "--lint=all", "--lint-fatal", DEPLOY / "rules.yml")


def test_every_alert_fires_and_stays_quiet_as_told() -> None:
    """The cases of rules_test.yml hold."""
    _promtool("test", "rules", DEPLOY / "rules_test.yml")


def test_spans_become_metrics_with_the_labels_of_the_dashboard(
    collector: stack.Collector, prometheus: stack.Prometheus
) -> None:
    """Calls and durations of spans arrive by remote write, by operation, agent and tool, with status."""
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.agent.name": "a", "gen_ai.tool.name": "metrics_probe"}
    stack.send(collector.otlp_steps, stack.make(attributes=tool), stack.make(attributes=tool, error=True))
    probe = '{gen_ai_operation_name="execute_tool", gen_ai_agent_name="a", gen_ai_tool_name="metrics_probe"'
    calls = f"traces_span_metrics_calls_total{probe}"
    [failed] = prometheus.wait_for(f'{calls}, status_code="STATUS_CODE_ERROR", service_name="test-agent"}} > 0')

    assert prometheus.wait_for(f"sum({calls}}}) >= 2")
    assert failed["value"][1] == "1"
    assert prometheus.wait_for(f'traces_span_metrics_duration_milliseconds_bucket{probe}, le="5"}} > 0')


def test_metrics_lead_to_traces(collector: stack.Collector, prometheus: stack.Prometheus) -> None:
    """Durations carry exemplars with the trace id under the name that Grafana's data source expects."""
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "exemplar_probe"}
    made = stack.make(attributes=tool)
    stack.send(collector.otlp_steps, made)
    query = 'traces_span_metrics_duration_milliseconds_bucket{gen_ai_tool_name="exemplar_probe"}'
    prometheus.wait_for(query)
    address = f"{prometheus.url}/api/v1/query_exemplars?" + urllib.parse.urlencode(
        {"query": query, "start": "1", "end": "9999999999"}
    )
    data = stack.wait_until(lambda: json.loads(stack.get(address) or b"{}").get("data"), "exemplars", 20)

    assert data[0]["exemplars"][0]["labels"]["trace_id"] == made.trace_id


def test_jaeger_reads_the_metrics(
    collector: stack.Collector, jaeger: stack.Jaeger, prometheus: stack.Prometheus
) -> None:
    """Jaeger's Monitor tab finds the Collector's span metrics in Prometheus under the names that it expects."""
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "monitor_probe"}
    stack.send(collector.otlp_steps, stack.make(attributes=tool))
    prometheus.wait_for('traces_span_metrics_calls_total{gen_ai_tool_name="monitor_probe"}')
    body = stack.get(
        f"{jaeger.url}/api/metrics/calls?service=test-agent&lookback=600000&step=5000&ratePer=60000&spanKind=internal"
    )

    assert json.loads(body or b"{}")["name"] == "service_call_rate"


def test_lost_spans_and_queues_are_seen(tmp_path: Path) -> None:
    """Rules and dashboard name the Collector's own metrics as a real scrape of a real Collector finds them."""
    rules = {
        rule.get("alert"): rule["expr"].rpartition(">")[0]
        for group in yaml.safe_load((DEPLOY / "rules.yml").read_text())["groups"]
        for rule in group["rules"]
    }
    with (
        stack.collector(workdir=tmp_path) as alone,
        stack.prometheus({"otelcol": [alone.metrics]}, workdir=tmp_path) as seen,
    ):

        def lost() -> bool:
            stack.send(alone.otlp_steps, stack.make())  # nobody listens there: given up after 10 s of retries
            return any(float(series["value"][1]) > 0 for series in seen.query(rules["CollectorDropsForDetector"]))

        assert stack.wait_until(lost, "lost spans in Prometheus", 40)
        assert {series["metric"]["exporter"] for series in seen.query(rules["CollectorQueueFilling"])} >= {
            "otlp_grpc/detector",
            "otlp_grpc/jaeger",
        }
        assert seen.query('sum({__name__=~"otelcol_exporter_sent_spans(_total)?"})')
