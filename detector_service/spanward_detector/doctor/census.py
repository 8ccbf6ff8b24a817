"""What has been seen: final steps by source, and the shape of the spans around them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from spanward import semconv

from spanward_detector.ingest import COUNTERS, RawLog, RawSpan
from spanward_detector.model import SpanRef, Step
from spanward_detector.pipeline import Pipeline, Verdict
from spanward_detector.policy import Policy

LIMIT: Final = 200_000
"""Spans that are looked at; the telemetry of an agent does not change its form after that many."""
_EXAMPLES: Final = 3
_SKEW_NS: Final = 1_000_000_000
_NOT_AN_AGENT: Final = frozenset({"http", "clock", ""})


_Kind = tuple[str, frozenset[tuple[str, str]]]
"""Service, and the pairs of dialect and scope that made its steps."""


@dataclass(slots=True)
class Shape:
    """How the spans of a source hang together.

    Attributes:
        spans: number of them.
        orphans: spans whose parent is not there.
        early: spans that start more than a second before their parent.
        holes: numbers that are missing among the steps that our gate numbered.
        numbered: steps that it numbered.
        examples: span ids by what they are an example of: ``orphans``, ``early``.
    """

    spans: int = 0
    orphans: int = 0
    early: int = 0
    holes: int = 0
    numbered: int = 0
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def example(self, of: str, span_id: str) -> None:
        if len(self.examples[of]) < _EXAMPLES:
            self.examples[of].append(span_id)


@dataclass(slots=True)
class Source:
    """Telemetry of one kind: one service, with the same instrumentations in its traces.

    Attributes:
        service: ``service.name``; "" when nobody says.
        dialects: of its spans, in the order of the alphabet.
        scopes: instrumentation scopes of its steps.
        steps: final ones.
        runs: ids.
        shape: of its spans; None when only steps are known.
        logs: log records that belong to its traces.
    """

    service: str
    dialects: tuple[str, ...]
    scopes: set[str] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)
    shape: Shape | None = None
    logs: int = 0


def grouped(steps: Iterable[Step]) -> dict[str, Source]:
    """Sources by trace id; several traces share one.

    Traces of one service with the same instrumentations are of one source, and so are traces with only some of them: a
    model call that is not part of a run has fewer.
    """
    by_trace: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        by_trace[step.ref.trace_id].append(step)
    kinds: dict[str, _Kind] = {}
    for trace_id, own in by_trace.items():
        made_by = frozenset((step.dialect, step.scope) for step in own if step.dialect not in _NOT_AN_AGENT)
        if made_by:
            kinds[trace_id] = next((step.service for step in own if step.service), ""), made_by
    known = sorted(set(kinds.values()), key=lambda kind: (-len(kind[1]), sorted(kind[1])))
    sources: dict[_Kind, Source] = {}
    found: dict[str, Source] = {}
    for trace_id, kind in kinds.items():
        service, made_by = next(other for other in known if other[0] == kind[0] and other[1] >= kind[1])
        source = sources.get((service, made_by))
        if source is None:
            dialects = tuple(sorted({dialect for dialect, _ in made_by}))
            source = sources[service, made_by] = Source(service, dialects, {scope for _, scope in made_by})
        source.steps += by_trace[trace_id]
        source.runs.update(step.run_id for step in by_trace[trace_id])
        found[trace_id] = source
    return found


@dataclass(slots=True)
class _Span:
    parent_id: str | None
    start_ns: int


class Census:
    """Takes spans and log records in, in the way of the pipeline, and hands out sources.

    Args:
        policy: of the pipeline; it has no influence on what is counted.
    """

    def __init__(self, policy: Policy) -> None:
        self.spans = 0
        self.logs = 0
        self.left_out = 0
        self._pipeline = Pipeline(policy)
        self._steps: dict[SpanRef, Step] = {}
        self._seen: dict[SpanRef, _Span] = {}
        self._numbers: dict[tuple[str, str], set[int]] = defaultdict(set)  # by trace and run
        self._logs: Counter[str] = Counter()
        self._clamped = Counter(COUNTERS)

    def add_spans(self, spans: Iterable[RawSpan]) -> None:
        """Take spans in."""
        taken = []
        for span in spans:
            self.spans += 1
            if self.spans > LIMIT:
                self.left_out += 1
                continue
            taken.append(span)
            self._seen[SpanRef(span.trace_id, span.span_id)] = _Span(span.parent_id, span.start_ns)
            number = span.attrs.int(semconv.STEP_INDEX)
            if number:
                self._numbers[span.trace_id, span.attrs.text(semconv.RUN_ID) or span.trace_id].add(number)
        self._take(self._pipeline.spans(taken))

    def add_logs(self, logs: Iterable[RawLog]) -> None:
        """Take log records in."""
        own = list(logs)
        self.logs += len(own)
        self._logs.update(record.trace_id for record in own)
        self._take(self._pipeline.logs(own))

    def add_steps(self, steps: Iterable[Step]) -> None:
        """Take in what was recorded as steps and not as spans."""
        self._take([self._pipeline.step(step) for step in steps])

    def begin(self) -> None:
        """Forget what ingest has clamped so far: it was not for this census."""
        self._clamped = Counter(COUNTERS)

    def clamped(self) -> Counter[str]:
        """What ingest has clamped or dropped since :meth:`begin`, by its reason."""
        return Counter(COUNTERS) - self._clamped

    def sources(self) -> list[Source]:
        """Everything that was seen; to be asked once, at the end."""
        for run in self._pipeline.runs:
            run.refresh()
        normalizer = self._pipeline.normalizer
        kept = [step for step in self._steps.values() if not normalizer.superseded(step)]
        for step in kept:
            normalizer.complete(step, settled=True)
        by_trace = grouped(kept)
        self._shapes(by_trace)
        for trace_id, count in self._logs.items():
            if (source := by_trace.get(trace_id)) is not None:
                source.logs += count
        return list({id(source): source for source in by_trace.values()}.values())

    def _take(self, verdicts: Iterable[Verdict]) -> None:
        for verdict in verdicts:
            self._steps[verdict.step.ref] = verdict.step

    def _shapes(self, by_trace: dict[str, Source]) -> None:
        for ref, span in self._seen.items():
            source = by_trace.get(ref.trace_id)
            if source is None:
                continue
            shape = source.shape = source.shape or Shape()
            shape.spans += 1
            if span.parent_id is None:
                continue
            parent = self._seen.get(SpanRef(ref.trace_id, span.parent_id))
            if parent is None:
                shape.orphans += 1
                shape.example("orphans", ref.span_id)
            elif span.start_ns < parent.start_ns - _SKEW_NS:
                shape.early += 1
                shape.example("early", ref.span_id)
        for run_id, numbers in self._by_run():
            source = by_trace.get(run_id)
            if source is not None and source.shape is not None:
                source.shape.numbered += len(numbers)
                source.shape.holes += max(numbers) - len(numbers)

    def _by_run(self) -> Iterator[tuple[str, set[int]]]:
        """Numbers of each run, whatever traces it is spread over, with one of those traces."""
        runs: dict[str, tuple[str, set[int]]] = {}
        for (trace_id, run_id), numbers in self._numbers.items():
            runs.setdefault(run_id, (trace_id, set()))[1].update(numbers)
        yield from runs.values()
