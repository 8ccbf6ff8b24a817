"""The user's own rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import orjson

from spanward_detector.calls import calls_of
from spanward_detector.cel_rules import context, program
from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import NUMBERED, Finding, Kind, Step
from spanward_detector.sections import SECTION, CustomRule

if TYPE_CHECKING:
    from spanward_detector.run import Run

_NONE: Final[frozenset[Kind]] = frozenset()
_NO_RULE: Final = CustomRule()
MAX_TEXT: Final = 16_384
"""Characters of arguments, results and answers that rules see."""
MAX_ITEMS: Final = 64
"""Items of a list or mapping, likewise."""
_MAX_DEPTH: Final = 8
_MAX_INTEGER: Final = 2**63


@dataclass(frozen=True, slots=True)
class Custom:
    """A rule of the section ``custom`` of the policy: a CEL expression that is true where it is broken.

    It sees ``step`` (kind, action, agent, index, attempt, reason, arguments, result, answer, error, status, ...) and
    ``run`` (id, agent, steps, tokens, ...), and may ask ``run.called("a")``, ``run.before("a", "b")`` and
    ``run.count("a", steps)``. The step at hand is included. What the telemetry does not carry is missing: an expression
    that asks for it is not true, so ``has(...)`` tells the two apart.

    Attributes:
        mode: observe or act, for a rule that does not say so itself.
        rule: one entry of the section ``custom`` of the policy.
    """

    name: ClassVar[str] = "custom"
    failure_types: ClassVar[tuple[str, ...]] = ("custom", "unsafe_action")
    kinds: ClassVar[frozenset[Kind]] = NUMBERED
    on: ClassVar[On] = "any"

    mode: Mode = "observe"
    rule: CustomRule = field(default=_NO_RULE, metadata=SECTION)

    @classmethod
    def each(cls, rules: Sequence[CustomRule] = (), **thresholds: Any) -> Iterator[Self]:
        """One detector for each rule, which is compiled here; an idle one where there is none."""
        for rule in rules or (_NO_RULE,):
            if rule.when:
                program(rule.when)
            yield cls(**thresholds, rule=rule)

    @property
    def wanted(self) -> frozenset[Kind]:
        """The kinds that the rule names, and tool calls, which are counted."""
        return frozenset(map(Kind, self.rule.kinds)) | {Kind.TOOL} if self.rule.when else _NONE

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        calls_of(run, self.name).take(step, not run.outcome.type)
        rule = self.rule
        if step.kind not in rule.kinds or not program(rule.when).holds(_context(step, run)):
            return None
        found = finding(
            self,
            step,
            run,
            rule.message or f"rule {rule.name}",
            severity=rule.severity,
            failure_type=rule.failure_type,
            facts={"rule": rule.name},
        )
        return found._replace(rule=f"{self.name}.{rule.name}", mode=rule.mode if rule.severity != "info" else "observe")


_last: tuple[Step, int, Any] | None = None


def _context(step: Step, run: Run) -> Any:
    """What expressions see of a step; made once for all rules that look at it."""
    global _last
    last = _last
    if last is not None and last[0] is step and last[1] == id(run.memory):
        return last[2]
    calls = calls_of(run, Custom.name)
    made = context(
        {"step": _step(step, run), "run": _run(run)},
        {
            "called": lambda _run, tool: calls.called(tool),
            "before": lambda _run, one, other: calls.before(one, other),
            "count": lambda _run, tool, within: calls.count(tool, within),
        },
    )
    _last = (step, id(run.memory), made)
    return made


def _step(step: Step, run: Run) -> dict[str, Any]:
    outcome = run.outcome
    seen: dict[str, Any] = {
        "kind": str(step.kind),
        "action": step.action,
        "agent": step.agent,
        "index": step.index,
        "attempt": step.attempt,
        "reason": step.reason,
        "side_effect": step.side_effect,
        "failed": bool(outcome.type),
        "error": outcome.type,
        "error_type": step.error_type,
        "status": outcome.status,
        "duration_ms": step.duration_ms,
        "input_tokens": step.input_tokens,
        "output_tokens": step.output_tokens,
        "model": step.model,
        "calls": [call.name for call in step.calls[:MAX_ITEMS]],
        "refused": str(step.extra.get("refused") or ""),
    }
    if step.arguments is not None:
        seen["arguments"] = _parsed(step.arguments)
    if step.result is not None:
        seen["result"] = step.result[:MAX_TEXT]
        seen["result_json"] = _parsed(step.result)
    if step.result_facts is not None:
        seen["result_size"] = step.result_facts.size
        seen["result_empty"] = step.result_facts.empty
    if step.answer is not None:
        seen["answer"] = step.answer[:MAX_TEXT]
    if "passed" in step.extra:
        seen["passed"] = step.extra["passed"]
    return seen


def _run(run: Run) -> dict[str, Any]:
    memory = run.memory
    return {
        "id": run.id,
        "agent": run.agent,
        "service": run.service,
        "conversation_id": run.conversation_id,
        "steps": memory.steps,
        "input_tokens": memory.input_tokens,
        "output_tokens": memory.output_tokens,
    }


def _parsed(text: str) -> Any:
    """JSON as rules see it: small enough that no macro takes long; text where it is none."""
    if len(text) > MAX_TEXT:
        return text[:MAX_TEXT]
    try:
        return _capped(orjson.loads(text), 0)
    except orjson.JSONDecodeError:
        return text


def _capped(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {} if depth >= _MAX_DEPTH else {k: _capped(v, depth + 1) for k, v in list(value.items())[:MAX_ITEMS]}
    if isinstance(value, list):
        return [] if depth >= _MAX_DEPTH else [_capped(v, depth + 1) for v in value[:MAX_ITEMS]]
    if isinstance(value, int) and not isinstance(value, bool) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        return float(value)
    return value
