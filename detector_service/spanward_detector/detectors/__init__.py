"""All detectors, in one explicit tuple, and which of them look at which steps.

A new one is a file beside these, a line below, and cases that fire and that stay quiet under ``tests/detectors``. Other
packages add theirs by the entry point group ``spanward.detectors``; each names a class like the ones here.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from spanward_detector.detectors.announced_call import AnnouncedCall
from spanward_detector.detectors.auth_error import AuthError
from spanward_detector.detectors.base import Detector, On
from spanward_detector.detectors.circuit_open import CircuitOpen
from spanward_detector.detectors.consecutive_errors import ConsecutiveErrors
from spanward_detector.detectors.context_budget import ContextBudget
from spanward_detector.detectors.context_overflow import ContextOverflow
from spanward_detector.detectors.cost_budget import CostBudget
from spanward_detector.detectors.cross_check import CrossCheck
from spanward_detector.detectors.custom import Custom
from spanward_detector.detectors.duplicate_side_effect import DuplicateSideEffect
from spanward_detector.detectors.empty_output import EmptyOutput
from spanward_detector.detectors.environment_error import EnvironmentFailure
from spanward_detector.detectors.goal_lost import GoalLost
from spanward_detector.detectors.heartbeat_lost import HeartbeatLost
from spanward_detector.detectors.http_error import HttpError
from spanward_detector.detectors.hung import Hung
from spanward_detector.detectors.ignored_failure import IgnoredFailure
from spanward_detector.detectors.incomplete import Incomplete
from spanward_detector.detectors.invalid_arguments import InvalidArguments
from spanward_detector.detectors.invalid_json import InvalidJson
from spanward_detector.detectors.loop import Loop
from spanward_detector.detectors.no_progress import NoProgress
from spanward_detector.detectors.off_topic import OffTopic
from spanward_detector.detectors.order_violation import OrderViolation
from spanward_detector.detectors.polling_runaway import PollingRunaway
from spanward_detector.detectors.premature_done import PrematureDone
from spanward_detector.detectors.prompt_injection import PromptInjection
from spanward_detector.detectors.rate_limited import RateLimited
from spanward_detector.detectors.refusal import Refusal
from spanward_detector.detectors.schema_violation import SchemaViolation
from spanward_detector.detectors.secret_leak import SecretLeak
from spanward_detector.detectors.silent_error import SilentError
from spanward_detector.detectors.stalled import Stalled
from spanward_detector.detectors.step_limit import StepLimit
from spanward_detector.detectors.stopped_by_limit import StoppedByLimit
from spanward_detector.detectors.telemetry_gap import TelemetryGap
from spanward_detector.detectors.timeout import Timeout
from spanward_detector.detectors.token_budget import TokenBudget
from spanward_detector.detectors.tool_error import ToolError
from spanward_detector.detectors.truncated_output import TruncatedOutput
from spanward_detector.detectors.unbacked_answer import UnbackedAnswer
from spanward_detector.detectors.ungrounded import Ungrounded
from spanward_detector.detectors.ungrounded_argument import UngroundedArgument
from spanward_detector.detectors.unknown_tool import UnknownTool
from spanward_detector.detectors.unsafe_action import UnsafeAction
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.outcome import PLAIN, WORKED, Outcome

if TYPE_CHECKING:
    from spanward_detector.run import Run

__all__ = ["DETECTORS", "GROUP", "Detector", "Detectors", "third_party"]

_log = logging.getLogger(__name__)

GROUP: Final = "spanward.detectors"
"""Entry point group of detectors of other packages."""

DETECTORS: Final[tuple[type[Any], ...]] = (
    InvalidJson,
    InvalidArguments,
    SchemaViolation,
    UnknownTool,
    TruncatedOutput,
    EmptyOutput,
    Refusal,
    ToolError,
    HttpError,
    AuthError,
    RateLimited,
    EnvironmentFailure,
    ContextOverflow,
    ContextBudget,
    Timeout,
    Hung,
    HeartbeatLost,
    Stalled,
    Loop,
    NoProgress,
    AnnouncedCall,
    PollingRunaway,
    StepLimit,
    StoppedByLimit,
    ConsecutiveErrors,
    TokenBudget,
    CostBudget,
    CircuitOpen,
    TelemetryGap,
    SilentError,
    CrossCheck,
    IgnoredFailure,
    DuplicateSideEffect,
    Incomplete,
    OrderViolation,
    UnsafeAction,
    Custom,
    UnbackedAnswer,
    PrematureDone,
    Ungrounded,
    UngroundedArgument,
    GoalLost,
    OffTopic,
    PromptInjection,
    SecretLeak,
)
"""Every detector of ours, by layer: syntax, runtime, meaning."""

_Looking = tuple[Detector, ...]


def third_party() -> list[type[Any]]:
    """Classes of other packages. One that cannot be imported is logged and left out."""
    found = []
    for point in entry_points(group=GROUP):
        try:
            found.append(point.load())
        except Exception:
            _log.exception("detector %s of %s cannot be loaded", point.name, point.value)
    return found


class Detectors:
    """Detectors with their thresholds, by the kind of step that they look at.

    Args:
        rules: per rule, keyword arguments of its dataclass, as in a policy.
        classes: detectors; default: ours and those of other packages.
    """

    def __init__(
        self, rules: Mapping[str, Mapping[str, object]] | None = None, classes: Iterable[type[Any]] | None = None
    ) -> None:
        self.counters: Counter[str] = Counter()  # errors, by rule
        made: list[Detector] = []
        for cls in classes if classes is not None else (*DETECTORS, *third_party()):
            try:
                given = (rules or {}).get(cls.name, {})
                made += cls.each(**given) if hasattr(cls, "each") else (cls(**given),)
            except Exception:
                if cls in DETECTORS:
                    raise
                self._raised(getattr(cls, "name", cls.__name__))
        self._all = tuple(made)
        self._arrange()

    def __iter__(self) -> Any:
        return iter(self._all)

    def for_kind(self, kind: Kind, outcome: Outcome = WORKED) -> _Looking:
        """Who looks at a step of this kind that ended so."""
        return (self._failed if outcome.type else self._plain if outcome is PLAIN else self._odd)[kind]

    def one_by_one(self, step: Step, run: Run) -> list[Finding]:
        """Look with each detector on its own; one that raises is counted and looks at nothing any more."""
        found = []
        for detector in self.for_kind(step.kind, run.outcome):
            try:
                if (seen := detector.observe(step, run)) is not None:
                    found.append(seen)
            except Exception:
                self._raised(detector.name)
                self._all = tuple(d for d in self._all if d is not detector)
                self._arrange()
        return found

    def _raised(self, name: str) -> None:
        self.counters[name] += 1
        _log.exception("detector %s is disabled: it raised", name)

    def _arrange(self) -> None:
        def looking(*on: On) -> dict[Kind, _Looking]:
            wanted = [(d, getattr(d, "wanted", d.kinds)) for d in self._all if d.on in on]
            return {kind: tuple(d for d, kinds in wanted if kind in kinds) for kind in Kind}

        self._failed = looking("any", "odd", "failed")
        self._odd = looking("any", "odd")
        self._plain = looking("any")
