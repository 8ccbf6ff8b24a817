"""From our failure types to the categories of the labelled sets: one small table per set.

A key is a failure type, or a failure type and what its finding says of the reason (``why`` or ``sign`` of its facts);
the longer key wins. A type that is not in a table has no counterpart in the set and is not counted there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from spanward_detector.model import Finding

Where = Literal["at", "asked", "read"]
"""Step that the set's annotators name: the one of the finding, the model call that asked for it, or the next model
call, which reads it."""


class Label(NamedTuple):
    """A category of a set, and where it is placed."""

    category: str
    where: Where = "at"


Table = Mapping[str, tuple[Label, ...]]


class Rules(NamedTuple):
    """What is known of a labelled set.

    Attributes:
        table: failure types → categories.
        subsets: names in the file → names in the report.
        exhaustive: labels go on to the end of a run. Otherwise annotators stopped at the failure that decided it, and
            what is found after a run's last label is neither right nor wrong.
        onsets: annotators mark where a failure begins: what the same tool's last call had failed with is no new one.
        causes: each run has one decisive step.
    """

    table: Table
    subsets: Mapping[str, str]
    exhaustive: bool = True
    onsets: bool = False
    causes: bool = False


_WRITTEN_BADLY: Final = (Label("Formatting Errors", "asked"),)
_ERROR_SHOWN: Final = (Label("Formatting Errors", "read"),)
_REPEATED: Final = (Label("Resource Abuse"),)
_FROM_MEMORY: Final = (Label("Goal Deviation"), Label("Tool Selection Errors"), Label("Language-only"))
_INVALID_CALL: Final = (Label("Invalid Invocation", "asked"),)
_SYSTEM: Final = (Label("System Failure"),)
_GUARDRAILS: Final = (Label("Guardrails Triggered"),)

# TRAIL's annotators call most errors that a model call is shown a formatting error, and place it at that model call.
TRAIL: Final[Table] = {
    "invalid_arguments": _WRITTEN_BADLY,
    "schema_violation": _WRITTEN_BADLY,
    "unknown_tool": _WRITTEN_BADLY,
    "invalid_json": _WRITTEN_BADLY,
    "tool_error": _ERROR_SHOWN,
    "silent_error": _ERROR_SHOWN,
    "environment_error": _ERROR_SHOWN,
    "http_error": (Label("Service Errors"),),
    "auth_error": (Label("Authentication Errors"),),
    "rate_limited": (Label("Rate Limiting"),),
    "timeout": (Label("Timeout Issues"),),
    "context_overflow": (Label("Resource Exhaustion"),),
    "loop": _REPEATED,
    "no_progress": _REPEATED,
    "polling_runaway": _REPEATED,
    "no_progress:announced": (Label("Task Orchestration"),),
    "premature_done:planned": (Label("Goal Deviation"), Label("Tool-related")),
    "premature_done:claimed": _FROM_MEMORY,
    "premature_done:looked_up": _FROM_MEMORY,
}

AGENTRX: Final[Table] = {
    "refusal": _GUARDRAILS,
    "silent_error:blocked": _GUARDRAILS,
    "step_limit": _GUARDRAILS,
    "invalid_arguments": _INVALID_CALL,
    "schema_violation": _INVALID_CALL,
    "unknown_tool": _INVALID_CALL,
    "tool_error": _SYSTEM,
    "http_error": _SYSTEM,
    "environment_error": _SYSTEM,
    "timeout": _SYSTEM,
    "ignored_failure": (Label("Misinterpretation of Tool Output"),),
    "premature_done": (Label("Invention of New Information"),),
}

SETS: Final[Mapping[str, Rules]] = {
    "trail": Rules(TRAIL, {"GAIA": "gaia", "SWE Bench": "swe"}),
    "whowhen": Rules({}, {"Algorithm-Generated": "algorithm_generated", "Hand-Crafted": "hand_crafted"}, causes=True),
    "agentrx": Rules(
        AGENTRX, {"agentrx-tau-retail": "tau_retail", "agentrx-magentic": "magentic"}, exhaustive=False, onsets=True
    ),
    "tau_airline": Rules({}, {"tau-airline": "tau_airline"}),
}
"""Every set that the command knows."""


def labels_of(finding: Finding, table: Table) -> tuple[Label, ...]:
    """What a finding means in a set; nothing for mere information."""
    if finding.severity == "info":
        return ()
    return table.get(f"{finding.failure_type}:{reason_of(finding)}") or table.get(finding.failure_type, ())


def reason_of(finding: Finding) -> object:
    """What a finding says of its reason; None when it does not."""
    return finding.facts.get("why") or finding.facts.get("sign")
