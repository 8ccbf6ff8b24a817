"""Recorded runs as files of steps: one step a line, and beside it one trace a line. Both may be gzipped."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import orjson
from spanward.facts import answer_facts, arguments_facts, digest, foreign_text_tool, result_facts

from spanward_detector.model import Kind, SpanRef, Step, ToolCall
from spanward_detector.normalize.messages import dump
from spanward_detector.normalize.reading import CONTROL_FLOW, TIMEOUTS, class_name

KEYS: Final = frozenset({"trace_id", "step", "kind"})
"""Keys that every step has: by them such a file is told from OTLP."""
DIALECT: Final = "steps"

_GZIP_MAGIC: Final = b"\x1f\x8b"
_LONGEST_LINE: Final = 64 * 2**20
_EPOCH_NS: Final = 1_700_000_000_000_000_000
_STEP_NS: Final = 1_000_000_000
"""Steps without times are a second apart."""
_FINAL_ANSWER: Final = "final_answer"
_SPEAKERS: Final = frozenset({"system"})
_MOST_SAID: Final = 64
_ERROR: Final = re.compile(r"\s{0,4}([A-Za-z_][\w.]{0,120}):\s")
_RAISED: Final = re.compile(r"\nTraceback \(most recent call last\):\n")
_LAST_ERROR: Final = re.compile(r"\n([A-Za-z_][\w.]{0,120}(?:Error|Exception|Timeout|Exit|Interrupt))\b:?")


class StepsError(ValueError):
    """A step file that cannot be read.

    Attributes:
        position: the line, e.g. ``line 3``.
        reason: what is wrong with it.
    """

    def __init__(self, position: str, reason: str) -> None:
        super().__init__(f"{position}: {reason}")
        self.position = position
        self.reason = reason


@dataclass(slots=True)
class Recorded:
    """One recorded run.

    Attributes:
        id: of the trace.
        rows: its steps as they stand in the file, in order.
        trace: its line in the file of traces; empty when there is none.
    """

    id: str
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    trace: Mapping[str, Any] = field(default_factory=dict)


def is_step(line: Mapping[str, object]) -> bool:
    """Whether an object is a step of such a file."""
    return line.keys() >= KEYS


def holds_steps(file: Path) -> bool:
    """Whether a file holds steps: its first line is one. False for a file that cannot be read."""
    try:
        first = next(_lines(file), None)
    except (OSError, StepsError):
        return False
    return first is not None and is_step(first[1])


def read_runs(steps_file: Path, traces_file: Path | None = None) -> list[Recorded]:
    """All runs of a file of steps, in the order in which they appear.

    Raises:
        StepsError: a line is no step, or no trace.
        OSError: a file cannot be opened.
    """
    runs: dict[str, Recorded] = {}
    for row in read_rows(steps_file):
        runs.setdefault(row["trace_id"], Recorded(row["trace_id"])).rows.append(row)
    for position, trace in _lines(traces_file) if traces_file is not None else ():
        if not isinstance(trace.get("trace_id"), str):
            raise StepsError(position, "a trace needs trace_id")
        if (run := runs.get(trace["trace_id"])) is not None:
            run.trace = trace
    for run in runs.values():
        run.rows.sort(key=lambda row: int(row["step"]))
    return list(runs.values())


def read_steps(steps_file: Path, traces_file: Path | None = None) -> Iterator[Step]:
    """The steps of a file as the pipeline takes them, run after run.

    Raises:
        StepsError: a line is no step, or no trace.
        OSError: a file cannot be opened.
    """
    for run in read_runs(steps_file, traces_file):
        yield from steps_of(run)


def read_rows(steps_file: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of a file of steps."""
    for position, row in _lines(steps_file):
        if not is_step(row):
            raise StepsError(position, "a step needs trace_id, step and kind")
        if not isinstance(row["trace_id"], str) or not isinstance(row["step"], int):
            raise StepsError(position, "trace_id is text and step a number")
        yield row


def _lines(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with file.open("rb") as raw:
        packed = raw.peek(2)[:2] == _GZIP_MAGIC
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else cast(BinaryIO, raw)
        number = 0
        while True:
            try:
                line = stream.readline(_LONGEST_LINE)
            except (EOFError, OSError, zlib.error) as error:
                raise StepsError(f"line {number + 1}", f"damaged gzip data: {error}") from None
            if not line:
                return
            number += 1
            if not line.strip():
                continue
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise StepsError(f"line {number}", f"no JSON: {error}") from None
            if not isinstance(value, dict):
                raise StepsError(f"line {number}", "not an object")
            yield f"line {number}", value


# ---------------------------------------------------------------------------------------------------- rows to steps


def ref_of(row: Mapping[str, Any]) -> SpanRef:
    """Key of a step: its span's id, or one made from its place where the file has none."""
    span_id = row.get("span_id")
    if not isinstance(span_id, str) or not span_id:
        span_id = hashlib.sha256(f"{row['trace_id']}\0{row['step']}".encode()).hexdigest()[:16]
    return SpanRef(row["trace_id"], span_id)


def steps_of(run: Recorded) -> list[Step]:
    """The steps of one recorded run."""
    traced = any(row.get("parent_span_id") for row in run.rows)
    timed = any(row.get("start") for row in run.rows)
    made: list[Step] = []
    for row in run.rows:
        # Where only some steps have times, one without comes right after the one before.
        before = made[-1].start_ns if made else _EPOCH_NS
        made.append(_step(row, before + (1 if timed else _STEP_NS), traced))
    tools = [*_names(run.trace.get("tools")), *_names(run.trace.get("managed_agents"))]
    outermost = next((step for step in made if step.kind is Kind.AGENT), made[0] if made else None)
    if tools and outermost is not None:
        outermost.declared_tools = dict.fromkeys(tools)
    _say(made, run.rows)
    return made


def _say(made: Sequence[Step], rows: Sequence[Mapping[str, Any]]) -> None:
    """What the system and the user said before a model call is what the model was told."""
    said: list[tuple[str, str]] = []
    for step, row in zip(made, rows, strict=True):
        speaker = "user" if row["kind"] == "user" else "system" if _text(row.get("name")) in _SPEAKERS else ""
        if speaker and (text := _text(row.get("result"))):
            said.append((speaker, text))
        elif step.kind is Kind.LLM:
            step.said = tuple(said[-_MOST_SAID:])


def _step(row: Mapping[str, Any], otherwise_ns: int, traced: bool) -> Step:
    kind = _kind(row, traced)
    start = _ns(row.get("start"), otherwise_ns)
    end = max(start, _ns(row.get("end"), start + _STEP_NS // 2))
    name = _text(row.get("name")) or ""
    agent = _text(row.get("agent")) or ""
    step = Step(
        kind=kind,
        ref=ref_of(row),
        parent_id=_text(row.get("parent_span_id")),
        run_id=row["trace_id"],
        start_ns=start,
        end_ns=end,
        dialect=DIALECT,
        scope="",
        name=name,
        # In a trace the name of the agent stands at its own span, and steps get it from there.
        agent=name.removesuffix(".run") if kind is Kind.AGENT else "" if traced else agent,
        action=name,
        extra={"agent_stated": True} if agent and not traced else {},
        input_tokens=_count(row.get("input_tokens")),
        output_tokens=_count(row.get("output_tokens")),
    )
    _SET.get(kind, _set_other)(step, row)
    return step


def _kind(row: Mapping[str, Any], traced: bool) -> Kind:
    stated = row["kind"]
    if stated == "llm":
        return Kind.LLM
    if stated == "tool":
        return Kind.DECISION if row.get("name") == _FINAL_ANSWER else Kind.TOOL
    if stated == "agent":
        if traced:
            return Kind.AGENT
        return Kind.OTHER if _text(row.get("name")) in _SPEAKERS else Kind.DECISION
    return Kind.OTHER


def _set_failure(step: Step, row: Mapping[str, Any]) -> None:
    """What an exception left behind; an error that is the result itself was returned, not raised."""
    error, result = _text(row.get("error")), _text(row.get("result"))
    if error and not result:
        found = _ERROR.match(error)
        step.error_type, step.error_text = (found[1] if found else "Error"), error
        step.failed = True
    elif result and (raised := _RAISED.search(result)) is not None and _is_log(result, raised.start()):
        classes = _LAST_ERROR.findall(result, raised.end())
        step.error_type, step.error_text = (classes[-1] if classes else "Error"), result[raised.start() :].strip()
        step.failed = True
    name = class_name(step.error_type)
    step.control_flow, step.timed_out = name in CONTROL_FLOW, name in TIMEOUTS


def _is_log(result: str, at: int) -> bool:
    """The runtime's own log line stands before the traceback: it is about this step, and not what a tool printed."""
    line = result[:at].rsplit("\n", 1)[-1]
    return line.startswith("Error processing")


def _set_tool(step: Step, row: Mapping[str, Any]) -> None:
    _set_failure(step, row)
    arguments, result = _arguments(row.get("args")), _text(row.get("result"))
    if arguments is not None:
        step.arguments, step.arguments_digest = arguments, digest(arguments)
        if arguments.lstrip().startswith("{"):  # where agents talk, it is a message and no call
            step.arguments_facts = arguments_facts(arguments)
    if result is not None:
        step.result, step.result_digest = result, digest(result)
    if result is not None or step.failed:
        error = step.error_text if step.failed else None
        step.result_facts = result_facts(
            result, error=error, foreign_text=foreign_text_tool(step.action, step.arguments)
        )


def _set_llm(step: Step, row: Mapping[str, Any]) -> None:
    _set_failure(step, row)
    stated = row.get("tool_calls")
    if isinstance(stated, list):
        step.calls = tuple(_call(call) for call in stated if isinstance(call, Mapping))
        step.n_calls = len(step.calls)
        step.finish_reason = "tool_calls" if step.calls else "stop"
    tools = _names(row.get("declared_tools"))
    if tools:
        step.declared_tools = dict.fromkeys(tools)
        step.unknown_tools = tuple(call.name for call in step.calls if call.name not in step.declared_tools)
    answer = _text(row.get("result"))
    if answer is not None and not step.failed:
        step.answer, step.answer_facts = answer, answer_facts(answer)
    step.model = step.action


def _set_agent(step: Step, row: Mapping[str, Any]) -> None:
    task = _parsed(row.get("args"))
    step.user_input = _text(task.get("task")) if isinstance(task, Mapping) else _text(row.get("args"))
    answer = _text(row.get("result"))
    if answer is not None:
        step.answer, step.answer_facts = answer, answer_facts(answer)
    _set_failure(step, row)


def _set_other(step: Step, row: Mapping[str, Any]) -> None:
    text = _text(row.get("result"))
    if row["kind"] == "user":
        step.user_input = text
    elif text is not None and step.kind is Kind.DECISION:
        _set_failure(step, row)
        step.answer, step.answer_facts = text, answer_facts(text)


_SET: Final = {Kind.TOOL: _set_tool, Kind.LLM: _set_llm, Kind.AGENT: _set_agent}


def _call(call: Mapping[str, Any]) -> ToolCall:
    arguments = call.get("arguments")
    text = dump(arguments)
    form = arguments_facts(text).label if text is not None else None
    return ToolCall(str(call.get("id") or ""), str(call.get("name") or ""), text, form)


def _arguments(raw: object) -> str | None:
    """Arguments as text, out of the envelope that smolagents puts around them."""
    if raw is None:
        return None
    value = _parsed(raw)
    if isinstance(value, Mapping) and "sanitize_inputs_outputs" in value and "kwargs" in value:
        positional, named = value.get("args"), value["kwargs"]
        inner = {"args": positional, **named} if positional and isinstance(named, Mapping) else named
        return dump(inner)
    return dump(raw)


def _parsed(raw: object) -> object:
    if not isinstance(raw, str):
        return raw
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _names(tools: object) -> Sequence[str]:
    return [tool for tool in tools if isinstance(tool, str)] if isinstance(tools, list) else ()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _ns(value: object, default: int) -> int:
    if not isinstance(value, str):
        return default
    try:
        return int(datetime.fromisoformat(value).timestamp() * 1e6) * 1000
    except (ValueError, OverflowError):
        return default
