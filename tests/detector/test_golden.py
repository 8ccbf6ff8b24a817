"""Every capture of every dialect becomes the steps that were checked by eye against its raw spans."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path

import pytest
from spanward_detector.ingest import decode_logs, decode_traces
from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.normalize import Normalizer

from tests.detector.otlp import TRACES, capture, captured_logs

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden_steps.json.gz"
UPDATE = "SPANWARD_UPDATE_GOLDEN"
"""Set it to write the file anew; then review the difference."""


def normalized(name: str, scenario: str, *, seed: int | None = None) -> list[Step]:
    """Steps of a capture once everything has arrived, in the order of the run; with ``seed`` it arrives shuffled."""
    spans, records = decode_traces(capture(name, scenario)), decode_logs(captured_logs(name, scenario))
    normalizer = Normalizer()
    steps: dict[SpanRef, Step] = {}
    arrivals: list[tuple[str, object]] = [("span", span) for span in spans] + [("log", record) for record in records]
    if seed is not None:
        random.Random(seed).shuffle(arrivals)
    for kind, item in arrivals:
        found = normalizer.steps(item) if kind == "span" else normalizer.logs([item])  # type: ignore[arg-type,list-item]
        steps |= {step.ref: step for step in found}
    kept = [step for step in steps.values() if not normalizer.superseded(step)]
    for step in kept:
        normalizer.complete(step, settled=True)
    return sorted(kept, key=lambda step: (step.start_ns, step.ref.span_id))


def row(step: Step) -> dict[str, object]:
    """What the golden file keeps of a step; empty values are left out."""
    told = {
        "kind": step.kind.value,
        "span": step.ref.span_id,
        "parent": step.parent_id,
        "dialect": step.dialect,
        "agent": step.agent,
        "action": step.action,
        "conversation": step.conversation_id,
        "root": step.is_root,
        "ended": step.run_ended,
        "failed": step.failed,
        "error_type": step.error_type,
        "error_text": step.error_text,
        "call_id": step.call_id,
        "arguments": step.arguments,
        "form": step.arguments_facts and step.arguments_facts.label,
        "result": step.result,
        "sign": step.result_facts and step.result_facts.error,
        "finish": step.finish_reason,
        "tokens": [step.input_tokens, step.output_tokens] if step.kind is Kind.LLM else None,
        "model": step.model,
        "n_calls": step.n_calls,
        "calls": [list(call) for call in step.calls],
        "unknown": list(step.unknown_tools),
        "declared": sorted(step.declared_tools) if step.declared_tools else None,
        "input": step.user_input,
        "answer": step.answer,
        "tool_messages": [list(message) for message in step.tool_messages],
        "max_steps": step.stated_max_steps,
        "graph_step": step.extra.get("graph_step"),
        "sighting": step.extra.get("sighting"),
    }
    return {
        key: value
        for key, value in told.items()
        if value or (key in ("result", "answer", "n_calls") and value is not None)
    }


def rows(name: str, scenario: str, *, seed: int | None = None) -> list[dict[str, object]]:
    """Rows of a capture; structure (chains, tasks, cycles) is left out."""
    return [row(step) for step in normalized(name, scenario, seed=seed) if step.kind is not Kind.OTHER]


def _golden() -> dict[str, list[dict[str, object]]]:
    if os.environ.get(UPDATE):
        content = json.dumps({f"{n}/{s}": rows(n, s) for n, s in TRACES}, ensure_ascii=False, indent=1, sort_keys=True)
        GOLDEN.write_bytes(gzip.compress(content.encode(), 9, mtime=0))
    loaded: dict[str, list[dict[str, object]]] = json.loads(gzip.decompress(GOLDEN.read_bytes()))
    return loaded


@pytest.fixture(scope="module")
def golden() -> dict[str, list[dict[str, object]]]:
    """The reviewed steps by capture."""
    return _golden()


@pytest.mark.parametrize(("name", "scenario"), TRACES)
def test_steps_of_a_capture(name: str, scenario: str, golden: dict[str, list[dict[str, object]]]) -> None:
    """Kind, agent, call, arguments, result, error, finish, tokens and messages of each step are the reviewed ones."""
    assert rows(name, scenario) == golden[f"{name}/{scenario}"]


@pytest.mark.parametrize(("name", "scenario"), TRACES)
def test_order_of_arrival_does_not_matter(name: str, scenario: str) -> None:
    """Spans and log records in any order give the same steps once all have arrived."""
    expected = rows(name, scenario)
    for seed in range(3):
        assert rows(name, scenario, seed=seed) == expected


@pytest.mark.parametrize(("name", "scenario"), TRACES)
def test_tokens_are_counted_once(name: str, scenario: str) -> None:
    """Only model calls carry tokens: agents' spans repeat the sum of their calls, and it is not added again."""
    for step in normalized(name, scenario):
        assert step.kind is Kind.LLM or (step.input_tokens, step.output_tokens) == (0, 0)


# Calls of the scripted scenarios, which every framework was made to play.
TOOLS = {
    "success": ["get_weather", "add"],
    "loop": ["fetch_order"] * 4,
    "errstr": ["fetch_order_soft"] * 4,
}
_BLIND = {"openai__openai-genai-default"}  # no content, no tool spans, no log records: nothing names a tool


@pytest.mark.parametrize(
    ("name", "scenario"), [(n, s) for n, s in TRACES if s in TOOLS and n not in _BLIND], ids=lambda value: value
)
def test_tool_steps_are_those_of_the_script(name: str, scenario: str) -> None:
    """In every dialect there is one tool step for each call that the script made, and each failure is visible in it."""
    tools = [step for step in normalized(name, scenario) if step.kind is Kind.TOOL]
    assert [step.action for step in tools] == TOOLS[scenario]
    recorded = [step for step in tools if step.result is not None or step.failed]
    # Without content neither an error text is visible nor what ADK's plug-in catches: there are only equal calls.
    if scenario != "success" and name not in ("google-adk__native", "openai__openai-v2-default"):
        assert [bool(step.result_facts and step.result_facts.error) for step in recorded] == [True] * 4
    if scenario == "success":
        assert not any(step.failed or (step.result_facts and step.result_facts.error) for step in tools)
    digests = {step.arguments_digest for step in tools if step.arguments is not None}
    assert len(digests) <= (2 if scenario == "success" else 1)
