"""Write what Grafana provisions from what is kept by hand.

``dashboards/spanward.json`` comes from the tables of ``panels.py``, ``alerts/alerts.yaml`` from ``deploy/rules.yml``:
Prometheus' rules are the tested source, Grafana's are a copy with the same names, since Grafana notifies people.

    python -m grafana.build            # write
    python -m grafana.build --check    # exit 1 when a file is stale
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import promql_parser
import yaml

from grafana.panels import ROWS, Panel

HERE = Path(__file__).resolve().parent
RULES = HERE.parent / "deploy" / "rules.yml"
DASHBOARD = HERE / "dashboards" / "spanward.json"
ALERTS = HERE / "alerts" / "alerts.yaml"
UID = "spanward"
PROMETHEUS = {"type": "prometheus", "uid": "prometheus"}
HEIGHTS = {"stat": 4, "timeseries": 8, "bars": 8}


def _render(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    stacked = panel.kind == "bars"
    custom: dict[str, Any] = {"lineWidth": 1, "fillOpacity": 60 if stacked else 10, "showPoints": "never"}
    if stacked:
        custom |= {"drawStyle": "bars", "stacking": {"mode": "normal", "group": "A"}}
    options: dict[str, Any] = (
        {"reduceOptions": {"calcs": ["lastNotNull"]}, "graphMode": "area", "colorMode": "none"}
        if panel.kind == "stat"
        else {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
    )
    return {
        "id": number,
        "type": "stat" if panel.kind == "stat" else "timeseries",
        "title": panel.title,
        "description": panel.help,
        "datasource": PROMETHEUS,
        "gridPos": {"h": HEIGHTS[panel.kind], "w": panel.width, "x": x, "y": y},
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "custom": {} if panel.kind == "stat" else custom},
            "overrides": [],
        },
        "options": options,
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": PROMETHEUS,
                "expr": query.expr,
                "legendFormat": query.legend,
                "exemplar": query.exemplars,
                "instant": panel.kind == "stat",
                "range": panel.kind != "stat",
            }
            for index, query in enumerate(panel.queries)
        ],
    }


def dashboard() -> tuple[dict[str, Any], dict[str, int]]:
    """The dashboard in Grafana's classic model, and the panel's id for each alert."""
    panels: list[dict[str, Any]] = []
    home: dict[str, int] = {}
    y = 0
    for title, row in ROWS:
        place = {"h": 1, "w": 24, "x": 0, "y": y}
        panels.append(
            {"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": place}
        )
        y += 1
        x = 0
        for panel in row:
            if x + panel.width > 24:
                x, y = 0, y + HEIGHTS[panel.kind]
            panels.append(_render(panel, len(panels) + 1, x, y))
            home |= dict.fromkeys(panel.alert, len(panels))
            x += panel.width
        y += HEIGHTS[row[-1].kind]
    model = {
        "uid": UID,
        "title": "Spanward",
        "description": "Agents, what goes wrong with them, and what was done about it.",
        "tags": ["agents", "spanward"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "annotations": {"list": []},
        "templating": {"list": []},
        "links": [
            {"type": "link", "title": "Runs (API)", "url": "http://127.0.0.1:8327/api/runs", "targetBlank": True},
            {"type": "link", "title": "Traces (Jaeger)", "url": "http://127.0.0.1:16686/search", "targetBlank": True},
        ],
        "panels": panels,
    }
    return model, home


def split_limit(expr: str) -> tuple[str, str, float]:
    """An alert's expression as value, ``gt`` or ``lt``, and limit.

    Raises:
        ValueError: it is not a comparison with a number.
    """
    parsed = promql_parser.parse(expr)
    operators = {">": "gt", "<": "lt"}
    if not isinstance(parsed, promql_parser.BinaryExpr) or not isinstance(parsed.rhs, promql_parser.NumberLiteral):
        raise ValueError(f"write the alert as `value > number`: {expr}")
    if str(parsed.op) not in operators:
        raise ValueError(f"write the alert with > or <: {expr}")
    return parsed.lhs.prettify(), operators[str(parsed.op)], parsed.rhs.val


def _for_grafana(text: str) -> str:
    """Prometheus' annotation template with Grafana's names: the value is that of query A."""
    return text.replace("$value", "$values.A.Value").replace("$", "$$")  # a single $ would be Grafana's environment


def alerts(home: dict[str, int]) -> dict[str, Any]:
    """Grafana's copy of the alert rules: query A is the value, condition C its limit."""
    groups = []
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        rules = []
        for rule in (rule for rule in group["rules"] if "alert" in rule):
            value, comparison, limit = split_limit(rule["expr"])
            rules.append(
                {
                    "uid": f"spanward-{rule['alert'].lower()}",
                    "title": rule["alert"],
                    "condition": "C",
                    "for": rule.get("for", "0s"),
                    "noDataState": "OK",
                    "execErrState": "Error",
                    "labels": rule["labels"],
                    "annotations": {
                        **{key: _for_grafana(text) for key, text in rule["annotations"].items()},
                        "__dashboardUid__": UID,
                        "__panelId__": str(home[rule["alert"]]),
                    },
                    "data": [
                        {
                            "refId": "A",
                            "relativeTimeRange": {"from": 600, "to": 0},
                            "datasourceUid": PROMETHEUS["uid"],
                            "model": {"refId": "A", "instant": True, "expr": value},
                        },
                        {
                            "refId": "C",
                            "relativeTimeRange": {"from": 0, "to": 0},
                            "datasourceUid": "__expr__",
                            "model": {
                                "refId": "C",
                                "type": "threshold",
                                "expression": "A",
                                "conditions": [{"evaluator": {"type": comparison, "params": [limit]}}],
                            },
                        },
                    ],
                }
            )
        if rules:
            groups.append({"orgId": 1, "name": group["name"], "folder": "Spanward", "interval": "10s", "rules": rules})
    return {"apiVersion": 1, "groups": groups}


def render() -> dict[Path, str]:
    """Every generated file with its content."""
    model, home = dashboard()
    head = "# Written by `python -m grafana.build` from deploy/rules.yml: change that instead.\n"
    return {
        DASHBOARD: json.dumps(model, indent=2, ensure_ascii=False) + "\n",
        ALERTS: head + yaml.safe_dump(alerts(home), sort_keys=False, width=1000, allow_unicode=True),
    }


def main() -> int:
    """Write the files, or with ``--check`` say which are stale."""
    stale = [path for path, text in render().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path} is stale: run `python -m grafana.build`", file=sys.stderr)
        return 1 if stale else 0
    for path, text in render().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
