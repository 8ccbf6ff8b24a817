"""What the detector writes of a policy is what the gate reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from spanward.control_client import codec as gate
from spanward.facts.allow import ArgumentRule
from spanward.ports import Limits, PolicyUpdate, ToolFacts
from spanward_control.v1 import control_pb2 as pb
from spanward_detector.control import codec as detector
from spanward_detector.policy import Policy, ToolPolicy, load
from spanward_detector.policy.model import Limits as PolicyLimits

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_lists = st.lists(_texts, max_size=4).map(tuple)
_seconds = st.floats(0, 1e6)
_tools = st.builds(
    ToolPolicy,
    side_effect=st.sampled_from([None, "read", "scratch", "write", "high_risk"]),
    timeout=_seconds,
    idempotent=st.none() | st.booleans(),
    fail_closed=st.booleans(),
    arguments=st.dictionaries(_texts, st.builds(ArgumentRule, _lists, _lists), max_size=3),
)
_policies = st.builds(
    Policy,
    version=_texts,
    tools=st.dictionaries(_texts, _tools, max_size=3),
    limits=st.builds(PolicyLimits, st.integers(0, 2**32 - 1), st.integers(0, 2**63), _seconds),
    allowed_tools=_lists,
)


@given(_policies)
def test_a_policy_arrives_as_it_was_sent(policy: Policy) -> None:
    """Every field that the gate enforces, over the wire and back."""
    sent = pb.Policy.FromString(detector.policy(policy).SerializeToString())
    limits = policy.limits

    assert gate.policy(sent) == PolicyUpdate(
        policy.version,
        Limits(limits.max_steps, limits.max_tokens, limits.max_seconds),
        {
            n: ToolFacts(t.side_effect or "write", t.timeout, idempotent=bool(t.idempotent))
            for n, t in policy.tools.items()
        },
        frozenset(name for name, tool in policy.tools.items() if tool.fail_closed),
        frozenset(policy.allowed_tools),
        {name: dict(tool.arguments) for name, tool in policy.tools.items() if tool.arguments},
    )


@given(st.binary(max_size=200))
def test_no_message_makes_the_gate_fall(data: bytes) -> None:
    """Whatever parses as a message is read as a policy."""
    try:
        message = pb.Policy.FromString(data)
    except Exception:
        return

    assert gate.policy(message).version == message.version


def test_lists_that_shall_only_be_watched_are_not_sent() -> None:
    """Where ``unsafe_action`` observes, the gate must not refuse."""
    text = "allowed_tools: [look]\ntools: {send: {arguments: {to: {allow: [boss]}}}}\n"
    acting, watching = load(text), load(text + "rules: {unsafe_action: {mode: observe}}\n")

    assert list(detector.policy(acting).allowed_tools) == ["look"]
    assert gate.policy(detector.policy(acting)).arguments == {"send": {"to": ArgumentRule(("boss",))}}
    assert not detector.policy(watching).allowed_tools
    assert not detector.policy(watching).arguments
