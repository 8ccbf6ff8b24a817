"""The policy's lists at the gate: which tools may be called, and with what arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import spanward
from spanward import semconv
from spanward.facts.allow import ArgumentRule
from spanward.policy_cache import MAX_ENTRIES, PolicyCache
from spanward.ports import PolicyUpdate
from spanward.testing import directive_for, supervised

Tool = tuple[Callable[..., Any], list[Any]]


@pytest.fixture
def sending() -> Tool:
    """A write, and what it did."""
    done: list[Any] = []

    @spanward.tool(side_effect="write")
    def send(to: Any, text: str = "") -> str:
        done.append(to)
        return "sent"

    return send, done


def listing(*tools: str) -> PolicyUpdate:
    """A policy that lists tools."""
    return PolicyUpdate("v", allowed_tools=frozenset(tools))


def limiting(tool: str, **rules: ArgumentRule) -> PolicyUpdate:
    """A policy that says what the arguments of a tool may be."""
    return PolicyUpdate("v", arguments={tool: rules})


def test_a_tool_that_is_not_listed_does_not_run(sending: Tool) -> None:
    """The model is told, nobody waits for a verdict, the run goes on; a policy without the list lifts it."""
    send, done = sending

    @spanward.tool(side_effect="read")
    def look() -> str:
        return "seen"

    with supervised() as gate, spanward.run("bot"):
        gate.runtime.set_policy(listing("look"))
        assert "outside of what this run may do" in send("boss")
        assert look() == "seen"
        gate.runtime.set_policy(PolicyUpdate("v2"))
        assert send("boss") == "sent"

    assert done == ["boss"]
    refused, *others = gate.spans.steps("tool")
    assert (refused[semconv.GATE_REFUSED], refused[semconv.GATE_OUTSIDE]) == ("not_allowed", "tool")
    assert semconv.HOLD not in refused
    assert not any(semconv.GATE_REFUSED in step for step in others)


def test_before_a_policy_has_come_nothing_is_enforced(sending: Tool) -> None:
    """As without a detector."""
    send, done = sending
    with supervised() as gate, spanward.run("bot"):
        assert gate.runtime.policy.lists is None
        send("anybody")

    assert done == ["anybody"]


def test_the_lists_stay_in_force_while_the_detector_is_away(sending: Tool) -> None:
    """They need nobody to ask."""
    send, done = sending
    with supervised() as gate, spanward.run("bot"):
        gate.runtime.set_policy(listing("look"))
        gate.control.connected = False
        send("boss")

    assert done == []


def test_the_policy_cannot_widen_the_list_of_the_process(sending: Tool) -> None:
    """A tool has to be on both."""
    send, done = sending
    with supervised(allowed_tools={"look"}) as gate, spanward.run("bot"):
        gate.runtime.set_policy(listing("look", "send"))
        send("boss")

    assert done == []


def test_an_argument_that_is_forbidden_stops_the_call(sending: Tool) -> None:
    """However it is passed. The text names the argument, and the span does not hold its value."""
    send, done = sending
    to, text = ArgumentRule(("/.*@example\\.com/", "boss")), ArgumentRule((), ("secret",))
    with supervised() as gate, spanward.run("bot"):
        gate.runtime.set_policy(limiting("send", to=to, text=text))
        assert "the policy does not allow this argument to" in send("eve@evil.test")
        assert "this argument text" in send(to="boss", text="secret")
        assert send("a@example.com") == send(["boss", "b@example.com"]) == send("boss", "hello") == "sent"

    assert done == ["a@example.com", ["boss", "b@example.com"], "boss"]
    refused = gate.spans.steps("tool")[:2]
    assert [step[semconv.GATE_OUTSIDE] for step in refused] == ["argument to", "argument text"]
    assert "evil" not in str(refused)


async def test_an_argument_that_is_forbidden_stops_an_async_call() -> None:
    """The gate is one for both."""
    done: list[str] = []

    @spanward.tool(side_effect="write")
    async def pay(to: str) -> None:
        done.append(to)

    with supervised() as gate:
        gate.runtime.set_policy(limiting("pay", to=ArgumentRule(("boss",))))
        async with spanward.run("bot"):
            assert "argument to" in str(await pay("eve"))
            await pay("boss")

    assert done == ["boss"]


def test_repaired_arguments_pass_the_lists_again() -> None:
    """A repair does not get a value through that is forbidden."""
    done: list[Any] = []
    room = {"type": "object", "properties": {"number": {"type": "integer"}}}

    @spanward.tool(side_effect="read", schema={"type": "object", "properties": {"room": room}})
    def look(room: Any) -> None:
        done.append(room)

    answer = lambda span: directive_for(span, "repair_arguments")  # noqa: E731
    with supervised(answer) as gate, spanward.run("bot"):
        gate.runtime.set_policy(limiting("look", room=ArgumentRule((), ('{"number":12}',))))
        look({"number": "12"})

    assert done == []
    assert [step[semconv.GATE_REFUSED] for step in gate.spans.steps("tool")] == ["schema", "not_allowed"]


def test_a_fallback_is_a_call_of_its_own(sending: Tool) -> None:
    """What stands in for a tool is held to the lists as any other."""
    send, done = sending

    @spanward.tool(side_effect="write", fallback=send)
    def mail(to: str) -> str:
        raise ConnectionError

    with supervised(lambda span: directive_for(span, "fallback")) as gate, spanward.run("bot"):
        gate.runtime.set_policy(listing("mail"))
        assert "outside of what this run may do" in mail("boss")

    assert done == []


def test_what_is_not_allowed_is_not_put_before_anybody() -> None:
    """A high-risk call outside of the lists asks for no approval."""
    asked: list[str] = []

    @spanward.tool(side_effect="high_risk")
    def transfer(to: str) -> str:
        return "sent"

    def approver(name: str, arguments: Any) -> bool:
        asked.append(name)
        return True

    with supervised(approver=approver) as gate, spanward.run("bot"):
        gate.runtime.set_policy(limiting("transfer", to=ArgumentRule(("alice",))))
        assert "argument to" in transfer("bob")
        assert transfer("alice") == "sent"

    assert asked == ["transfer"]


def test_without_re2_the_gate_leaves_patterns_to_the_detector(sending: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never matches them by another engine; plain values hold all the same."""
    send, done = sending
    monkeypatch.setitem(sys.modules, "re2", None)
    to = ArgumentRule((), ("/never-seen-before-.*/", "eve"))
    with supervised() as gate, spanward.run("bot"):
        gate.runtime.set_policy(limiting("send", to=to))
        send("never-seen-before-1")
        send("eve")

    assert done == ["never-seen-before-1"]


def test_a_policy_that_is_too_large_leaves_the_last_one_in_force() -> None:
    """All of it: the lists are those of the version that is told."""
    cache = PolicyCache()
    cache.apply(listing("look"))
    entries = tuple(map(str, range(MAX_ENTRIES)))
    with pytest.raises(ValueError, match=str(MAX_ENTRIES)):
        cache.apply(PolicyUpdate("w", arguments={"send": {"to": ArgumentRule(entries)}}))

    assert cache.version == "v"
    assert cache.lists is not None
    assert cache.lists.outside("send", {}) == "tool"


def test_rules_that_say_nothing_cost_nothing() -> None:
    """A policy with empty lists has none."""
    cache = PolicyCache()
    cache.apply(limiting("send", to=ArgumentRule()))

    assert cache.lists is None
