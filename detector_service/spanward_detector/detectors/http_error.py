"""An HTTP request ended with a status of 400 or above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward_detector.detectors.base import ACTED, On, finding, weight
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class HttpError:
    """The last request of a failed call got an error status; earlier ones were retried and do not count.

    A tool that got an error status and still worked has dealt with it: information only, unless it returned nothing. So
    is a tool's first status that passes by itself as a rule (502, 503, 504, ...), where no gate waits to call again.

    Attributes:
        mode: observe or act.
        from_status: lowest status that counts.
    """

    name: ClassVar[str] = "http_error"
    failure_types: ClassVar[tuple[str, ...]] = ("http_error",)
    kinds: ClassVar[frozenset[Kind]] = ACTED
    on: ClassVar[On] = "odd"

    mode: Mode = "act"
    from_status: int = 400

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        outcome = run.outcome
        if outcome.type:
            if outcome.type != self.name:
                return None
            evidence = (*(a.span_id for a in step.http[-8:]), step.ref.span_id)
            status = f" with status {outcome.status}" if outcome.status else ""
            return finding(
                self, step, run, f"{step.action} failed{status}", severity=weight(step, run), evidence=evidence
            )
        if not step.http or step.kind is not Kind.TOOL:
            return None
        last = step.http[-1]
        if last.status < self.from_status:
            return None
        nothing = step.result_facts is not None and step.result_facts.empty
        facts: dict[str, str | int | float] = {"status": last.status}
        if last.retry_after_ms is not None:
            facts["retry_after_ms"] = last.retry_after_ms
        return finding(
            self,
            step,
            run,
            f"a request of {step.action} got status {last.status}" + (" and it returned nothing" if nothing else ""),
            severity="warning" if nothing else "info",
            facts=facts,
            evidence=(last.span_id, step.ref.span_id),
        )
