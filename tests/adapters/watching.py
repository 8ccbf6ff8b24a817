"""Puts the adapters on top of the fakes of :mod:`spanward.testing`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from spanward import adapters, semconv
from spanward.ports import GateDirective, Verdict
from spanward.testing import Answer, Supervised, directive_for, supervised


@contextmanager
def watched(answer: Answer | None = None, **settings: Any) -> Iterator[Supervised]:
    """A supervised process with every adapter installed; HTTP spans only where a test asks for them."""
    with supervised(answer, **{"http": False, **settings}) as gate:
        adapters.install(gate.runtime)
        try:
            yield gate
        finally:
            adapters.uninstall()


def once(kind: str, on: str, /, **payload: Any) -> Callable[[ReadableSpan], GateDirective | Verdict | None]:
    """Answers the first held span of a step kind with a directive, and every other one with "go on"."""
    given: list[str] = []

    def answer(span: ReadableSpan) -> GateDirective | None:
        if given or attributes(span).get(semconv.STEP_KIND) != on:
            return None
        given.append(kind)
        return directive_for(span, kind, directive_id=kind, **payload)

    return answer


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    """Its attributes."""
    return span.attributes or {}


def everything(gate: Supervised) -> str:
    """All that would leave the process in spans, as text."""
    return "\n".join(span.to_json() for span in gate.spans.ended)
