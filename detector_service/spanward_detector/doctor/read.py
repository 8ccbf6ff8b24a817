"""Stored files into a census."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from spanward_detector.doctor.census import Census
from spanward_detector.evaluate.steps import StepsError, holds_steps, read_runs, steps_of
from spanward_detector.ingest import Batch, IngestError, RawLog, read_batches
from spanward_detector.replay import ReplayError
from spanward_detector.replay import Source as File


def kept(files: Iterable[File]) -> list[File]:
    """The same files, each of which can be opened more than once: what came by standard input is held in memory."""
    return [file if file.again else _in_memory(file) for file in files]


def _in_memory(file: File) -> File:
    with closing(file.open()) as stream:
        data = stream.read()
    return File(file.name, lambda: io.BytesIO(data))


def take(files: Iterable[File], census: Census) -> None:
    """Read files in. Log records complete the spans of their traces, whichever file these are in.

    A named file may also hold steps, see :mod:`spanward_detector.evaluate.steps`.

    Raises:
        ReplayError: a file cannot be read.
    """
    given = kept(files)
    stepwise = [file for file in given if holds_steps(Path(file.name))]
    for file in stepwise:
        _take_steps(file, census)
    given = [file for file in given if file not in stepwise]
    logs: dict[str, list[RawLog]] = defaultdict(list)
    if len(given) > 1:
        for file in given:
            for batch in _batches(file):
                for record in batch.logs:
                    logs[record.trace_id].append(record)
    census.begin()
    for file in given:
        traces: dict[str, None] = {}
        for batch in _batches(file):
            census.add_spans(batch.spans)
            traces.update((span.trace_id, None) for span in batch.spans)
            if len(given) == 1:
                census.add_logs(batch.logs)
        for trace_id in traces:
            census.add_logs(logs.pop(trace_id, ()))


def _take_steps(file: File, census: Census) -> None:
    try:
        for run in read_runs(Path(file.name)):
            census.add_steps(steps_of(run))
    except OSError as error:
        raise ReplayError(file.name, "io", "", error.strerror or str(error)) from None
    except StepsError as error:
        raise ReplayError(file.name, "steps", error.position, error.reason) from None


def _batches(file: File) -> Iterator[Batch]:
    try:
        with closing(file.open()) as stream:
            yield from read_batches(stream)
    except OSError as error:
        raise ReplayError(file.name, "io", "", error.strerror or str(error)) from None
    except IngestError as error:
        raise ReplayError(file.name, error.reason, error.position, error.detail) from None
