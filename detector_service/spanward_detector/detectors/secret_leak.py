"""Secrets in what an agent passes on or gets to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spanward.facts.credentials import UNPROVEN

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode
from spanward_detector.model import Finding, Kind, Step

if TYPE_CHECKING:
    from spanward_detector.run import Run


@dataclass(frozen=True, slots=True)
class SecretLeak:
    """A call's arguments carry a secret; one in a file, page or mail that was read is noted as information.

    Kinds with a known prefix and form, and a right checksum where they have one; see ``spanward.facts.credentials``.
    A token whose checksum is wrong is information. Placeholders and published samples are no secrets. They are matched
    where the content is, so it need not leave the agent. Whether a secret belongs where it goes cannot be told, so this
    observes unless a policy says otherwise.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "secret_leak"
    failure_types: ClassVar[tuple[str, ...]] = ("secret_leak",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "odd"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        given, got = step.arguments_facts, step.result_facts
        if given is not None and given.secret:
            return finding(
                self,
                step,
                run,
                f"the arguments of {step.action} carry a secret ({given.secret})",
                severity="info" if given.secret == UNPROVEN else "error",
                facts={"pattern": given.secret, "where": "arguments"},
            )
        if got is not None and got.secret:
            return finding(
                self,
                step,
                run,
                f"the result of {step.action} carries a secret ({got.secret})",
                severity="info",
                facts={"pattern": got.secret, "where": "result"},
            )
        return None
