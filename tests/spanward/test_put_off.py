"""Facts of a result that the thread of the call leaves to the sender: the same facts, and only where nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import hypothesis.strategies as st
import pytest
import spanward
from hypothesis import given
from opentelemetry.trace import Span
from spanward import flow, semconv
from spanward.checklist import called
from spanward.facts import digest, facts_to_attributes, result_facts
from spanward.spans import step_spans
from spanward.testing import MemorySpans, supervised

from tests.spanward.fake_detector import FakeDetector, attribute, until
from tests.spanward.fakes import settings

RESULTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["", "null", "{}", "Error: no such room", '{"error": "gone", "status": 404}', '{"a": 1, "a": 2}', "exit code 3"]
    ),
)


@pytest.fixture
def put_off(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """What was left to the sender."""
    left: list[Mapping[str, Any]] = []

    def complete_later(_self: MemorySpans, span: Span, work: Callable[[], Mapping[str, Any]]) -> None:
        left.append(work())
        span.set_attributes(left[-1])

    monkeypatch.setattr(MemorySpans, "complete_later", complete_later)
    return left


def says(text: Any, **options: Any) -> Callable[[], Any]:
    """A tool that returns this."""
    return spanward.tool(lambda: text, name="say", **options)


@given(RESULTS, st.sampled_from([None, b"key"]))
def test_what_is_put_off_is_what_is_told_at_once(text: str, key: bytes | None) -> None:
    """Facts and digest of a text are the same whoever works them out."""
    with supervised(hold="never", digest_key=key) as gate, spanward.run("bot"):
        says(text)()
    (told,) = gate.spans.steps("tool")
    expected = {**facts_to_attributes(result_facts(text)), semconv.RESULT_DIGEST: digest(text, key)}
    assert {name: told.get(name) for name in expected} == expected
    assert not {name for name in told if name.startswith("spanward.facts.result")} - expected.keys()


def test_a_text_that_nobody_waits_for_is_put_off(put_off: list[Mapping[str, Any]]) -> None:
    """Reads and writes alike."""
    with supervised(hold="never"), spanward.run("bot"):
        says("well", side_effect="read")()
        says("well", side_effect="write")()
    assert [left[semconv.FACT_RESULT_SIZE] for left in put_off] == [4, 4]


@pytest.mark.parametrize(
    ("result", "options"),
    [
        pytest.param({"a": [1]}, {}, id="may change meanwhile"),
        pytest.param("x" * (flow.LONGEST_PUT_OFF + 1), {}, id="long"),
        pytest.param("well", {"cross_check": lambda result: True}, id="cross-checked"),
    ],
)
def test_some_results_are_read_at_once(put_off: list[Mapping[str, Any]], result: Any, options: dict[str, Any]) -> None:
    """What may change, what would fill the memory, and what decides on a check."""
    with supervised(hold="never") as gate, spanward.run("bot"):
        says(result, **options)()
    assert put_off == []
    assert gate.spans.steps("tool")[0][semconv.RESULT_DIGEST] == digest(result)


@pytest.mark.parametrize("hold", ["always", "suspect"])
def test_a_gate_that_may_hold_knows_the_facts(put_off: list[Mapping[str, Any]], hold: str) -> None:
    """They decide whether it does, and they leave at once."""
    with supervised(hold=hold), spanward.run("bot"):
        says("Error: gone")()
    assert put_off == []


def test_a_call_of_the_models_knows_its_digest(put_off: list[Mapping[str, Any]]) -> None:
    """A feedback that comes late names the digest of the result that it is about."""
    with supervised(hold="never"), spanward.run("bot") as run:
        run.pending.add("call-1", "say", digest({}))
        says("well")()
        assert digest("well") in next(iter(run.recent.values())).digests
    assert put_off == []


def test_a_checklist_knows_what_worked(put_off: list[Mapping[str, Any]]) -> None:
    """A call that failed does not count for it."""
    with supervised(hold="never"), spanward.run("bot", checklist=[called("say")]) as run:
        says("Error: gone")()
    assert run.end_reason == "incomplete"
    assert put_off == []


def test_the_journals_file_names_the_result(put_off: list[Mapping[str, Any]], tmp_path: Any) -> None:
    """It is written before the call returns."""
    file = tmp_path / "journal"
    with supervised(hold="never", journal=str(file)), spanward.run("bot"):
        says("well")()
    assert digest("well") in file.read_text()
    assert put_off == []


def test_our_own_failure_costs_the_facts_and_not_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the sender's thread, too, it is counted and goes no further."""

    def broken(*_args: object, **_options: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(flow, "facts_and_digest", broken)
    with supervised(hold="never") as gate, spanward.run("bot"):
        assert says("well")() == "well"
    (told,) = gate.spans.steps("tool")
    assert semconv.FACT_RESULT_SIZE not in told
    assert gate.runtime.counters.internal_errors == 1


def test_it_is_the_sender_that_works_it_out() -> None:
    """On its own thread, and the attributes arrive with the others."""
    threads: list[int] = []

    def work() -> dict[str, int]:
        threads.append(threading.get_ident())
        return {semconv.FACT_RESULT_SIZE: 4}

    with FakeDetector() as detector:
        pipeline = step_spans(settings(detector.address))
        span = pipeline.start("s", "internal", {semconv.RUN_ID: "r"})
        pipeline.complete_later(span, work)
        pipeline.end(span, urgent=False)
        (found,) = until(lambda: detector.named("s"))
        pipeline.shutdown(1)

    assert (attribute(found, semconv.RUN_ID), attribute(found, semconv.FACT_RESULT_SIZE)) == ("r", 4)
    assert threads != [threading.get_ident()]
    assert len(threads) == 1
