"""The flow: steps come in, runs remember, detectors look, the policy decides. Live, shadow and replay go this way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from spanward_detector.detectors import Detectors
from spanward_detector.directives import Outcome
from spanward_detector.model import NUMBERED, Directive, Finding, Kind, SpanRef, Step, Tick
from spanward_detector.normalize import Normalizer
from spanward_detector.policy import Clock, Policy, decide
from spanward_detector.runs import Run, Runs
from spanward_detector.semantic.question import Question, question

if TYPE_CHECKING:
    from spanward_detector.control.codec import AgentRun
    from spanward_detector.ingest import RawLog, RawSpan


class Verdict(NamedTuple):
    """What is to be said about one step.

    Attributes:
        step: that came.
        run: that it belongs to.
        findings: new ones; after a late step also ones at later steps.
        withdrawn: that do not hold any more.
        directive: that follows, at most one.
        outcomes: of earlier repairs, as far as this step tells.
        questions: about final answers, where the policy has a model that judges their meaning.
    """

    step: Step
    run: Run
    findings: tuple[Finding, ...] = ()
    withdrawn: tuple[Finding, ...] = ()
    directive: Directive | None = None
    outcomes: tuple[Outcome, ...] = ()
    questions: tuple[Question, ...] = ()


class Pipeline:
    """Judges steps. One thread uses it; nothing in it waits.

    Args:
        policy: thresholds, ladders, deadlines; may be replaced while it runs.
        normalizer: knows the dialects.
        runs: what is remembered.
        clock: of directives.
        sink: told of each verdict.
    """

    def __init__(
        self,
        policy: Policy,
        normalizer: Normalizer | None = None,
        runs: Runs | None = None,
        clock: Clock | None = None,
        sink: Callable[[Verdict], None] | None = None,
    ) -> None:
        self.normalizer = normalizer or Normalizer()
        self.runs = runs if runs is not None else Runs()
        self.runs.outside = self
        self.clock = clock or Clock()
        self.sink = sink
        self._coming: set[SpanRef] = set()  # of the request at hand
        self.policy = policy

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._policy = policy
        self.detectors = Detectors(policy.configured())
        self._asks = bool(policy.semantic.model)
        self.runs.fleet.failures = policy.breaker.failures
        self.runs.deadlines = {name: tool.timeout for name, tool in policy.tools.items() if tool.timeout}

    def step(self, step: Step) -> Verdict:
        """Judge one step: this is the whole flow."""
        return self._judge(step, self.runs.update(step))

    def _judge(self, step: Step, run: Run) -> Verdict:
        detectors, fleet = self.detectors, self.runs.fleet
        new: list[Finding] = []
        asked: list[Question] = []
        directive = None
        for seen in run.due():  # the step itself; after a late one, those after it too
            if (run.outcome.type or fleet.troubled) and seen.kind is Kind.TOOL:
                fleet.take(seen, run.outcome)
            try:
                found = [f for d in detectors.for_kind(seen.kind, run.outcome) if (f := d.observe(seen, run))]
            except Exception:
                found = detectors.one_by_one(seen, run)
            if (fresh := run.record(found)) and not run.directed and directive is None:
                directive = decide(self._policy, run, seen, fresh, self.clock)
                run.directed = directive is not None
            new += fresh
            if self._asks and (about := question(seen, run, found)) is not None:
                asked.append(about)
        outcomes = tuple(run.repair.follow(step, new)) if run.repair.open else ()
        verdict = Verdict(step, run, tuple(new), run.take_withdrawn(), directive, outcomes, tuple(asked))
        if self.sink is not None:
            self.sink(verdict)
        return verdict

    # -------------------------------------------------------------------------------------------------- what comes in

    def spans(self, spans: Iterable[RawSpan]) -> list[Verdict]:
        """Judge the spans of one request: requests and agents first, then steps in their order."""
        steps = [step for span in spans for step in self.normalizer.steps(span)]
        self._coming = {step.ref for step in steps if step.kind in NUMBERED}
        if len(steps) > 1:
            steps.sort(key=_order)
        return [self.step(step) for step in steps]

    def logs(self, logs: Iterable[RawLog]) -> list[Verdict]:
        """Judge again the steps that log records complete."""
        steps = self.normalizer.logs(logs)
        verdicts = []
        for step in steps:
            run = self.runs.revise(step) or self.runs.update(step)
            if step.kind is Kind.LLM:
                shown = [s.ref.span_id for s in steps if s.extra.get("llm") == step.ref.span_id]
                run.only(step.ref.span_id, shown)
            verdicts.append(self._judge(step, run))
        return verdicts

    def tick(self, run_id: str, tick: Tick) -> Verdict | None:
        """Let time pass for a run; None when nothing is known of it."""
        run = self.runs.get(run_id)
        if run is None:
            return None
        ref = SpanRef(next(iter(run.trace_ids), ""), "")
        return self.step(
            Step(
                Kind.TICK, ref, None, run_id, tick.now_ns, tick.now_ns, "clock", "", "tick", agent=run.agent, tick=tick
            )
        )

    def settle(self, run_id: str) -> Verdict | None:
        """Judge a run that has been quiet since its end: nothing more is expected to come."""
        run = self.runs.get(run_id)
        if run is None:
            return None
        run.refresh()
        before = self._judge(Step(Kind.OTHER, run.last_ref(), None, run_id, 0, 0, "", "", "settle"), run)
        closing = self.tick(run_id, Tick(run.last_ns, run_open=False))
        if closing is None:
            return before
        return closing._replace(
            findings=before.findings + closing.findings,
            withdrawn=before.withdrawn + closing.withdrawn,
            directive=before.directive or closing.directive,
            questions=before.questions + closing.questions,
        )

    # ------------------------------------------------------------------------------------------------ who knows what

    def find(self, run_id: str) -> Run | None:
        """The run, when it is in memory."""
        return self.runs.get(run_id)

    def register(self, told: AgentRun) -> Run:
        """Take an agent's word for a run of its own."""
        return self.runs.open(
            told.run_id,
            agent=told.agent,
            conversation_id=told.conversation_id,
            max_steps=told.max_steps,
            max_tokens=told.max_tokens,
        )

    def complete(self, step: Step) -> bool:
        """Add to a step what other spans have told since; True when it has changed."""
        return self.normalizer.complete(step)

    def parent_of(self, ref: SpanRef) -> str | None:
        """Parent of a span that is no step. The parent of a request may be a step that is only about to be judged."""
        return None if ref in self._coming else self.normalizer.parents.get(ref)


def _order(step: Step) -> tuple[bool, int, str]:
    return (step.kind in NUMBERED, step.start_ns, step.ref.span_id)
