"""What is wrong with the telemetry as such: clocks, parents, holes, log records that do not come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from spanward_detector.doctor.census import Source
from spanward_detector.doctor.signals import Presence, Signal, Tally

_ORPHANS: Final = 0.02
_LOGS_ONLY: Final = "opentelemetry.instrumentation.openai_v2"
_CLAMPS: Final[Mapping[str, tuple[str, str]]] = {
    "clamp.end_before_start": (
        "spans end before they start",
        "set the clocks of the hosts by NTP; in code, never mix time.time_ns() with a monotonic clock for the two ends",
    ),
    "clamp.start_missing": ("spans have no start time", "pass start_time, or let the SDK set it"),
    "clamp.end_missing": ("spans have no end time", "end every span: `with tracer.start_as_current_span(...)`"),
    "clamp.timestamp": ("times lie beyond the year 2100", "times are nanoseconds since 1970"),
    "drop.trace_id": ("spans have no valid trace id and were left out", "16 bytes, not all zero; hex in OTLP/JSON"),
    "drop.span_id": ("spans have no valid span id and were left out", "8 bytes, not all zero; hex in OTLP/JSON"),
}

_EXAMPLES: Final = 3
_LIMITS: Final = (
    (
        "dropped_attributes",
        "attributes",
        "attributes were dropped from steps, and what is left of them is not judged",
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=8192 in the agent: message histories take several attributes a message",
    ),
    (
        "cut_values",
        "values",
        "the values of steps were cut off, and nothing is said of them",
        "a higher OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT (and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT) in the agent, or none",
    ),
)
"""Code, what is lost (:attr:`spanward_detector.model.Step.lost`), message, setting."""


class Complaint(NamedTuple):
    """Something wrong with the telemetry.

    Attributes:
        code: for scripts.
        severity: "info", "warning", or "error" where findings will be wrong.
        message: for a person.
        fix: the setting that helps.
        n: how often.
        of: out of how many; 0 when that is not known.
        examples: span ids.
    """

    code: str
    severity: Literal["info", "warning", "error"]
    message: str
    fix: str
    n: int = 0
    of: int = 0
    examples: tuple[str, ...] = ()


def of_ingest(clamped: Mapping[str, int]) -> Iterator[Complaint]:
    """What had to be put right before anything could be read."""
    for reason, count in sorted(clamped.items()):
        if reason in _CLAMPS:
            message, fix = _CLAMPS[reason]
            yield Complaint(reason.partition(".")[2], "error", f"{count} {message}", fix, count)
        elif reason.startswith("drop."):
            yield Complaint("dropped", "warning", f"{count} items were left out ({reason})", "send less of it", count)


def of_source(source: Source, tallies: Mapping[Signal, Tally]) -> Iterator[Complaint]:
    """What is wrong with one source."""
    shape = source.shape
    if shape is not None:
        if shape.early:
            yield Complaint(
                "clock_skew",
                "error",
                f"{shape.early} spans start more than a second before their parent",
                "set the clocks of the hosts by NTP: order and durations across them cannot be trusted",
                shape.early,
                shape.spans,
                tuple(shape.examples["early"]),
            )
        if shape.orphans > _ORPHANS * shape.spans:
            yield Complaint(
                "missing_parents",
                "warning",
                f"{shape.orphans} of {shape.spans} spans have a parent that is not here",
                "a sampler or a filter drops spans: OTEL_TRACES_SAMPLER=parentbased_always_on in the agent, no "
                "sampling and no filter in the Collector's pipeline to the detector",
                shape.orphans,
                shape.spans,
                tuple(shape.examples["orphans"]),
            )
        if shape.holes:
            yield Complaint(
                "step_holes",
                "error",
                f"{shape.holes} of {shape.holes + shape.numbered} numbered steps are not here",
                "spans of the gate are lost or sampled on the way: no sampler for the scope `spanward`, and look at "
                "spanward_agent_spans_dropped_total",
                shape.holes,
                shape.holes + shape.numbered,
            )
    for code, what, message, fix in _LIMITS:
        lacking = [step.ref.span_id for step in source.steps if step.lost == what]
        if lacking:
            yield Complaint(code, "warning", message, fix, len(lacking), len(source.steps), tuple(lacking[:_EXAMPLES]))
    if (
        any(scope.startswith(_LOGS_ONLY) for scope in source.scopes)
        and not source.logs
        and shape is not None
        and tallies[Signal.MESSAGES].presence is not Presence.YES
    ):
        yield Complaint(
            "no_logs",
            "warning",
            "this instrumentation puts calls and content into log records, and none came with these traces",
            "add a logs pipeline to the detector in the Collector (OTEL_LOGS_EXPORTER=otlp in the agent); for files, "
            "name the file of log records too",
        )
