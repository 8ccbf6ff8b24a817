"""Well-formed arguments or results that break the tool's JSON Schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding
from spanward_detector.detectors.truncated_output import cut_off
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.outcome import BAD_FORMS

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class SchemaViolation:
    """A wrong type, a missing or an invented parameter, a value out of range; a boolean is not an integer.

    A call that worked all the same is information only: its tool is more lenient than its schema.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "schema_violation"
    failure_types: ClassVar[tuple[str, ...]] = ("schema_violation",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "odd"

    mode: Mode = "act"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        if step.kind is Kind.LLM:
            return self._reply(step, run)
        given, got = step.arguments_facts, step.result_facts
        if got is not None and got.schema and not run.outcome.type:
            return finding(
                self,
                step,
                run,
                f"the result of {step.action} breaks its schema ({got.schema})",
                facts={"violation": got.schema, "side": "result"},
            )
        violation = given.schema if given is not None and given.form not in BAD_FORMS else ""
        if run.outcome.type != self.name and (run.outcome.type or not violation):
            return None
        return finding(
            self,
            step,
            run,
            f"the arguments of {step.action} break its schema" + (f" ({violation})" if violation else ""),
            severity="error" if run.outcome.type else "info",
            facts={
                "violation": violation,
                "side": "arguments",
                "repairs": ",".join(given.repairs) if given is not None else "",
            },
        )

    def _reply(self, step: Step, run: Run) -> Finding | None:
        if not step.calls or cut_off(step):
            return None
        bad = [call for call in step.calls if call.form == "schema"]
        if not bad or any(call.form in BAD_FORMS for call in step.calls):
            return None
        facts = step.arguments_facts
        return finding(
            self,
            step,
            run,
            f"the model's arguments for {bad[0].name} break its schema",
            severity="warning",
            facts={
                "tool": bad[0].name,
                "calls": len(step.calls),
                "bad_calls": len(bad),
                "repairs": ",".join(facts.repairs) if facts is not None else "",
            },
            action=bad[0].name,
        )
