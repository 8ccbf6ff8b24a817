"""The cross-check of a tool: a second source, or a read after the write, as a validation step of its own."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from spanward import semconv
from spanward.checklist import judged, verdict_attributes
from spanward.gate import close_step, end_step, open_step
from spanward.ops import Invoke, Op, Outcome

if TYPE_CHECKING:
    from spanward.ports import Verdict
    from spanward.steering import Attempt


def cross_checked(attempt: Attempt) -> Generator[Op, Any, Verdict]:
    """Asks the tool's ``cross_check`` whether its result holds, and waits for the verdict on the answer.

    A check that raises, or returns None, settles nothing.
    """
    run, spec, returned = attempt.call.run, attempt.call.spec, attempt.outcome.value
    check = spec.cross_check
    attributes: dict[str, Any] = {
        semconv.CHECK_KIND: "cross_check",
        semconv.CHECK_HARD: True,
        semconv.PAYLOAD_DIGEST: attempt.digest,
        semconv.SIDE_EFFECT: spec.side_effect,
    }
    step = open_step(run, f"validate {spec.name}", attributes, kind="validation", action=spec.name)

    def ask(arguments: Any) -> Any:
        return None if check is None else check(returned, **arguments)

    try:
        outcome: Outcome = yield Invoke(attempt.arguments, fn=ask, label=spec.name)
    except BaseException as stop:
        end_step(step, {}, stop)
        raise
    silent = outcome.error is None and outcome.value is None
    passed, reason = (None, "unknown") if silent else judged(outcome, said=True)
    return (
        yield from close_step(
            step, verdict_attributes(passed, reason), suspicious=passed is False, defer=attempt.record
        )
    )
