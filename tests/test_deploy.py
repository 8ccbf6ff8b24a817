"""The stack as files: compose, Collector, Prometheus, Grafana and Dockerfile agree with each other."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
COLLECTOR = (ROOT / "otel-collector.yaml").read_text()
JAEGER = (ROOT / "deploy/jaeger.yaml").read_text()
RULES: dict[str, Any] = yaml.safe_load((ROOT / "deploy/rules.yml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "grafana/dashboards/spanward.json").read_text())
GRAFANA_ALERTS: dict[str, Any] = yaml.safe_load((ROOT / "grafana/alerts/alerts.yaml").read_text())

LISTENS = {
    ("detector", 4327),
    ("detector", 8327),
    ("collector", 4317),
    ("collector", 4318),
    ("collector", 4319),
    ("collector", 8888),
    ("jaeger", 14317),
    ("jaeger", 16686),
    ("prometheus", 9090),
    ("grafana", 3000),
}
"""Where each service of the compose file listens on the network between them."""


def variables(text: str) -> dict[str, str]:
    """Every ``${env:NAME:-default}`` of a configuration file."""
    return dict(re.findall(r"\$\{env:(\w+):-([^}]*)\}", text))


def _expressions() -> Iterator[tuple[str, str]]:
    """Where and what: every PromQL expression of the dashboard, the rules and Grafana's alerts."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for group in RULES["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert") or rule["record"], rule["expr"]
    for group in GRAFANA_ALERTS["groups"]:
        for rule in group["rules"]:
            yield f"Grafana {rule['title']}", rule["data"][0]["model"]["expr"]


def published(service: str) -> list[tuple[str, int, int]]:
    """Host address, host port and container port of each published port."""
    parts = [port.rsplit(":", 2) for port in SERVICES[service].get("ports", ())]
    return [(host, int(outside), int(inside)) for host, outside, inside in parts]


@pytest.mark.parametrize("service", SERVICES)
def test_every_mount_exists(service: str) -> None:
    """What compose mounts from the checkout is there, read-only, and named volumes are declared."""
    for mount in SERVICES[service].get("volumes", ()):
        source, target, *mode = mount.split(":")
        assert target.startswith("/")
        if source.startswith("."):
            assert (ROOT / source).exists(), mount
            assert mode == ["ro"], mount
        else:
            assert source in COMPOSE["volumes"], mount


@pytest.mark.parametrize("service", SERVICES)
def test_images_are_pinned_and_services_have_a_health_check(service: str) -> None:
    """No image floats, and compose can tell when a service is ready."""
    tag = SERVICES[service]["image"].partition(":")[2]

    assert re.fullmatch(r"v?\d+\.\d+\.\d+", tag)
    assert SERVICES[service]["healthcheck"]["test"][0] == "CMD"
    assert set(SERVICES[service].get("depends_on", ())) <= SERVICES.keys()


@pytest.mark.parametrize("service", SERVICES)
def test_ports_are_published_on_loopback_only(service: str) -> None:
    """Nothing asks for a password, so nothing is reachable from elsewhere; each port is one that is listened on."""
    for host, outside, inside in published(service):
        assert host == "127.0.0.1"
        assert outside == inside
        assert (service, inside) in LISTENS


@pytest.mark.parametrize(("service", "text"), [("collector", COLLECTOR), ("jaeger", JAEGER)])
def test_compose_sets_only_variables_that_the_file_reads(service: str, text: str) -> None:
    """A variable that is misspelt in compose would silently leave the default."""
    known = variables(text).keys() | {"GOMEMLIMIT", "OTEL_TRACES_SAMPLER"}

    assert SERVICES[service]["environment"].keys() <= known


def test_every_address_in_compose_is_one_that_a_service_listens_on() -> None:
    """Endpoints, Prometheus' targets and Grafana's data sources name service and port of a listener."""
    targets = yaml.safe_load((ROOT / "deploy/targets-compose.yml").read_text())
    texts = [host for group in targets for host in group["targets"]]
    for service in SERVICES.values():
        texts += [str(value) for value in service.get("environment", {}).values()]
    used = {
        (name, int(port)) for text in texts for name, port in re.findall(r"\b([a-z]+):(\d+)", text) if name in SERVICES
    }

    assert used <= LISTENS
    assert used >= {
        ("detector", 4327),
        ("detector", 8327),
        ("jaeger", 14317),
        ("collector", 8888),
        ("prometheus", 9090),
    }


def test_local_defaults_and_compose_use_the_same_ports() -> None:
    """One machine without containers and compose differ in host names only."""
    defaults = variables(COLLECTOR) | variables(JAEGER)
    for service in ("collector", "jaeger"):
        for name, value in SERVICES[service]["environment"].items():
            if port := re.search(r":(\d+)", str(value)):
                assert port[0] in defaults[name], name
    local = yaml.safe_load((ROOT / "deploy/targets-local.yml").read_text())
    compose = yaml.safe_load((ROOT / "deploy/targets-compose.yml").read_text())
    shape = [[(group["labels"], [host.rpartition(":")[2] for host in group["targets"]]) for group in groups]
             for groups in (local, compose)]  # fmt: skip

    assert shape[0] == shape[1]


def test_defaults_are_loopback() -> None:
    """Without a variable set, Collector and Jaeger can be reached from this machine only."""
    addresses = [value for value in variables(COLLECTOR + JAEGER).values() if re.search(r":\d+|\d+\.\d+", value)]

    assert len(addresses) > 10
    assert all("127.0.0.1" in address for address in addresses)


def test_the_collector_pipelines_use_what_is_declared() -> None:
    """Every declared part is used; the detector's path has no batch and never its own spans, Jaeger's never a copy."""
    config = yaml.safe_load(COLLECTOR)
    pipelines = config["service"]["pipelines"]
    connectors = config["connectors"].keys()
    for section in ("receivers", "processors", "exporters"):
        used = {name for pipeline in pipelines.values() for name in pipeline[section]}
        assert used - connectors == config[section].keys()
    assert set(config["service"]["extensions"]) == config["extensions"].keys()
    for signal in ("traces/detector", "logs/detector"):
        assert pipelines[signal]["processors"] == ["memory_limiter", "filter/not_own"]
        assert pipelines[signal]["receivers"] == ["otlp", "otlp/steps"]
    assert "filter/no_copies" in pipelines["traces/stored"]["processors"]
    assert "batch" not in config["exporters"]["otlp_grpc/detector"]["sending_queue"]


@pytest.mark.parametrize(("where", "expr"), list(_expressions()), ids=lambda value: value[:40])
def test_every_expression_parses(where: str, expr: str) -> None:
    """Each query and alert is PromQL once Grafana has put its interval in."""
    assert promql_parser.parse(re.sub(r"\$__rate_interval", "1m", expr)), where


def test_grafanas_files_are_fresh() -> None:
    """Dashboard and alerts are what grafana/build.py makes of panels.py and deploy/rules.yml."""
    done = subprocess.run([sys.executable, "-m", "grafana.build", "--check"], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_the_dashboard_is_one_that_grafana_can_lay_out() -> None:
    """Panel ids are unique, panels do not overlap, and every query names the provisioned data source."""
    panels = DASHBOARD["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    sources = yaml.safe_load((ROOT / "grafana/provisioning/datasources/datasources.yaml").read_text())["datasources"]
    used = {target["datasource"]["uid"] for panel in panels for target in panel.get("targets", ())}

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert used <= {source["uid"] for source in sources}


def test_grafana_knows_where_its_files_and_data_sources_are() -> None:
    """Mounts, provider path and the variables of the data sources fit together."""
    mounts = dict(mount.split(":")[:2] for mount in SERVICES["grafana"]["volumes"])
    provider = yaml.safe_load((ROOT / "grafana/provisioning/dashboards/provider.yaml").read_text())["providers"][0]
    sources = (ROOT / "grafana/provisioning/datasources/datasources.yaml").read_text()
    wanted = set(re.findall(r"url: \$\{(\w+)\}", sources))

    assert mounts["./grafana/dashboards"] == provider["options"]["path"]
    assert mounts["./grafana/alerts"] == "/etc/grafana/provisioning/alerting"
    assert wanted
    assert wanted <= SERVICES["grafana"]["environment"].keys()


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_every_alert_is_explained_tested_and_copied(rule: dict[str, Any]) -> None:
    """An alert has a severity, words, cases that fire and stay quiet, a page for who is woken, and Grafana's copy."""
    name = rule["alert"]
    cases = (ROOT / "deploy/rules_test.yml").read_text()
    copies = {copy["title"]: copy for group in GRAFANA_ALERTS["groups"] for copy in group["rules"]}
    panels = {str(panel["id"]) for panel in DASHBOARD["panels"] if panel["type"] != "row"}

    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description"}
    assert re.search(rf"alertname: {name}\n +exp_alerts:\n", cases), "no case where it fires"
    assert re.search(rf"alertname: {name}, exp_alerts: \[\]", cases), "no case where it stays quiet"
    assert f"\n### {name}\n" in (ROOT / "docs/alerts.md").read_text()
    assert copies[name]["labels"] == rule["labels"]
    assert copies[name]["annotations"]["__panelId__"] in panels


def test_versions_agree() -> None:
    """Collector and Jaeger have one version each in the manifest, the build script, the Dockerfile and compose."""
    manifest = yaml.safe_load((ROOT / "deploy/builder-manifest.yaml").read_text())["dist"]["version"]
    script = (ROOT / "scripts/components.sh").read_text()
    dockerfile = (ROOT / "Dockerfile").read_text()

    assert f"OTELCOL_VERSION={manifest}\n" in script
    assert f"collector/cmd/builder@v{manifest}" in dockerfile
    assert SERVICES["collector"]["image"].endswith(f":{manifest}")
    assert re.search(r"JAEGER_VERSION=1\.76\.0 # the same commit as 2\.13\.0", script)
    assert SERVICES["jaeger"]["image"].endswith(":2.13.0")


def test_the_images_get_what_they_need() -> None:
    """Stages that compose builds exist, and what they copy exists and is let through by .dockerignore."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    stages = set(re.findall(r"^FROM \S+:\S+ AS (\S+)$", dockerfile, re.MULTILINE))
    copied = {
        source
        for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE)
        for source in sources.split()
    }

    assert {service["build"]["target"] for service in SERVICES.values() if "build" in service} <= stages
    assert copied == allowed
    assert all((ROOT / source).exists() for source in copied)


def test_the_build_script_says_what_it_does_not_know() -> None:
    """A misspelt component is refused by name."""
    done = subprocess.run([ROOT / "scripts/components.sh", "grafana"], capture_output=True, text=True, timeout=60)

    assert done.returncode == 1
    assert "unknown component 'grafana'" in done.stderr


def test_the_build_script_goes_on_without_the_optional_model(tmp_path: Path) -> None:
    """Where mvn is not on PATH, or cannot fetch it, one line says so, and that is no failure."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "cat", "chmod", "dirname", "flock", "mkdir", "mktemp", "python3", "rm", "sha256sum", "true"):
        if (found := shutil.which(name)) is not None:
            (tools / name).symlink_to(found)
    env = {"PATH": str(tools), "SPANWARD_COMPONENTS": str(tmp_path / "components")}
    command = [ROOT / "scripts/components.sh", "semantic-model"]
    said = []
    for fetches in ("", "#!/bin/sh\nexit 1\n"):
        if fetches:
            (tools / "mvn").write_text(fetches)
            (tools / "mvn").chmod(0o755)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        said += [line for line in done.stderr.splitlines() if "going on without semantic-model" in line]

    assert len(said) == 2
    assert "mvn is not on PATH" in said[0]
    assert "mvn could not fetch it" in said[1]
