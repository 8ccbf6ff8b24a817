"""Step files: every key is read, what is no step is refused with its line, and replay takes the same files."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from spanward_detector.evaluate import StepsError, read_runs, read_steps
from spanward_detector.evaluate.steps import holds_steps
from spanward_detector.model import Kind
from spanward_detector.policy import default
from spanward_detector.replay import ReplayError, as_json, replay, sources


def row(step: int, kind: str, name: str = "", **more: Any) -> dict[str, Any]:
    """One line of a step file."""
    return {"trace_id": "t1", "step": step, "kind": kind, "name": name, **more}


def write(file: Path, rows: list[Mapping[str, Any]], packed: bool = False) -> Path:
    """A file of JSON lines."""
    data = "\n".join(json.dumps(r) for r in rows).encode()
    file.write_bytes(gzip.compress(data) if packed else data)
    return file


CONVERSATION = [
    row(0, "agent", "system", agent="system", result="You sell socks."),
    row(1, "user", "user", agent="user", result="Where are my socks?"),
    row(2, "llm", "assistant", agent="assistant", tool_calls=[{"name": "find_order", "arguments": '{"id": "7"}'}]),
    row(3, "tool", "find_order", agent="assistant", args='{"id": "7"}', result="Error: order not found"),
    row(4, "llm", "assistant", agent="assistant", result="I could not find it.", tool_calls=[]),
]
TRACED = [
    row(0, "agent", "Boss.run", span_id="a" * 16, args='{"task": "count"}', start="2026-01-01T00:00:00+00:00",
        end="2026-01-01T00:00:09+00:00"),
    row(1, "chain", "Step 1", span_id="b" * 16, parent_span_id="a" * 16),
    row(2, "tool", "page_down", span_id="c" * 16, parent_span_id="b" * 16, start="2026-01-01T00:00:02.5+00:00",
        args='{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"n": 1}}',
        error="TypeError: page_down() got an unexpected keyword argument 'n'"),
    row(3, "tool", "final_answer", span_id="d" * 16, parent_span_id="b" * 16, args="{}"),
]  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_a_conversation_becomes_steps(tmp_path: Path, packed: bool) -> None:
    """Kinds, calls, arguments, results and agents are read; without times a step follows the other."""
    steps = list(read_steps(write(tmp_path / "s.jsonl", CONVERSATION, packed)))
    system, user, call, tool, answer = steps

    assert [s.kind for s in steps] == [Kind.OTHER, Kind.OTHER, Kind.LLM, Kind.TOOL, Kind.LLM]
    assert system.answer is None
    assert user.user_input == "Where are my socks?"
    assert (call.n_calls, call.finish_reason, call.calls[0].name, call.calls[0].form) == (
        1,
        "tool_calls",
        "find_order",
        "ok",
    )
    assert tool.arguments_digest
    assert tool.result_facts is not None
    assert (tool.result_facts.error, tool.failed) == ("text", False)
    assert (answer.answer, answer.n_calls, answer.finish_reason) == ("I could not find it.", 0, "stop")
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(steps))
    assert {s.ref.span_id for s in read_steps(tmp_path / "s.jsonl")} == {s.ref.span_id for s in steps}


def test_a_trace_becomes_steps(tmp_path: Path) -> None:
    """Span ids, parents, times, wrapped arguments and raised errors are read; the last call is the answer, no act."""
    agent, chain, tool, final = read_steps(write(tmp_path / "s.jsonl", TRACED))

    assert (agent.kind, agent.agent, agent.user_input) == (Kind.AGENT, "Boss", "count")
    assert agent.duration_ms == 9000
    assert (chain.kind, chain.parent_id) == (Kind.OTHER, "a" * 16)
    assert (tool.arguments, tool.failed, tool.error_type) == ('{"n":1}', True, "TypeError")
    assert tool.start_ns - agent.start_ns == 2_500_000_000
    assert final.kind is Kind.DECISION


def test_what_a_runtime_logs_after_a_result_is_its_error(tmp_path: Path) -> None:
    """A traceback after the runtime's own log line is raised; one that a program printed is its output."""
    trace = "Traceback (most recent call last):\n  File 'x'\nopenai.BadRequestError: no"
    logged, printed = read_steps(
        write(
            tmp_path / "s.jsonl",
            [
                row(0, "tool", "surfer", result=f"I clicked.\nError processing message\n{trace}"),
                row(1, "tool", "terminal", result=f"exitcode: 1\n{trace}"),
            ],
        )
    )

    assert (logged.failed, logged.error_type) == (True, "openai.BadRequestError")
    assert not printed.failed


def test_traces_bring_the_tools_of_a_run(tmp_path: Path) -> None:
    """Tools and managed agents that a trace names are declared at the outermost agent."""
    traces = write(tmp_path / "t.jsonl", [{"trace_id": "t1", "tools": ["page_down"], "managed_agents": ["helper"]}])
    agent, *_ = read_steps(write(tmp_path / "s.jsonl", TRACED), traces)

    assert agent.declared_tools == {"page_down": None, "helper": None}


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ('{"trace_id": "t", "step": 1}', "line 1", "a step needs"),
        ('{"trace_id": 1, "step": 1, "kind": "llm"}', "line 1", "trace_id is text"),
        ('{"trace_id": "t", "step": 1, "kind": "llm"}\nnonsense', "line 2", "no JSON"),
        ("[1]", "line 1", "not an object"),
    ],
)
def test_what_is_no_step_is_refused(tmp_path: Path, text: str, position: str, reason: str) -> None:
    """The line and what is wrong with it are told."""
    (tmp_path / "s.jsonl").write_text(text)

    with pytest.raises(StepsError, match=reason) as refused:
        read_runs(tmp_path / "s.jsonl")
    assert refused.value.position == position


GZIP_HEADER = 10  # bytes: flags, time and system


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    """A file that ends in the middle is refused, not half read."""
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress(b'{"trace_id": "t", "step": 1, "kind": "llm"}\n' * 50)[:-9])

    with pytest.raises(StepsError, match="gzip"):
        read_runs(tmp_path / "s.jsonl.gz")


def test_replay_takes_step_files_beside_others(tmp_path: Path) -> None:
    """A step file is known by its first line; its findings have the same keys, and one is the first cause."""
    file = write(tmp_path / "s.jsonl.gz", TRACED, packed=True)
    found = list(replay(sources([str(file)], io.BytesIO()), default()))

    assert holds_steps(file)
    assert [f.finding.failure_type for f in found] == ["schema_violation"]
    flat = as_json(found[0])
    assert (flat["run_id"], flat["step"], flat["first_cause"]) == ("t1", 1, True)


def test_replay_tells_the_line_of_a_bad_step(tmp_path: Path) -> None:
    """A later line that is no step ends the replay with its position."""
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(CONVERSATION[0]) + "\n{}\n")

    with pytest.raises(ReplayError, match="line 2"):
        list(replay(sources([str(file)], io.BytesIO()), default()))


DEEP: Any = "end"
for _ in range(600):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "line",
    [
        row(0, "agent", name={"a": 1}, agent="a", result="x"),  # type: ignore[arg-type]
        row(0, "tool", name=["f"], args={"a": [DEEP]}, result="x"),  # type: ignore[arg-type]
        row(0, "tool", "f", args={"sanitize_inputs_outputs": True, "kwargs": {"a": DEEP}}, result="x"),
        row(0, "llm", "m", tool_calls=[{"id": [], "name": {}, "arguments": DEEP}], declared_tools=[{}]),
        row(0, "llm", {}, result=[], start="0001-01-01", end="9999-12-31T23:59:59", input_tokens=2**64),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_values_of_another_type_are_absent_values(tmp_path: Path, line: dict[str, Any]) -> None:
    """A name that is no text, or arguments nested deeper than anyone writes, end no run."""
    (step,) = read_steps(write(tmp_path / "steps.jsonl", [line]))

    assert step.run_id == "t1"


def test_damaged_gzip_is_refused_wherever_the_damage_is(tmp_path: Path) -> None:
    """In the middle or at the end; in the header, where no content stands, it is refused or does no harm."""
    whole = gzip.compress("\n".join(json.dumps(r) for r in CONVERSATION).encode(), mtime=0)
    file = tmp_path / "steps.jsonl.gz"
    file.write_bytes(whole)
    right = list(read_steps(file))
    for at in range(2, len(whole), 7):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        if at >= GZIP_HEADER:
            with pytest.raises(StepsError):
                list(read_steps(file))
        else:
            with contextlib.suppress(StepsError):
                assert list(read_steps(file)) == right
