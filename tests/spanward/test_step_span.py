"""The light span of a step, as other code sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from spanward.step_span import StepSpan


def make(ended: Callable[[StepSpan], None] | None = None) -> StepSpan:
    """A started span."""
    return StepSpan("execute_tool a", SpanKind.INTERNAL, SpanContext(1, 2, False, TraceFlags(1)), None, {}, ended)


def test_it_can_be_the_current_span() -> None:
    """Code inside a tool finds it by the API and may write on it."""
    span = make()
    with trace.use_span(span):
        trace.get_current_span().set_attribute("app.order", 7)

    assert span.attributes == {"app.order": 7}


def test_nothing_changes_it_after_its_end() -> None:
    """It is read by another thread then."""
    ended: list[StepSpan] = []
    span = make(ended.append)
    span.end(5)
    span.complete_later(lambda: {"c": 3})
    span.set_attribute("a", 1)
    span.set_attributes({"b": 2})
    span.add_event("late")
    span.set_status(StatusCode.ERROR)
    span.end(9)

    assert (span.attributes, span.events, span.status.status_code, span.end_time) == ({}, [], StatusCode.UNSET, 5)
    assert (ended, span.is_recording()) == ([span], False)


def test_attributes_put_off_are_worked_out_once_and_by_the_reader() -> None:
    """Not before its end by the thread of the call, and not again by the next reader."""
    span, readers = make(), []

    def work() -> dict[str, int]:
        readers.append(threading.get_ident())
        return {"size": 3}

    span.set_attribute("step", 1)
    span.complete_later(work)
    span.end()
    assert readers == []

    reader = threading.Thread(target=lambda: span.attributes)
    reader.start()
    reader.join()

    assert span.attributes == {"step": 1, "size": 3}
    assert readers == [reader.ident]


def test_an_exception_is_recorded_without_its_words() -> None:
    """The class is told; the message may hold content."""
    span = make()
    span.record_exception(ValueError("card 4111 is declined"))

    assert [(e.name, dict(e.attributes)) for e in span.events] == [
        ("exception", {"exception.type": "builtins.ValueError"})
    ]


def test_events_are_bounded() -> None:
    """A loop that writes events does not fill the memory; what is left out is counted."""
    span = make()
    for n in range(1000):
        span.add_event(str(n))

    assert (len(span.events), span.dropped_events) == (128, 872)


def test_both_ways_to_set_a_status_work() -> None:
    """As the API allows: a Status, or a code with a description."""
    one, other = make(), make()
    one.set_status(Status(StatusCode.ERROR, "no"))
    other.set_status(StatusCode.ERROR, "no")

    assert [(s.status.status_code, s.status.description) for s in (one, other)] == [(StatusCode.ERROR, "no")] * 2
