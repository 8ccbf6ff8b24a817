"""The dashboard as tables: rows of panels, their queries, and what a person should read from each."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from spanward_detector.failures import FAILURE_TYPES

RATE = "[$__rate_interval]"


class Query(NamedTuple):
    """One PromQL expression of a panel and how its series are called."""

    expr: str
    legend: str = "__auto"
    exemplars: bool = False


class Panel(NamedTuple):
    """One panel.

    Attributes:
        title: also its key: unique.
        unit: Grafana's name of it (s, ms, percentunit, ops, short).
        queries: what it shows.
        help: what a person should read from it.
        kind: timeseries, bars (stacked) or stat.
        width: of 24 columns.
        alert: name of the alert rule whose limit belongs here.
    """

    title: str
    unit: str
    queries: tuple[Query, ...]
    help: str
    kind: str = "timeseries"
    width: int = 8
    alert: tuple[str, ...] = ()


def per(labels: str, metric: str) -> str:
    """Rate of a counter by labels."""
    return f"sum by ({labels}) (rate({metric}{RATE}))"


def new(counter: str, window: str = "1m", labels: str = "") -> str:
    """How many events a counter gained, the one included that it was born with.

    For what is rare: ``rate`` and ``increase`` compare two scrapes and miss the first event: its series begins there.
    """
    by = f" by ({labels})" if labels else ""
    return f"sum{by} (clamp_min({counter} - ({counter} offset {window} or 0 * {counter}), 0))"


def or_zero(expr: str) -> str:
    """Only what happens; a line at zero while nothing does."""
    return f"{expr} > 0 or vector(0)"


def quantiles(metric: str, by: str = "") -> tuple[Query, ...]:
    """Median, 95 % and 99 % of a classic histogram."""
    labels = f"le, {by}" if by else "le"
    name = f" {{{{{by}}}}}" if by else ""
    return tuple(
        Query(f"histogram_quantile({q}, sum by ({labels}) (rate({metric}_bucket{RATE})))", f"p{round(q * 100)}{name}")
        for q in (0.5, 0.95, 0.99)
    )


def p95(by: str, which: str) -> str:
    """95 % of the durations that the Collector measured."""
    return f"histogram_quantile(0.95, sum by (le, {by}) (rate({DURATION}{{{which}}}{RATE})))"


def _types_by_cause() -> dict[str, list[str]]:
    causes: dict[str, list[str]] = defaultdict(list)
    for failure in FAILURE_TYPES.values():
        causes[failure.cause].append(failure.name)
    return dict(sorted(causes.items()))


TOOL = 'gen_ai_operation_name="execute_tool"'
MODEL = 'gen_ai_operation_name="chat"'
CALLS = "traces_span_metrics_calls_total"
SENT = '{__name__=~"otelcol_exporter_sent_spans(_total)?"}'  # with or without the suffix, by scrape format
HELD = 'spanward_repairs_total{outcome="verified"}'
LOST = '{__name__=~"otelcol_exporter_(enqueue|send)_failed_spans(_total)?"}'
DURATION = "traces_span_metrics_duration_milliseconds_bucket"

ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Now",
        (
            Panel(
                "Agents connected",
                "short",
                (Query("sum(spanward_agents_connected)"),),
                "Open control streams.",
                "stat",
                4,
            ),
            Panel(
                "Open runs",
                "short",
                (Query('sum(spanward_runs{state!~"(?i)done|failed"}) or vector(0)'),),
                "Runs without an end.",
                "stat",
                4,
            ),
            Panel(
                "Findings, last hour",
                "short",
                (Query(new("spanward_findings_total", "1h")),),
                "All modes and severities.",
                "stat",
                4,
            ),
            Panel(
                "Directives applied, last hour",
                "short",
                (Query(new('spanward_directives_total{state="applied"}', "1h")),),
                "Orders that an agent carried out.",
                "stat",
                4,
            ),
            Panel(
                "Repairs that held, last hour",
                "percentunit",
                (Query(f"({new(HELD, '1h')} or vector(0)) / {new('spanward_repairs_total', '1h')}"),),
                "Share of repairs after which the failure did not come back.",
                "stat",
                4,
                ("RepairsDoNotHelp",),
            ),
            Panel(
                "Went on without a verdict",
                "percentunit",
                (Query("spanward:fail_open:ratio_rate5m or vector(0)"),),
                "Share of holds that nobody answered in time, last 5 minutes.",
                "stat",
                4,
                ("AgentsFailOpen",),
            ),
        ),
    ),
    (
        "Agents",
        (
            Panel(
                "Findings by failure type, per minute",
                "short",
                (Query(new("spanward_findings_total", labels="failure_type") + " > 0", "{{failure_type}}"),),
                "What goes wrong.",
                "bars",
                8,
                ("AgentsLooping", "AgentSilentErrors"),
            ),
            Panel(
                "Findings by cause, per minute",
                "short",
                tuple(
                    Query(
                        new(f'spanward_findings_total{{failure_type=~"{"|".join(names)}"}}') + " or vector(0)",
                        cause,
                    )
                    for cause, names in _types_by_cause().items()
                ),
                "What broke: perception, reasoning, action or environment.",
                "bars",
            ),
            Panel(
                "Runs by state",
                "short",
                (Query("sum by (state) (spanward_runs)", "{{state}}"),),
                "Runs that the detector holds.",
                "bars",
            ),
            Panel(
                "Runs ended, per minute",
                "short",
                (Query(new("spanward_runs_ended_total", labels="state"), "{{state}}"),),
                "How runs end.",
                "bars",
                8,
                ("AgentRunsFailing",),
            ),
            Panel(
                "Calls in flight, oldest",
                "s",
                (Query("max by (agent, action) (spanward_inflight_call_age_seconds)", "{{agent}} {{action}}"),),
                "A line that only rises is a call that hangs.",
                alert=("AgentCallHung",),
            ),
            Panel(
                "Steps",
                "ops",
                (Query(per("kind", "spanward_steps_total"), "{{kind}}"),),
                "What agents do.",
            ),
            Panel(
                "Tool errors",
                "percentunit",
                (
                    Query(
                        f'(sum by (gen_ai_tool_name) (rate({CALLS}{{{TOOL}, status_code="STATUS_CODE_ERROR"}}{RATE}))'
                        f" or 0 * sum by (gen_ai_tool_name) (rate({CALLS}{{{TOOL}}}{RATE})))"
                        f" / sum by (gen_ai_tool_name) (rate({CALLS}{{{TOOL}}}{RATE}))",
                        "{{gen_ai_tool_name}}",
                    ),
                ),
                "Share of tool spans with status ERROR; a silent error is none of them.",
            ),
            Panel(
                "Tool time, p95",
                "ms",
                (Query(p95("gen_ai_tool_name", TOOL), "{{gen_ai_tool_name}}", True),),
                "A dot is one call: click it for its trace.",
            ),
            Panel(
                "Model time, p95",
                "ms",
                (Query(p95("gen_ai_agent_name", MODEL), "{{gen_ai_agent_name}}", True),),
                "A dot is one call: click it for its trace.",
            ),
        ),
    ),
    (
        "Steering",
        (
            Panel(
                "Directives by kind and state, per minute",
                "short",
                (Query(new("spanward_directives_total", labels="kind, state"), "{{kind}} {{state}}"),),
                "Each directive counts once in every state that it reaches.",
                "bars",
                8,
                ("DirectivesRefused", "AgentRunsTerminated"),
            ),
            Panel(
                "From span to directive",
                "s",
                quantiles("spanward_directive_latency_seconds"),
                "From the span's arrival at the detector until its directive is sent, commit included.",
                alert=("DirectivesSlow",),
            ),
            Panel(
                "From failure to effect",
                "s",
                quantiles("spanward_loop_latency_seconds"),
                "Measured in the agent: from the tool's return until the directive has taken effect.",
            ),
            Panel(
                "Repairs by level and outcome, per minute",
                "short",
                (Query(new("spanward_repairs_total", labels="level, outcome"), "{{level}} {{outcome}}"),),
                "verified: the failure was gone at the next comparable step.",
                "bars",
            ),
            Panel(
                "Holds",
                "ops",
                (
                    Query(per("answer", "spanward_holds_total"), "answered: {{answer}}"),
                    Query(or_zero(per("reason", "spanward_fail_open_total")), "fail open: {{reason}}"),
                ),
                "Agents that waited for a verdict, and those that went on without one.",
            ),
            Panel(
                "Agents connected over time",
                "short",
                (Query("sum(spanward_agents_connected)", "agents"),),
                "Open control streams.",
            ),
        ),
    ),
    (
        "Detector and Collector",
        (
            Panel(
                "Spans",
                "ops",
                (Query(per("dialect", "spanward_spans_total"), "{{dialect}}"),),
                "Spans taken in, by dialect.",
            ),
            Panel(
                "Refused and clamped",
                "ops",
                (
                    Query(or_zero(per("reason", "spanward_ingest_rejected_total")), "refused: {{reason}}"),
                    Query(or_zero(per("reason", "spanward_ingest_clamped_total")), "clamped: {{reason}}"),
                    Query(f"sum(rate(spanward_telemetry_gaps_total{RATE}))", "gaps"),
                    Query(f"sum(rate(spanward_agent_spans_dropped_total{RATE}))", "not sent by agents"),
                ),
                "Telemetry that did not fit, or did not come.",
                alert=("DetectorRefusesTelemetry", "TelemetryGaps"),
            ),
            Panel(
                "Store",
                "short",
                (Query("max(spanward_store_queue)", "rows waiting"),),
                "Rows that wait to be written.",
                alert=("DetectorStoreBehind",),
            ),
            Panel(
                "Commits",
                "s",
                quantiles("spanward_store_commit_seconds"),
                "Directives wait for their commit.",
                alert=("DetectorStoreSlow",),
            ),
            Panel(
                "Collector to detector and Jaeger",
                "ops",
                (
                    Query(per("exporter", SENT), "{{exporter}} sent"),
                    Query(
                        or_zero(per("exporter", LOST)),
                        "{{exporter}} lost",
                    ),
                ),
                "Sent and lost spans, by exporter.",
                alert=("CollectorDropsForDetector",),
            ),
            Panel(
                "Collector queues",
                "percentunit",
                (
                    Query(
                        "max by (exporter) (otelcol_exporter_queue_size / otelcol_exporter_queue_capacity)",
                        "{{exporter}}",
                    ),
                ),
                "How full the queues are.",
                alert=("CollectorQueueFilling",),
            ),
            Panel(
                "Up",
                "short",
                (Query("sum by (job) (up)", "{{job}}"),),
                "Processes that answer Prometheus.",
                alert=("DetectorAbsent", "CollectorAbsent"),
            ),
            Panel(
                "The detector's own spans lost",
                "ops",
                (Query(f"sum(rate(spanward_emit_dropped_total{RATE}))", "dropped"),),
                "Findings and directives that are missing from the traces.",
                alert=("DetectorDropsOwnSpans",),
            ),
            Panel(
                "Versions",
                "short",
                (Query("count by (version) (spanward_build_info)", "{{version}}"),),
                "Detectors by version.",
                "stat",
            ),
        ),
    ),
)
