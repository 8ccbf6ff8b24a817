"""The vocabulary of failure: every failure type with its layer and cause, for rules, policy, metrics, API and docs."""

from dataclasses import dataclass
from typing import Final, Literal

Layer = Literal["syntax", "runtime", "semantic"]
Cause = Literal["perception", "reasoning", "action", "environment"]
Severity = Literal["info", "warning", "error"]
Mode = Literal["observe", "act"]


@dataclass(frozen=True, slots=True)
class FailureType:
    """One way in which a run fails.

    Attributes:
        name: as it stands in findings, metrics, API and policy.
        layer: syntax (form), runtime (course of the run) or semantic (meaning).
        cause: what broke, as the field classes it: perception, reasoning, action or environment.
    """

    name: str
    layer: Layer
    cause: Cause


def _types(layer: Layer, **causes: Cause) -> list[FailureType]:
    return [FailureType(name, layer, cause) for name, cause in causes.items()]


FAILURE_TYPES: Final[dict[str, FailureType]] = {
    kind.name: kind
    for kind in (
        *_types(
            "syntax",
            invalid_json="reasoning",
            invalid_arguments="reasoning",
            schema_violation="reasoning",
            unknown_tool="reasoning",
            truncated_output="environment",
            empty_output="environment",
            refusal="reasoning",
        ),
        *_types(
            "runtime",
            tool_error="action",
            http_error="environment",
            auth_error="environment",
            rate_limited="environment",
            environment_error="environment",
            timeout="environment",
            hung="environment",
            heartbeat_lost="environment",
            stalled="environment",
            loop="reasoning",
            no_progress="reasoning",
            polling_runaway="reasoning",
            step_limit="reasoning",
            consecutive_errors="action",
            token_budget="environment",  # noqa: S106 - a failure, not a password
            cost_budget="environment",
            context_overflow="perception",
            circuit_open="environment",
            telemetry_gap="environment",
        ),
        *_types(
            "semantic",
            silent_error="perception",
            ignored_failure="perception",
            premature_done="reasoning",
            incomplete="reasoning",
            off_topic="reasoning",
            ungrounded="perception",
            ungrounded_argument="perception",
            goal_lost="perception",
            wrong_tool="reasoning",
            order_violation="reasoning",
            unsafe_action="action",
            prompt_injection="environment",
            secret_leak="action",  # noqa: S106
            duplicate_side_effect="action",
            custom="action",
            judge="reasoning",
        ),
    )
}
"""Every failure type by name."""
