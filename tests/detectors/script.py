"""A run written down as a script, on a clock of its own; a case says what is found where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spanward.facts import answer_facts, arguments_facts, digest, result_facts
from spanward_detector.model import Finding, HttpAttempt, InFlight, Kind, SpanRef, Step, Tick, ToolCall
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import Policy, load

START_NS = 1_790_000_000_000_000_000
TRACE = "ab" * 16
RUN = "run-1"
ROOT = "f" * 16


def _seconds(value: float) -> int:
    return round(value * 1e9)


@dataclass
class Script:
    """Makes steps one after the other.

    Attributes:
        now_ns: end of the last step.
        gap_s: time between a step and the next.
        content: steps carry arguments, results and answers; else only what the gate tells of them.
    """

    now_ns: int = START_NS
    gap_s: float = 0.2
    content: bool = True
    steps: list[Step] = field(default_factory=list)

    def _place(self, step: Step, took_s: float, at_s: float | None) -> Step:
        start = self.now_ns + _seconds(self.gap_s) if at_s is None else START_NS + _seconds(at_s)
        step.start_ns, step.end_ns = start, start + _seconds(took_s)
        self.now_ns = max(self.now_ns, step.end_ns)
        self.steps.append(step)
        return step

    def _step(self, kind: Kind, action: str, parent: str | None, agent: str) -> Step:
        ref = SpanRef(TRACE, f"{len(self.steps) + 1:016x}")
        return Step(kind, ref, parent, RUN, 0, 0, "spanward", "spanward", action, agent=agent, action=action)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ns += _seconds(seconds)

    def tool(
        self,
        action: str = "look",
        arguments: str | None = '{"q": 1}',
        result: str | None = "ok",
        *,
        error: str = "",
        text: str | None = None,
        is_error: bool | None = None,
        schema: Mapping[str, Any] | None = None,
        media_type: str | None = None,
        status: int = 0,
        retry_after_ms: int | None = None,
        took_s: float = 0.5,
        at_s: float | None = None,
        parent: str | None = ROOT,
        agent: str = "agent",
        **more: Any,
    ) -> Step:
        """A tool call; ``error`` is the class that it raised, ``status`` that of its last request."""
        from spanward.facts import Schema

        step = self._step(Kind.TOOL, action, parent, agent)
        compiled = Schema.of(dict(schema)) if schema is not None else None
        if arguments is not None:
            step.arguments_digest = digest(arguments)
            step.arguments_facts = arguments_facts(arguments, schema=compiled)
        if error:
            step.failed, step.error_type, step.error_text = True, error, text if self.content else None
            step.timed_out = "Timeout" in error
            step.result_facts = result_facts(None, error=text or error)
        elif result is not None:
            step.result_digest = digest(result)
            step.result_facts = result_facts(result, is_error=is_error, media_type=media_type)
        if self.content:
            step.arguments, step.result = arguments, None if error else result
        self._place(step, took_s, at_s)
        if status:
            step.http = (HttpAttempt(status, retry_after_ms, "e" * 16, step.start_ns, None),)
        for name, value in more.items():
            setattr(step, name, value)
        return step

    def llm(
        self,
        answer: str | None = None,
        calls: Sequence[ToolCall] = (),
        *,
        error: str = "",
        text: str | None = None,
        json_expected: bool = False,
        status: int = 0,
        took_s: float = 1.0,
        at_s: float | None = None,
        parent: str | None = ROOT,
        agent: str = "agent",
        **more: Any,
    ) -> Step:
        """A model call that answers, calls tools, or fails."""
        step = self._step(Kind.LLM, "m-1", parent, agent)
        if error:
            step.failed, step.error_type, step.error_text = True, error, text
            step.timed_out = "Timeout" in error
        else:
            step.calls, step.n_calls = tuple(calls), len(calls)
            step.finish_reason = "tool_calls" if calls else "stop"
            if answer is not None:
                step.answer_facts = answer_facts(answer, json_expected=json_expected)
                step.answer = answer if self.content else None
        step.input_tokens, step.output_tokens = 100, 20
        self._place(step, took_s, at_s)
        if status:
            step.http = (HttpAttempt(status, None, "e" * 16, step.start_ns, None),)
        for name, value in more.items():
            setattr(step, name, value)
        return step

    def decision(self, action: str = "plan", arguments: str = "", reason: str = "") -> Step:
        """A decision."""
        step = self._step(Kind.DECISION, action, ROOT, "agent")
        step.arguments_digest, step.reason = digest(arguments) if arguments else "", reason
        return self._place(step, 0.1, None)

    def agent(self, span_id: str = ROOT, parent: str | None = None, name: str = "agent", **more: Any) -> Step:
        """The span of an agent around everything so far."""
        step = self._step(Kind.AGENT, name, parent, name)
        step.ref = SpanRef(TRACE, span_id)
        step.start_ns, step.end_ns = START_NS, self.now_ns
        step.is_root = parent is None
        for key, value in more.items():
            setattr(step, key, value)
        self.steps.append(step)
        return step

    def tick(self, *in_flight: InFlight, **more: Any) -> Step:
        """A heartbeat."""
        step = self._step(Kind.TICK, "", None, "agent")
        step.tick = Tick(self.now_ns, in_flight, **more)
        self.steps.append(step)
        return step


def in_flight(
    action: str = "look", age_s: float = 1.0, timeout_s: float = 0.0, interruptible: bool = False
) -> InFlight:
    """A call in flight."""
    return InFlight("c" * 16, "tool", action, round(age_s * 1000), timeout_s, interruptible, ("app.py:7 look",))


@dataclass(frozen=True)
class Case:
    """One scenario of one detector.

    Attributes:
        name: what happens, in a few words.
        write: writes the script.
        at: numbers of the steps at which the detector speaks; empty = it stays quiet (information is allowed).
        severity: of what it says first.
        facts: that its first finding has, among others.
        rules: thresholds that the policy sets.
        mode: of its first finding, where that matters.
        policy: text of a policy, for rules that are made of a section of their own.
    """

    name: str
    write: Callable[[Script], object]
    at: tuple[int, ...] = ()
    severity: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    rules: Mapping[str, object] = field(default_factory=dict)
    mode: str = ""
    policy: str = ""


def found(case: Case, detector: str) -> list[Finding]:
    """What a detector finds in a case, once the run has settled; in order of the steps."""
    script = Script()
    case.write(script)
    policy = load(case.policy) if case.policy else Policy()
    pipeline = Pipeline(replace(policy, rules={detector: case.rules}) if case.rules else policy)
    for step in script.steps:
        pipeline.step(step)
    pipeline.settle(RUN)
    run = pipeline.find(RUN)
    assert run is not None
    return sorted((f for f in run.findings() if f.rule.partition(".")[0] == detector), key=lambda f: f.step)
