"""Arguments of a tool call that are not the JSON object that they have to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward.repair import repair_arguments

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.detectors.truncated_output import cut_off
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step, ToolCall
from spanward_detector.outcome import BAD_FORMS

if TYPE_CHECKING:
    from spanward_detector.run import Run


def _repairs(step: Step, call: ToolCall) -> tuple[str, ...]:
    """Repairs that would make the call valid: as the gate found, else tried here on the content."""
    if step.arguments_facts is not None and step.arguments_facts.repairs:
        return step.arguments_facts.repairs
    if call.arguments is None:
        return ()
    repaired = repair_arguments(call.arguments, schema=None)
    return repaired.repairs if repaired is not None else ()


@dataclass(frozen=True, slots=True)
class InvalidArguments:
    """Malformed, cut off, encoded twice, not an object, or with numbers that JSON does not have.

    Seen at the model's reply, before the call is made, and again at a call that was made with them. A reply that the
    token limit cut off is ``truncated_output`` instead.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "invalid_arguments"
    failure_types: ClassVar[tuple[str, ...]] = ("invalid_arguments",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "odd"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.kind is Kind.TOOL:
            given = step.arguments_facts
            if given is None or given.form not in BAD_FORMS or run.outcome.type not in ("", self.name):
                return None
            return finding(
                self,
                step,
                run,
                f"the arguments of {step.action} are {_spoken(given.form)}",
                severity="error" if run.outcome.type else "warning",
                facts={"form": given.form, "repairs": ",".join(given.repairs)},
            )
        if not step.calls or cut_off(step):
            return None
        bad = [call for call in step.calls if call.form in BAD_FORMS]
        if not bad:
            return None
        call = bad[0]
        return finding(
            self,
            step,
            run,
            f"the model wrote {_spoken(call.form or '')} arguments" + (f" for {call.name}" if call.name else ""),
            facts={
                "tool": call.name,
                "form": call.form or "",
                "calls": len(step.calls),
                "bad_calls": len(bad),
                "repairs": ",".join(_repairs(step, call)),
            },
            action=call.name or step.action,
        )


def _spoken(form: str) -> str:
    return form.replace("_", " ")
