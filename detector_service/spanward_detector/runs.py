"""All runs in memory: which run a step belongs to, and which run is forgotten when there are too many."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from spanward_detector.breakers import Fleet
from spanward_detector.histories import Histories
from spanward_detector.kinship import NOBODY, Outside
from spanward_detector.model import Kind, Step
from spanward_detector.run import Run

__all__ = ["Run", "Runs"]

MAX_RUNS: Final = 4096
MAX_SPANS: Final = 100_000
"""Spans held by all runs together."""
MAX_CONTENT: Final = 256 * 2**20
"""Characters of arguments, results and messages held by all runs together."""
_TRACES_PER_RUN: Final = 16


@dataclass(slots=True)
class Trace:
    """Which run a trace belongs to.

    Attributes:
        run_id: the run of its spans that name none.
        claim: (start, run id) of the earliest span that names a run; None while none does.
    """

    run_id: str
    claim: tuple[int, str] | None = None


class Runs:
    """Bounded registry; the run unheard of for longest is forgotten first.

    A span that names its run belongs to it. One that does not belongs to the run that the earliest naming span of its
    trace names, else to the trace's own run. Traces of bare model calls that continue one another are one run, named
    after the trace that starts first.

    Args:
        max_runs: runs held.
        max_spans: spans held by all of them.
        max_content: characters of content held by all of them.
        deadlines: seconds per tool after which a call is overdue, where the policy states it.
        forgotten: told of each run that is evicted.
    """

    def __init__(
        self,
        max_runs: int = MAX_RUNS,
        max_spans: int = MAX_SPANS,
        deadlines: Mapping[str, float] | None = None,
        forgotten: Callable[[Run], None] | None = None,
        max_content: int = MAX_CONTENT,
    ) -> None:
        self.max_runs = max_runs
        self.max_spans = max_spans
        self.max_content = max_content
        self.deadlines: Mapping[str, float] = deadlines if deadlines is not None else {}
        self.forgotten = forgotten
        self.outside: Outside = NOBODY
        self.fleet = Fleet()
        self.counters: Counter[str] = Counter()  # duplicate, late, evicted, joined
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._histories = Histories()
        self._spans = 0
        self._content = 0

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._runs.values()))

    def get(self, run_id: str) -> Run | None:
        """The run, without touching its age."""
        return self._runs.get(run_id)

    def run_of_trace(self, trace_id: str) -> Run | None:
        """The run that spans of a trace join when they name none."""
        trace = self._traces.get(trace_id)
        return self._runs.get(trace.run_id) if trace is not None else None

    def open(
        self, run_id: str, *, agent: str = "", conversation_id: str = "", max_steps: int = 0, max_tokens: int = 0
    ) -> Run:
        """Make a run known before its first span, as the control stream does, with the limits that it states."""
        run = self._touch(run_id)
        run.agent = run.agent or agent
        run.conversation_id = run.conversation_id or conversation_id
        run.limit(max_steps or run.max_steps, max_tokens or run.max_tokens)
        return run

    def update(self, step: Step) -> Run:
        """Take one step in. What it makes due is in :meth:`Run.due`; a duplicate makes nothing due."""
        if step.kind is Kind.TICK:
            run = self._touch(step.run_id)
            run.add(step, keyed=True)
            return run
        run_id = step.run_id
        trace = self._traces.get(step.ref.trace_id)
        if trace is not None and trace.claim is not None and trace.run_id == run_id and step.start_ns >= trace.claim[0]:
            keyed, run = True, self._touch(run_id)
        elif run_id != step.ref.trace_id:
            keyed, run = True, self._keyed(step)
        else:
            keyed, run = False, self._keyless(step)
            step.run_id = run.id
        held, content = run.spans, run.content
        taken = run.add(step, keyed)
        if taken != "taken":
            self.counters[taken] += 1
        self._spans += run.spans - held
        self._content += run.content - content
        if self._spans > self.max_spans or self._content > self.max_content:
            self._make_room()
        return run

    def revise(self, step: Step) -> Run | None:
        """Put a fuller telling of a span in place of the one before; None when it is not held (any more)."""
        keyed = step.run_id != step.ref.trace_id
        run = self._runs.get(step.run_id) if keyed else self.run_of_trace(step.ref.trace_id)
        content = run.content if run is not None else 0
        if run is None or not run.revise(step):
            return None
        self._content += run.content - content
        if not keyed:
            run = self._keyless(step)  # its history may be what has come
        step.run_id = run.id
        return run

    # ------------------------------------------------------------------------------------------------------ joining

    def _keyed(self, step: Step) -> Run:
        claim = (step.start_ns, step.run_id)
        trace = self._traces.get(step.ref.trace_id)
        run = self._touch(step.run_id)
        if trace is None:
            self._remember(step.ref.trace_id, Trace(step.run_id, claim))
        elif trace.claim is None or claim < trace.claim:
            before, trace.run_id, trace.claim = trace.run_id, step.run_id, claim
            if before != run.id and (other := self._runs.get(before)) is not None:
                self._move(other, run, step.ref.trace_id)
        return run

    def _keyless(self, step: Step) -> Run:
        trace_id = step.ref.trace_id
        trace = self._traces.get(trace_id)
        if trace is None:
            trace = Trace(trace_id)
            self._remember(trace_id, trace)
        run = self._touch(trace.run_id)
        if step.extra and "history" in step.extra and trace.claim is None:
            for other_id in self._histories.related(step):
                run = self._join(run, self.run_of_trace(other_id), step)
        return run

    def _join(self, run: Run, other: Run | None, step: Step) -> Run:
        """One run of two that continue one another, named after the earlier trace."""
        if other is None or other is run:
            return run
        mine = (run.started_ns or step.start_ns, run.id)
        early, late = (run, other) if mine < (other.started_ns, other.id) else (other, run)
        for trace_id in (*late.trace_ids, late.id):
            if (trace := self._traces.get(trace_id)) is not None:
                trace.run_id = early.id
        self._move(late, early, None)
        return early

    def _move(self, source: Run, target: Run, trace_id: str | None) -> None:
        """Hand the steps that named no run over, and forget a run that is empty then."""
        self.counters["joined"] += 1
        held, content = source.spans + target.spans, source.content + target.content
        for step, keyed in source.take_away(trace_id):
            step.run_id = target.id
            if not target.knows(step.ref.span_id):
                target.add(step, keyed)
        if not source.spans:
            self._runs.pop(source.id, None)
        self._spans += source.spans + target.spans - held
        self._content += source.content + target.content - content

    # ------------------------------------------------------------------------------------------------------ holding

    def _touch(self, run_id: str) -> Run:
        run = self._runs.get(run_id)
        if run is not None:
            self._runs.move_to_end(run_id)
            return run
        run = self._runs[run_id] = Run(run_id, self.deadlines, self.outside, self.fleet)
        if len(self._runs) > self.max_runs:
            self._evict()
        return run

    def _remember(self, trace_id: str, trace: Trace) -> None:
        self._traces[trace_id] = trace
        if len(self._traces) > self.max_runs * _TRACES_PER_RUN:
            self._traces.popitem(last=False)

    def _make_room(self) -> None:
        while (self._spans > self.max_spans or self._content > self.max_content) and len(self._runs) > 1:
            self._evict()

    def _evict(self) -> None:
        _, run = self._runs.popitem(last=False)
        self._spans -= run.spans
        self._content -= run.content
        self.counters["evicted"] += 1
        if self.forgotten is not None:
            self.forgotten(run)
