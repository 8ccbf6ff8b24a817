"""What the detector counts, as Prometheus metrics in a registry of its own.

The hot path adds to plain dictionaries; text is made when somebody scrapes. No metric has more than
:data:`MAX_SERIES` label sets: what is beyond is counted under ``overflow``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from spanward_detector import __version__
from spanward_detector.states import State

MAX_SERIES: Final = 2000
OVERFLOW: Final = "overflow"
_LATENCY_BUCKETS: Final = (
    0.00025, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.006, 0.008, 0.012, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
)  # fmt: skip

Labels = tuple[str, ...]
Gauge = Callable[[], Mapping[Labels, float]]
"""Asked at each scrape; values by label set."""


class Counts:
    """A counter with labels.

    Args:
        name: without ``_total``.
        text: for people.
        labels: names, in the order of the values given to :meth:`add`.
        known: label sets that are shown from the start, so that their first increase is seen as one.
    """

    __slots__ = ("_exemplars", "_text", "labels", "name", "values")

    def __init__(self, name: str, text: str, labels: Labels = (), known: Iterable[Labels] = ()) -> None:
        self.name = name
        self.labels = labels
        self.values: dict[Labels, float] = dict.fromkeys(known or ([()] if not labels else []), 0.0)
        self._text = text
        self._exemplars: dict[Labels, str] = {}

    def add(self, *labels: str, n: float = 1, trace_id: str = "") -> None:
        """Count ``n`` more; a trace id makes it findable from the metric."""
        values = self.values
        if labels not in values and len(values) >= MAX_SERIES:
            labels = (OVERFLOW,) * len(labels)
        values[labels] = values.get(labels, 0.0) + n
        if trace_id:
            self._exemplars[labels] = trace_id

    def total(self, *labels: str) -> float:
        """The value of one label set; 0 when it was never counted."""
        return self.values.get(labels, 0.0)

    def family(self) -> CounterMetricFamily:
        """As Prometheus wants it."""
        family = CounterMetricFamily(self.name, self._text, labels=self.labels)
        for labels, value in list(self.values.items()):
            trace_id = self._exemplars.get(labels)
            exemplar = Exemplar({"trace_id": trace_id}, 1.0) if trace_id else None
            family.add_metric(labels, value, exemplar=exemplar)
        return family


class Metrics(Collector):
    """All metrics of one detector. Gauges are plugged in by the parts that know them (:meth:`gauge`)."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.spans = Counts("spanward_spans", "Spans received, by dialect.", ("dialect",))
        self.steps = Counts("spanward_steps", "Steps made of spans, by kind.", ("kind",))
        self.findings = Counts(
            "spanward_findings", "Findings.", ("rule", "failure_type", "severity", "mode")
        )  # fmt: skip
        self.withdrawn = Counts("spanward_findings_withdrawn", "Findings that a late span took back.", ("rule",))
        self.directives = Counts(
            "spanward_directives", "Directives by the states that they have gone through.", ("kind", "level", "state")
        )
        self.repairs = Counts(
            "spanward_repairs", "Applied repairs whose effect is known.", ("rule", "level", "outcome")
        )  # fmt: skip
        self.runs_ended = Counts("spanward_runs_ended", "Runs that ended, by their last state.", ("state",))
        self.holds = Counts(
            "spanward_holds", "Holds answered.", ("answer",), known=[("none",), ("directive",)]
        )  # fmt: skip
        self.fail_open = Counts(
            "spanward_fail_open",
            "Times that an agent went on without a verdict.",
            ("reason",),
            known=[(reason,) for reason in FAIL_OPEN],
        )
        self.rejected = Counts("spanward_ingest_rejected", "Messages refused and items dropped at intake.", ("reason",))
        self.gaps = Counts("spanward_telemetry_gaps", "Spans that came too late or not at all.")
        self.agent_spans_dropped = Counts("spanward_agent_spans_dropped", "Spans that agents could not send.")
        self.refused = Counts("spanward_streams_refused", "Control streams refused.", ("reason",))
        self.directive_latency = Histogram(
            "spanward_directive_latency_seconds",
            "From the arrival of the span to the directive being on its way.",
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.loop_latency = Histogram(
            "spanward_loop_latency_seconds",
            "From the return of the tool to the effect of the directive, as the agent measured it.",
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.commit_seconds = Histogram(
            "spanward_store_commit_seconds",
            "From asking for a commit to its being durable.",
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self._gauges: list[tuple[str, str, Labels, Gauge]] = []
        self._counters: list[tuple[str, str, Labels, Gauge]] = []
        self._counts = [value for value in vars(self).values() if isinstance(value, Counts)]
        self.gauge("spanward_build_info", "The release that runs.", ("version",), lambda: {(__version__,): 1.0})
        self.registry.register(self)

    def gauge(self, name: str, text: str, labels: Labels, read: Gauge) -> None:
        """Show what ``read`` returns at each scrape."""
        self._gauges.append((name, text, labels, read))

    def counter(self, name: str, text: str, labels: Labels, read: Gauge) -> None:
        """Show a counter that another part keeps; ``name`` without ``_total``."""
        self._counters.append((name, text, labels, read))

    def collect(self) -> Iterator[Metric]:
        """Asked by the registry at each scrape."""
        for counts in self._counts:
            yield counts.family()
        for name, text, labels, read in self._counters:
            counter = CounterMetricFamily(name, text, labels=labels)
            for key, value in _bounded(read()).items():
                counter.add_metric(key, value)
            yield counter
        for name, text, labels, read in self._gauges:
            gauge = GaugeMetricFamily(name, text, labels=labels)
            for key, value in _bounded(read()).items():
                gauge.add_metric(key, value)
            yield gauge

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """The text of a scrape and its content type; OpenMetrics with exemplars for those who accept it."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


FAIL_OPEN: Final = (
    "timeout", "disconnected", "event_loop", "suspended", "no_stream", "store", "slow_stream", "unsupported",
)  # fmt: skip
"""Why an agent went on without a verdict. The first four are told by the gates, the others seen here."""


def by_state(states: Iterable[str]) -> dict[Labels, float]:
    """Number of runs per state; every state is there, with 0 when no run is in it."""
    counted = Counter(states)
    return {(state.value,): float(counted.get(state.value, 0)) for state in State}


def _bounded(values: Mapping[Labels, float]) -> Mapping[Labels, float]:
    """At most :data:`MAX_SERIES` label sets; the rest becomes one, with the largest of their values."""
    if len(values) <= MAX_SERIES:
        return values
    items = list(values.items())
    kept = dict(items[: MAX_SERIES - 1])
    kept[(OVERFLOW,) * len(items[0][0])] = max(value for _, value in items[MAX_SERIES - 1 :])
    return kept
