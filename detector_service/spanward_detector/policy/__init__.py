"""Policy: what is done about a finding. One validated, versioned YAML file; ``decide`` turns findings into orders."""

from spanward_detector.policy.decide import Clock, decide
from spanward_detector.policy.lint import lint, show
from spanward_detector.policy.load import default, default_text, load
from spanward_detector.policy.model import Ladder, Policy, Rung, ToolPolicy
from spanward_detector.policy.source import PolicyError, Problem

__all__ = [
    "Clock",
    "Ladder",
    "Policy",
    "PolicyError",
    "Problem",
    "Rung",
    "ToolPolicy",
    "decide",
    "default",
    "default_text",
    "lint",
    "load",
    "show",
]
