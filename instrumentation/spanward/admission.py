"""Whether a tool call may be made at all: breaker, allow-lists, scope, schema, approval.

All of it is decided here without asking anybody, but for approval; and approval fails closed. There are two
allow-lists: this process's own, and the policy's, which says of arguments, too, what they may be. Before a policy has
come nothing of it holds. Its RE2 patterns hold where ``re2`` can be imported, else the detector judges them afterwards;
see :mod:`spanward.facts.allow`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

from spanward import semconv
from spanward.feedback import render
from spanward.gate import OBEYED, close_step, obey, open_step, safe_point
from spanward.ops import Approval, Invoke, Op, Outcome
from spanward.runtime import DELIVERED
from spanward.steering import Attempt

if TYPE_CHECKING:
    from spanward.facts.scope import Outside

REFUSAL_TEMPLATES: Final[Mapping[semconv.Refusal, str]] = {
    "paused": "paused",
    "breaker": "circuit_open",
    "not_allowed": "unsafe_action",
    "scope": "unsafe_action",
    "schema": "schema_violation",
    "not_approved": "not_approved",
    "no_run": "not_approved",
    "detector_away": "circuit_open",
    "internal": "circuit_open",
}
"""What the model is told of a call that was not made, by template."""
_OUTSIDE: Final[Mapping[semconv.Refusal, str]] = {
    "scope": "it reaches {} outside of the scope of this run",
    "not_allowed": "the policy does not allow this {}",
}


def claim(attempt: Attempt) -> None:
    """Finds the model's own call that this is, so that it is one step."""
    call = attempt.call
    if not call.call_id and (pending := call.run.pending.claim(call.spec.name, attempt.digest)) is not None:
        call.call_id, call.raw, call.form = pending.call_id, pending.raw, pending.form


def refusal(attempt: Attempt, *, may_move: bool) -> semconv.Refusal | None:
    """Why the call must not be made, or None. ``may_move``: the run is not paused."""
    call = attempt.call
    runtime, spec = call.run.runtime, call.spec
    if not may_move and spec.effects:
        return "paused"
    if (open_s := runtime.policy.breaker_open_s(spec.name)) > 0:
        attempt.open_s = open_s
        return "breaker"
    if runtime.settings.allowed_tools and spec.name not in runtime.settings.allowed_tools:
        return "not_allowed"
    lists = runtime.policy.lists
    if lists is not None and (unlisted := lists.outside(spec.name, attempt.arguments)):
        attempt.outside = unlisted
        return "not_allowed"
    if call.run.scopes and (outside := _outside(attempt)) is not None:
        attempt.outside = outside.aspect
        return "scope"
    if attempt.violation:
        return "schema"
    if call.implicit and spec.side_effect == "high_risk":
        return "no_run"
    if runtime.policy.fails_closed(spec.name) and not runtime.connected:
        return "detector_away"
    return None


def _outside(attempt: Attempt) -> Outside | None:
    """What the call would touch outside of the run's scope, or of that of a run around it."""
    from spanward.facts.reach import touched  # deferred: most runs state no scope
    from spanward.facts.scope import real

    reached = touched(attempt.arguments)
    found = (scope.first_outside(reached, real) for scope in attempt.call.run.scopes)
    return next((outside for outside in found if outside is not None), None)


def refusal_text(attempt: Attempt, refused: semconv.Refusal) -> str:
    """What the model is told of a call that was not made."""
    slots: dict[str, str | int | float] = {"tool": attempt.call.spec.name, "violation": attempt.violation}
    if attempt.outside and (said := _OUTSIDE.get(refused)):
        slots["violation"] = said.format(attempt.outside)
    if attempt.open_s:
        slots["seconds"] = max(1, round(attempt.open_s))
    return render(REFUSAL_TEMPLATES[refused], slots, attempt.local())


def approved(attempt: Attempt) -> Generator[Op, Any, bool]:
    """Asks for leave to do exactly this, once. Whatever goes wrong, and silence, mean no."""
    run, spec = attempt.call.run, attempt.call.spec
    runtime, approver = run.runtime, run.runtime.approver
    decision = run.approvals.pop(attempt.digest, None)
    if decision is None and approver is not None:
        arguments = attempt.arguments
        outcome: Outcome = yield Invoke(None, fn=lambda _: approver(spec.name, arguments), label="approver")
        # A coroutine that nobody awaited, or any other object, is not a yes.
        return outcome.error is None and outcome.value is True
    if decision is None and runtime.connected:
        yield from _ask(attempt)
        decision = run.approvals.pop(attempt.digest, None)
    if decision is None and runtime.settings.approval_wait_s:
        decision = yield Approval(run, attempt.digest, runtime.settings.approval_wait_s)
        run.approvals.pop(attempt.digest, None)
        yield from safe_point(run)
    return decision is True


def _ask(attempt: Attempt) -> Generator[Op, Any, None]:
    """A validation step that waits for the detector: it knows who decides."""
    run, spec = attempt.call.run, attempt.call.spec
    runtime = run.runtime
    try:
        attributes = {
            semconv.SIDE_EFFECT: spec.side_effect,
            semconv.PAYLOAD_DIGEST: attempt.digest,
            semconv.APPROVAL_OF: attempt.digest,
        }
        step = open_step(run, f"approve {spec.name}", attributes, kind="validation", action=spec.name)
    except Exception:
        runtime.internal_error("approval")
        return
    verdict = yield from close_step(step, {}, suspicious=True)
    directive = verdict.directive
    if directive is None or not runtime.accept(directive, run, (attempt.digest,)):
        return
    if directive.kind in OBEYED:
        yield from obey(run, directive)
    elif directive.kind in ("approve", "deny"):
        reason = DELIVERED[directive.kind](runtime, run, directive)
        runtime.settle(directive, "rejected" if reason else "applied", reason, before=attempt.digest)
    else:
        runtime.settle(directive, "rejected", "unsupported")
