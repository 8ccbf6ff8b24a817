"""For tests of agents and adapters: a fake clock, ids that count, spans in memory, a detector that does as told.

with supervised(answer=lambda span: feedback_directive(span)) as gate:
    with run("bot"):
        my_tool()
assert [span.name for span in gate.spans.ended] == ["execute_tool my_tool", "invoke_agent bot"]
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span as ApiSpan
from opentelemetry.trace import SpanKind

from spanward import context, semconv
from spanward.config import Settings
from spanward.ops import Flow, Invoker, Outcome
from spanward.ports import DirectiveOutcome, GateDirective, InFlightCall, RunView, StatusState, Verdict
from spanward.runtime import Approver, Runtime, runtime, set_runtime

Answer = Callable[[ReadableSpan], GateDirective | Verdict | None]
"""What a fake detector makes of a held span: a directive, None to go on, or a whole verdict."""
SILENCE: Final = Verdict("timeout")
"""The answer of a detector that is away."""


class FakeClock:
    """Monotonic seconds that pass only when told to."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        self.now += seconds


class IncrementalIds(IdGenerator):
    """Trace, span and run ids 1, 2, 3, ..."""

    def __init__(self) -> None:
        self._traces = itertools.count(1)
        self._spans = itertools.count(1)
        self._runs = itertools.count(1)

    def generate_trace_id(self) -> int:
        return next(self._traces)

    def generate_span_id(self) -> int:
        return next(self._spans)

    def run_id(self) -> str:
        """As ``Runtime.new_id``."""
        return f"run-{next(self._runs)}"


class MemorySpans:
    """Step spans that stay here. Satisfies :class:`spanward.ports.StepSpans`.

    Attributes:
        urgent: ids of spans that were sent at once.
    """

    def __init__(self, ids: IncrementalIds | None = None) -> None:
        self.dropped = 0
        self.urgent: list[str] = []
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler=ALWAYS_ON, id_generator=ids or IncrementalIds(), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._tracer = provider.get_tracer(semconv.SCOPE)

    def start(
        self,
        name: str,
        kind: Literal["internal", "client"],
        attributes: Mapping[str, Any],
        parent: Context | None = None,
    ) -> ApiSpan:
        return self._tracer.start_span(name, parent, SpanKind[kind.upper()], attributes)

    def complete_later(self, span: ApiSpan, work: Callable[[], Mapping[str, Any]]) -> None:
        span.set_attributes(work())

    def end(self, span: ApiSpan, *, urgent: bool) -> None:
        if urgent:
            self.urgent.append(f"{span.get_span_context().span_id:016x}")
        span.end()

    def flush(self, timeout_s: float) -> bool:  # noqa: ARG002 - the port's signature
        return True

    def shutdown(self, timeout_s: float) -> None: ...

    @property
    def ended(self) -> Sequence[ReadableSpan]:
        """Ended spans, in the order in which they ended."""
        return self._exporter.get_finished_spans()

    def by_id(self, span_id: str) -> ReadableSpan:
        """An ended span."""
        return next(span for span in self.ended if span.context and f"{span.context.span_id:016x}" == span_id)

    def steps(self, kind: str = "") -> Sequence[Mapping[str, Any]]:
        """Attributes of the ended steps, of one kind or of all, in order of their numbers."""
        rows = [dict(span.attributes or {}) for span in self.ended if semconv.STEP_INDEX in (span.attributes or {})]
        rows = [row for row in rows if not kind or row[semconv.STEP_KIND] == kind]
        return sorted(rows, key=lambda row: row[semconv.STEP_INDEX])


class FakeHold:
    """A hold that is answered by the script as soon as somebody waits, or by :meth:`FakeControl.settle`."""

    def __init__(self, control: FakeControl, span_id: str) -> None:
        self._control = control
        self.span_id = span_id
        self.cancelled = False

    def wait(self, timeout_s: float) -> Verdict:
        return self._control.verdict(self, timeout_s, block=True)

    async def wait_async(self, timeout_s: float) -> Verdict:
        await asyncio.sleep(0)
        if not self._control.manual:
            return self._control.verdict(self, timeout_s, block=False)
        return await asyncio.to_thread(self._control.verdict, self, timeout_s, block=True)

    def cancel(self) -> None:
        self.cancelled = True


class Update(NamedTuple):
    """What the control client was told of a run."""

    what: Literal["register", "update", "end"]
    run_id: str
    reason: str = ""


class FakeControl:
    """A detector in a box. Satisfies :class:`spanward.ports.Control`.

    Attributes:
        connected: set it to False to take the detector away.
        manual: holds wait, for real, until :meth:`settle`; else ``answer`` decides at once.
        statuses: acknowledgements of directives, in order.
        holds: every hold that was asked for.
    """

    def __init__(
        self, spans: MemorySpans, answer: Answer | None = None, *, clock: FakeClock | None = None, manual: bool = False
    ) -> None:
        self.connected = True
        self.manual = manual
        self.answer = answer
        self.statuses: list[DirectiveOutcome] = []
        self.holds: list[FakeHold] = []
        self.updates: list[Update] = []
        self.calls_started: list[InFlightCall] = []
        self._spans = spans
        self._clock = clock
        self._settled: dict[str, Verdict] = {}
        self._changed = threading.Condition()

    def wait_connected(self, timeout_s: float) -> bool:  # noqa: ARG002 - the port's signature
        return self.connected

    def register_run(self, run: RunView) -> None:
        self.updates.append(Update("register", run.id))

    def end_run(self, run: RunView, reason: str) -> None:
        self.updates.append(Update("end", run.id, reason))

    def update_run(self, run: RunView) -> None:
        self.updates.append(Update("update", run.id))

    def hold(self, trace_id: str, span_id: str) -> FakeHold:  # noqa: ARG002 - the port's signature
        made = FakeHold(self, span_id)
        with self._changed:
            self.holds.append(made)
            self._changed.notify_all()
        return made

    def status(
        self,
        directive_id: str,
        state: StatusState,
        reason: str = "",
        before: str = "",
        after: str = "",
        apply_ms: float = 0.0,
    ) -> None:
        self.statuses.append(DirectiveOutcome(directive_id, state, reason, before, after, apply_ms))

    def started(self, call: InFlightCall) -> None:
        with self._changed:
            self.calls_started.append(call)
            self._changed.notify_all()

    def shutdown(self, timeout_s: float) -> None: ...

    def states(self, directive_id: str) -> list[str]:
        """The states that a directive was acknowledged with, in order."""
        return [status.state for status in self.statuses if status.directive_id == directive_id]

    def settle(self, span_id: str, verdict: Verdict) -> None:
        """Answers a hold by hand."""
        with self._changed:
            self._settled[span_id] = verdict
            self._changed.notify_all()

    def until(self, condition: Callable[[FakeControl], bool], timeout_s: float = 10.0) -> bool:
        """Waits until something about holds or calls is so."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self), timeout_s)

    def verdict(self, hold: FakeHold, timeout_s: float, *, block: bool) -> Verdict:
        """What a hold gets to hear."""
        if self.manual:
            with self._changed:
                if block:
                    self._changed.wait_for(lambda: hold.span_id in self._settled, timeout_s)
                return self._settled.get(hold.span_id, SILENCE)
        said = self.answer(self._spans.by_id(hold.span_id)) if self.answer is not None else None
        verdict = said if isinstance(said, Verdict) else Verdict("none" if said is None else "directive", said)
        if verdict.kind == "timeout" and self._clock is not None:
            self._clock.advance(timeout_s)
        return verdict


@dataclass
class Supervised:
    """What :func:`supervised` puts in force."""

    runtime: Runtime
    spans: MemorySpans
    control: FakeControl
    clock: FakeClock


@contextlib.contextmanager
def supervised(
    answer: Answer | None = None, *, manual: bool = False, approver: Approver | None = None, **settings: object
) -> Iterator[Supervised]:
    """A runtime on fakes, in force inside the block.

    Args:
        answer: the detector's verdict on each held span.
        manual: see :class:`FakeControl`.
        approver: as in ``instrument_agent``.
        **settings: fields of :class:`spanward.config.Settings`; the environment is not read.
    """
    clock, ids = FakeClock(), IncrementalIds()
    spans = MemorySpans(ids)
    control = FakeControl(spans, answer, clock=clock, manual=manual)
    made = Runtime(Settings.from_env({}, **settings), spans, control, approver=approver, clock=clock, new_id=ids.run_id)
    before = runtime()
    context.install()
    set_runtime(made)
    try:
        yield Supervised(made, spans, control, clock)
    finally:
        set_runtime(before)
        if before is None:
            context.uninstall()
        made.close(0)


_directives: Final = itertools.count(1)


def directive_for(
    span: ReadableSpan, kind: str, /, *, directive_id: str = "", expires_at: float = 0.0, epoch: int = 0,
    target_digest: str = "", answers_hold: bool = True, run_id: str = "", **payload: object,
) -> GateDirective:  # fmt: skip
    """A directive that answers a held span."""
    ids = span.context
    return GateDirective(
        id=directive_id or f"d{next(_directives)}",
        run_id=run_id or str((span.attributes or {})[semconv.RUN_ID]),
        kind=kind,  # type: ignore[arg-type]  # tests may send what there is not
        epoch=epoch,
        trace_id=f"{ids.trace_id:032x}" if ids else "",
        span_id=f"{ids.span_id:016x}" if ids else "",
        failure_type="tool_error",
        rule="tool_error",
        expires_at=expires_at,
        answers_hold=answers_hold,
        target_digest=target_digest,
        payload=payload,
    )


class Driven(NamedTuple):
    """What :func:`steps_of` saw: the operations that a flow yielded, and its return value."""

    ops: list[Any]
    value: Any


def steps_of(flow: Flow, answers: Mapping[type, Any] | None = None, invoke: Invoker | None = None) -> Driven:
    """Drives a flow without doing anything: each operation is answered from a table by its type.

    Args:
        flow: the generator.
        answers: what to send back, by type of the operation; an exception is thrown in.
        invoke: makes calls whose operation has no answer in the table.
    """
    ops: list[Any] = []
    table = answers or {}
    try:
        op = next(flow)
        while True:
            ops.append(op)
            if type(op) in table:
                answer = table[type(op)]
            else:
                answer = op.perform(invoke or (lambda arguments: Outcome(arguments)))
            op = flow.throw(answer) if isinstance(answer, BaseException) else flow.send(answer)
    except StopIteration as stop:
        return Driven(ops, stop.value)


__all__ = [
    "SILENCE", "Answer", "Driven", "FakeClock", "FakeControl", "FakeHold", "IncrementalIds", "MemorySpans", "Span",
    "Supervised", "Update", "directive_for", "steps_of", "supervised",
]  # fmt: skip
