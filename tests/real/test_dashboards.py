"""Every query of dashboard and alerts, on a real Prometheus that scraped the detector during the demo."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from spanward.demo.scenarios import SCENARIOS

from grafana.build import split_limit
from tests.real import stack

DASHBOARD = json.loads((stack.ROOT / "grafana/dashboards/spanward.json").read_text())
RULES = yaml.safe_load((stack.ROOT / "deploy/rules.yml").read_text())

POLICY = stack.ROOT / "detector_service/spanward_detector/policy/demo.yaml"


class Observed(NamedTuple):
    """What the test looks at: Prometheus, when the scenarios began, and the detector's /metrics."""

    prometheus: stack.Prometheus
    began: float
    metrics_url: str

    def values(self, expr: str) -> list:
        """Every series of a query over the time of the scenarios."""
        query = {"query": expr, "start": self.began, "end": time.time(), "step": "1"}
        body = stack.get(f"{self.prometheus.url}/api/v1/query_range?{urllib.parse.urlencode(query)}")
        assert body is not None, f"Prometheus refuses {expr}"
        return json.loads(body)["data"]["result"]


def _panel_queries() -> list:
    return [
        pytest.param(target["expr"], id=f"{panel['title']}/{target['refId']}")
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
    ]


def _alert_values() -> list:
    return [
        pytest.param(
            split_limit(rule["expr"])[0] if "alert" in rule else rule["expr"], id=rule.get("alert") or rule["record"]
        )
        for group in RULES["groups"]
        for rule in group["rules"]
    ]


def _play(scenario: str, control: str, spans: str) -> None:
    """Run one scenario of the demo as its own process."""
    env = os.environ | {
        "SPANWARD_ENDPOINT": control,
        "SPANWARD_SPANS_ENDPOINT": spans,
        "SPANWARD_HOLD_MIN_MS": "2000",  # the default suits a machine that does not run five servers and their tests
        "SPANWARD_HOLD_MAX_MS": "2000",
    }
    done = subprocess.run(
        [sys.executable, "-m", "spanward.demo.agent", scenario], env=env, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr


def _refused(metrics_url: str) -> None:
    """Send what is no OTLP, so that there is something refused to be seen."""
    request = urllib.request.Request(
        metrics_url.replace("/metrics", "/v1/traces"), b"\xff", {"Content-Type": "application/x-protobuf"}
    )
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request, timeout=5)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """The whole stack, scraped each second, while the demo's agents fail and are repaired."""
    home: Path = tmp_path_factory.mktemp("dashboards")
    grpc_port, http_port, *ports = stack.free_ports(8)
    control, metrics = f"127.0.0.1:{grpc_port}", f"127.0.0.1:{http_port}"
    targets = {"detector": [metrics], "otelcol": [f"127.0.0.1:{ports[5]}"]}
    with (
        pytest.MonkeyPatch.context() as patch,
        stack.prometheus(targets, workdir=home) as prometheus,
        stack.jaeger(prometheus.url, workdir=home) as jaeger,
    ):
        patch.setenv("SPAN_METRICS_FLUSH", "500ms")
        with (
            stack.collector(control, jaeger.otlp_grpc, prometheus.remote_write, workdir=home, ports=ports) as collector,
            stack.detector(home, grpc_port, http_port, emit_endpoint=collector.otlp_grpc, SPANWARD_POLICY=str(POLICY)),
        ):
            prometheus.wait_for('sum(up{job=~"detector|otelcol"}) == 2')
            began = time.time()
            for scenario in SCENARIOS:
                _play(scenario, control, collector.otlp_steps)
            _refused(f"http://{metrics}/metrics")
            # every rate needs two scrapes that have seen its series
            prometheus.wait_for(f'min(timestamp(up{{job=~"detector|otelcol"}})) > {time.time() + 2}')
            yield Observed(prometheus, began, f"http://{metrics}/metrics")


@pytest.mark.timeout(300)
def test_every_name_is_one_that_the_detector_shows(observed: Observed) -> None:
    """Dashboard and rules name no metric of ours that the detector's /metrics does not declare."""
    exposed = (stack.get(observed.metrics_url) or b"").decode()
    declared = set(re.findall(r"^# TYPE (\w+) ", exposed, re.MULTILINE))
    texts = json.dumps(DASHBOARD) + json.dumps(RULES)
    used = {re.sub(r"_bucket$", "", name) for name in re.findall(r"\b(?<!:)spanward_\w+", texts)}

    assert used
    assert {name for name in used if name not in declared and name.removesuffix("_total") not in declared} == set()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("expr", _panel_queries())
def test_every_panel_has_data(observed: Observed, expr: str) -> None:
    """Each query of the dashboard returned something while the scenarios ran."""
    assert observed.values(expr.replace("$__rate_interval", "10s"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("expr", _alert_values())
def test_every_rule_has_data(observed: Observed, expr: str) -> None:
    """Each recording rule, and the value that each alert compares with its limit, returned something."""
    assert observed.values(expr)


def test_a_panel_leads_to_the_runs_trace(observed: Observed) -> None:
    """The exemplars behind the tool times are traces of the demo's runs."""
    query = {"query": "traces_span_metrics_duration_milliseconds_bucket", "start": observed.began, "end": time.time()}
    body = stack.get(f"{observed.prometheus.url}/api/v1/query_exemplars?{urllib.parse.urlencode(query)}")
    found = [one["labels"]["trace_id"] for series in json.loads(body or b"{}")["data"] for one in series["exemplars"]]

    assert found
    assert all(re.fullmatch(r"[0-9a-f]{32}", trace_id) for trace_id in found)
