"""Stored telemetry through the same pipeline as live traffic: what would have been found, and ordered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from spanward_detector.evaluate.steps import StepsError, holds_steps, read_runs, steps_of
from spanward_detector.failures import FAILURE_TYPES
from spanward_detector.first_cause import first_finding
from spanward_detector.ingest import Batch, IngestError, RawLog, read_batches
from spanward_detector.model import Directive, Finding, SpanRef, Step
from spanward_detector.pipeline import Pipeline, Verdict
from spanward_detector.policy import Policy
from spanward_detector.runs import Run
from spanward_detector.semantic import Meaning, Question

STDIN: Final = "-"
_LOGS: Final = ".logs."

_Key = tuple[str, str, SpanRef]


class ReplayError(ValueError):
    """A file that cannot be read.

    Attributes:
        file: as it was named.
        reason: code of :class:`spanward_detector.ingest.IngestError`, or ``io``.
        position: where in the file; "" when unknown.
    """

    def __init__(self, file: str, reason: str, position: str = "", detail: str = "") -> None:
        place = f" at {position}" if position else ""
        super().__init__(f"{file}: {reason}{place}" + (f": {detail}" if detail else ""))
        self.file = file
        self.reason = reason
        self.position = position


@dataclass(frozen=True, slots=True)
class Source:
    """A stored file or stream.

    Attributes:
        name: as it is shown in findings.
        open: opens it for reading bytes.
        again: it can be opened more than once.
    """

    name: str
    open: Callable[[], BinaryIO]
    again: bool = True

    @property
    def is_logs_by_name(self) -> bool:
        return _LOGS in Path(self.name).name

    @property
    def completes(self) -> str:
        """Name of the trace file that a file of log records belongs to."""
        path = Path(self.name)
        return str(path.with_name(path.name.replace(_LOGS, ".", 1)))


class Found(NamedTuple):
    """One finding of a file.

    Attributes:
        file: as it was named.
        run: that it is in.
        finding: itself.
        directive: that came of it, if any.
        first_cause: the run failed, and this is where it broke; at most one finding of a run.
    """

    file: str
    run: Run
    finding: Finding
    directive: Directive | None
    first_cause: bool = False


def sources(names: Iterable[str], stdin: BinaryIO) -> list[Source]:
    """Files by name; "-" is the standard input."""
    return [
        Source("<stdin>", lambda: stdin, again=False) if name == STDIN else Source(name, partial(_open, name))
        for name in names
    ]


def _open(name: str) -> BinaryIO:
    return Path(name).open("rb")


def replay(files: Iterable[Source], policy: Policy) -> Iterator[Found]:
    """Everything found in stored files, file by file; each file is judged by itself once all of it has been read.

    Traces and log records may come as JSON, JSON lines or protobuf, gzipped or not. A file of log records completes the
    trace file of the same name without ``.logs``, else whichever trace file holds its traces; what is found belongs to
    the trace file. A named file may also hold steps, see :mod:`spanward_detector.evaluate.steps`.

    Raises:
        ReplayError: a file cannot be read. What was found in files before it has been yielded.
        SemanticError: the policy's model for meaning cannot be used.
    """
    given = list(files)
    meaning = Meaning()
    stepwise = {source.name for source in given if source.again and holds_steps(Path(source.name))}
    for source in [source for source in given if source.name in stepwise]:
        yield from _File(source.name, Pipeline(policy), meaning).judge_steps(_steps(source))
    given = [source for source in given if source.name not in stepwise]
    logs = {source.name for source in given if source.is_logs_by_name or (len(given) > 1 and _has_only_logs(source))}
    traces = [source for source in given if source.name not in logs]
    by_file: dict[str, list[RawLog]] = defaultdict(list)
    by_trace: dict[str, list[RawLog]] = defaultdict(list)
    names = {source.name for source in traces}
    for source in given:
        if source.name not in logs:
            continue
        for batch in _batches(source):
            if source.completes in names:
                by_file[source.completes].extend(batch.logs)
            else:
                for record in batch.logs:
                    by_trace[record.trace_id].append(record)
    for source in traces:
        file = _File(source.name, Pipeline(policy), meaning)
        yield from file.judge(_batches(source), by_file.pop(source.name, []), by_trace)


def as_json(found: Found) -> dict[str, object]:
    """One finding as a flat object; the keys are part of the command's interface."""
    finding, directive = found.finding, found.directive
    kind = FAILURE_TYPES[finding.failure_type]
    return {
        "file": found.file,
        "run_id": found.run.id,
        "trace_id": finding.ref.trace_id,
        "span_id": finding.ref.span_id,
        "step": finding.step,
        "agent": finding.agent or found.run.agent,
        "action": finding.action,
        "rule": finding.rule,
        "failure_type": finding.failure_type,
        "layer": kind.layer,
        "cause": kind.cause,
        "severity": finding.severity,
        "mode": finding.mode,
        "message": finding.message,
        "directive": {"kind": directive.kind, "level": directive.level} if directive is not None else None,
        "first_cause": found.first_cause,
    }


@dataclass(slots=True)
class _File:
    """One file, with a pipeline of its own: nothing that another file says has any bearing on it."""

    name: str
    pipeline: Pipeline
    meaning: Meaning
    found: dict[_Key, tuple[Run, Finding]] = field(default_factory=dict)
    directives: dict[tuple[str, SpanRef], Directive] = field(default_factory=dict)
    runs: dict[str, None] = field(default_factory=dict)
    questions: dict[SpanRef, Question] = field(default_factory=dict)

    def judge(self, batches: Iterable[Batch], logs: list[RawLog], by_trace: dict[str, list[RawLog]]) -> Iterator[Found]:
        seen: set[str] = set()
        for batch in batches:
            seen.update(span.trace_id for span in batch.spans)
            self._take(self.pipeline.spans(batch.spans))
            self._take(self.pipeline.logs(batch.logs))
        for trace_id in seen:
            logs.extend(by_trace.get(trace_id, ()))
        self._take(self.pipeline.logs(logs))
        yield from self._settle()

    def judge_steps(self, runs: Iterable[Iterable[Step]]) -> Iterator[Found]:
        for steps in runs:
            self._take(map(self.pipeline.step, steps))
            yield from self._settle()
            self.runs.clear()
            self.found.clear()
            self.questions.clear()

    def _settle(self) -> Iterator[Found]:
        for run_id in list(self.runs):
            settled = self.pipeline.settle(run_id)
            self._take((settled,) if settled is not None else ())
        of_run: dict[str, list[tuple[Run, Finding]]] = {run_id: [] for run_id in self.runs}
        for run, finding in self.found.values():
            of_run[run.id].append((run, finding))
        noted = self._noted()
        for run_id, pairs in of_run.items():
            cause = first_finding(pairs[0][0], [finding for _, finding in pairs]) if pairs else None
            pairs += noted.get(run_id, [])  # these are no cause of anything, as they are not live
            for run, finding in sorted(pairs, key=lambda pair: pair[1].step):
                directive = self.directives.get((finding.rule, finding.ref))
                yield Found(self.name, run, finding, directive, finding is cause)

    def _noted(self) -> dict[str, list[tuple[Run, Finding]]]:
        """What is found beside the pipeline, by run: each answer is judged once, as it stands in the end."""
        noted: dict[str, list[tuple[Run, Finding]]] = defaultdict(list)
        for question in self.questions.values():
            if (run := self.pipeline.find(question.run_id)) is not None:
                found = self.meaning.findings(question, self.pipeline.policy.semantic)
                noted[run.id] += [(run, finding) for finding in found]
        return noted

    def _take(self, verdicts: Iterable[Verdict]) -> None:
        for verdict in verdicts:
            self.runs[verdict.run.id] = None
            for finding in verdict.withdrawn:
                self.found.pop(finding.key, None)
            for finding in verdict.findings:
                self.found[finding.key] = (verdict.run, finding)
            self.questions.update((question.ref, question) for question in verdict.questions)
            if (directive := verdict.directive) is not None:
                self.directives.setdefault((directive.rule, directive.ref), directive)


def _batches(source: Source) -> Iterator[Batch]:
    try:
        with closing(source.open()) as stream:
            yield from read_batches(stream)
    except OSError as error:
        raise ReplayError(source.name, "io", "", error.strerror or str(error)) from None
    except IngestError as error:
        raise ReplayError(source.name, error.reason, error.position, error.detail) from None


def _steps(source: Source) -> Iterator[list[Step]]:
    try:
        for run in read_runs(Path(source.name)):
            yield sorted(steps_of(run), key=lambda step: (step.start_ns, step.ref.span_id))
    except OSError as error:
        raise ReplayError(source.name, "io", "", error.strerror or str(error)) from None
    except StepsError as error:
        raise ReplayError(source.name, "steps", error.position, error.reason) from None


def _has_only_logs(source: Source) -> bool:
    """Looks at the first request alone."""
    if not source.again:
        return False
    first = next((batch for batch in _batches(source) if batch.spans or batch.logs), None)
    return first is not None and not first.spans
