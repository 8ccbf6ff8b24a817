"""What each directive of the repair ladder does to a tool call: retry, other arguments, other text, another tool.

Each is a generator that settles its directive and returns what comes next: another :class:`Attempt`, an
:class:`~spanward.ops.Outcome` that takes the place of the tool's, or None when nothing could be done.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spanward.facts import digest, text_of
from spanward.feedback import degraded, render
from spanward.ops import Invoke, Op, Outcome, Sleep
from spanward.ports import GateDirective, Hold
from spanward.runs import ToolRecord

if TYPE_CHECKING:
    from spanward.gate import OpenStep
    from spanward.runs import Run
    from spanward.tools import ToolSpec


@dataclass(slots=True, eq=False)
class ToolCall:
    """A call that wants to pass the gate.

    Attributes:
        arguments: by parameter name, as the caller wrote them.
        invoke: makes the call; handed ``arguments`` itself unless they were changed.
        call_id: the provider's, when the call is known to be the model's.
        raw: the text of the arguments as the model wrote it, when known.
        form: of that text.
        implicit: made outside any run.
    """

    run: Run
    spec: ToolSpec
    arguments: Mapping[str, Any]
    invoke: Callable[[Any], Any]
    call_id: str = ""
    raw: str | None = None
    form: str = ""
    implicit: bool = False


_NOTHING_YET: Final = Outcome()


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt of a call; its fields are filled in as it goes.

    Attributes:
        digest: of the arguments.
        refused: why the gate did not make the call, or "".
        result_digest: of what came back.
        step: its span, once it has one.
        note: one line for the model about arguments that are not its own.
        violation: of the tool's schema, as :meth:`spanward.schema.Schema.first_violation` says it.
        open_s: for how long the tool's breaker is open yet, seconds.
        outside: what of the run's scope the call would leave: paths, hosts or tables; or what of it the policy does not
            allow: "tool", or "argument" and its name.
    """

    call: ToolCall
    arguments: Mapping[str, Any]
    number: int = 1
    note: str = ""
    digest: str = ""
    refused: str = ""
    outcome: Outcome = _NOTHING_YET
    result_digest: str = ""
    step: OpenStep | None = None
    violation: str = ""
    open_s: float = 0.0
    outside: str = ""

    @property
    def may_repeat(self) -> bool:
        """Nothing has happened yet, or it may happen twice."""
        return bool(self.refused) or self.call.spec.repeatable

    def local(self) -> dict[str, str]:
        """Content for templates. It never leaves the process but as text for the agent's own model."""
        outcome = self.outcome
        said = str(outcome.error) if outcome.error is not None else text_of(outcome.value)
        return {
            "tool": self.call.spec.name,
            "error": said or ("" if outcome.error is None else type(outcome.error).__name__),
            "arguments": self.call.raw if self.call.raw is not None and self.number == 1 else text_of(self.arguments),
            "result": said,
        }

    def render(self, directive: GateDirective) -> str:
        """The text of a feedback directive."""
        payload = directive.payload
        slots = payload.get("slots")
        return render(
            str(payload.get("template") or directive.failure_type),
            slots if isinstance(slots, Mapping) else {},
            self.local(),
        )

    def record(self, hold: Hold | None = None) -> ToolRecord:
        """What a verdict that comes later needs to know."""
        return ToolRecord(
            self.step.span_id if self.step is not None else "",
            self.call.call_id,
            self.call.spec.name,
            (self.digest, self.result_digest),
            self.render,
            hold,
        )


Next = Attempt | Outcome | None
Steering = Generator[Op, Any, Next]


def _settle(attempt: Attempt, directive: GateDirective, after: str, *, before: str = "", reason: str = "") -> None:
    attempt.call.run.runtime.settle(
        directive,
        "applied",
        reason,
        before=before or attempt.result_digest,
        after=after,
        since=attempt.outcome.returned_at,
    )


def _refuse(attempt: Attempt, directive: GateDirective, reason: str) -> None:
    attempt.call.run.runtime.settle(directive, "rejected", reason, since=attempt.outcome.returned_at)


def _digest(attempt: Attempt, value: object) -> str:
    return digest(value, attempt.call.run.runtime.settings.digest_key)


def _retry(attempt: Attempt, directive: GateDirective) -> Steering:
    """The same call again, after a while."""
    if attempt.refused:
        # The same arguments would be refused again.
        _refuse(attempt, directive, "not_called")
        return None
    if not attempt.may_repeat:
        _refuse(attempt, directive, "side_effect")
        return None
    _settle(attempt, directive, attempt.digest, before=attempt.digest)
    delay_ms = directive.payload.get("delay_ms")
    if isinstance(delay_ms, int | float) and delay_ms > 0:
        yield Sleep(attempt.call.run, delay_ms / 1000)
    return Attempt(attempt.call, attempt.arguments, attempt.number + 1, attempt.note)


def _repair_arguments(attempt: Attempt, directive: GateDirective) -> Steering:
    """The same call with arguments whose form is mended. They pass every check again."""
    yield from ()
    call, spec = attempt.call, attempt.call.spec
    if not attempt.may_repeat:
        _refuse(attempt, directive, "side_effect")
        return None
    from spanward.repair import REPAIRS, repair_arguments  # deferred: only for what is broken

    wanted = directive.payload.get("repairs")
    allowed: Sequence[str] = [str(name) for name in wanted] if isinstance(wanted, list | tuple) and wanted else REPAIRS
    raw = call.raw if call.raw is not None and attempt.number == 1 else text_of(attempt.arguments)
    repaired = repair_arguments(raw, schema=spec.schema, allowed=allowed, writes=spec.effects)
    if repaired is None:
        call.run.runtime.settle(directive, "failed", "not_repairable", before=attempt.digest)
        return None
    after = _digest(attempt, repaired.arguments)
    if after == attempt.digest:
        call.run.runtime.settle(directive, "failed", "unchanged", before=after, after=after)
        return None
    _settle(attempt, directive, after, before=attempt.digest)
    # The model's history holds what it wrote; without a word it would reason from arguments that never ran.
    note = render("arguments_repaired", {"repairs": ", ".join(repaired.repairs)}, {"arguments": repaired.text})
    return Attempt(call, repaired.arguments, attempt.number + 1, note)


def _feedback(attempt: Attempt, directive: GateDirective) -> Steering:
    """Text for the model in place of the result."""
    yield from ()
    text = attempt.render(directive)
    _settle(attempt, directive, _digest(attempt, text))
    return attempt.outcome._replace(value=text, error=None, cause="")


def _fallback(attempt: Attempt, directive: GateDirective) -> Steering:
    """Another tool, or an honest "not available"."""
    strategy = str(directive.payload.get("strategy") or "tool_fallback")
    if strategy not in ("tool_fallback", "degraded"):
        _refuse(attempt, directive, "unsupported")
        return None
    outcome, way = yield from stand_in(attempt, use_tool=strategy == "tool_fallback")
    _settle(attempt, directive, _digest(attempt, outcome.value), reason=way)
    return outcome


def stand_in(attempt: Attempt, *, use_tool: bool = True) -> Generator[Op, Any, tuple[Outcome, str]]:
    """What takes the place of a call that cannot be had: the tool's fallback, else a degraded text; and which."""
    spec, run = attempt.call.spec, attempt.call.run
    fallback = spec.fallback if use_tool else None
    returned_at = attempt.outcome.returned_at
    if fallback is not None and (spec.is_async or not inspect.iscoroutinefunction(fallback)):
        chosen = fallback
        outcome: Outcome = yield Invoke(attempt.arguments, fn=lambda arguments: chosen(**arguments), label=spec.name)
        if run.is_over():
            raise run.exit_error()
        if outcome.error is None:
            return outcome._replace(returned_at=returned_at), ""
    text = degraded(spec.name, locale=run.runtime.settings.locale)
    return Outcome(text, None, returned_at), "degraded"


APPLY: Final[Mapping[str, Callable[[Attempt, GateDirective], Steering]]] = {
    "retry": _retry,
    "repair_arguments": _repair_arguments,
    "feedback": _feedback,
    "fallback": _fallback,
}
"""What can be done at a tool's gate. To add one: a generator above and a line here."""
