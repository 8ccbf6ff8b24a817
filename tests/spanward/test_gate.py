"""The gate around sync tools: what is checked before, what is told after, and how each verdict takes effect."""

import contextlib
import threading
import time

import pytest
import spanward
from spanward import semconv
from spanward.errors import CallInterrupted, ToolTimeout
from spanward.ports import GateDirective, PolicyUpdate, ToolFacts, Verdict
from spanward.testing import SILENCE, directive_for, supervised


@contextlib.contextmanager
def ending(kind=spanward.AgentTerminated):
    """The block ends by this exception."""
    with pytest.raises(kind) as caught:
        yield caught


def once(kind, /, when=lambda span: True, **payload):
    """A detector that gives one order, at the first held span that fits."""
    given = []

    def answer(span):
        if given or not when(span):
            return None
        given.append(directive_for(span, kind, directive_id="d1", **payload))
        return given[0]

    return answer


def failing(span):
    """A span with an error on it."""
    return semconv.ERROR_TYPE in span.attributes


@spanward.tool(side_effect="read")
def weather(city: str, unit: str = "C"):
    """A tool that knows one city."""
    if city != "Beijing":
        raise LookupError(f"no such city: {city}")
    return {"city": city, "t": 21, "unit": unit}


def test_without_a_detector_in_force_nothing_changes():
    """A decorated function is the function."""
    assert weather("Beijing") == {"city": "Beijing", "t": 21, "unit": "C"}
    with pytest.raises(LookupError):
        weather("Atlantis")
    with spanward.run("bot") as run, spanward.step("think"):
        assert weather("Beijing")["t"] == 21
        assert spanward.current_run() is None
    assert run.id


def test_span_says_what_was_done_and_nothing_of_the_content():
    """Ids, numbers, digests and facts; no argument, no result, no message."""
    with supervised() as gate, spanward.run("bot", conversation_id="c7") as run:
        weather("Beijing", unit="K")
        with pytest.raises(LookupError):
            weather("Atlantis")
    good, bad = gate.spans.steps("tool")

    assert good[semconv.RUN_ID] == run.id
    assert good[semconv.CONVERSATION_ID] == "c7"
    assert (good[semconv.STEP_INDEX], bad[semconv.STEP_INDEX]) == (1, 2)
    assert good[semconv.ACTION] == good[semconv.TOOL_NAME] == "weather"
    assert good[semconv.SIDE_EFFECT] == "read"
    assert good[semconv.PAYLOAD_DIGEST].startswith("sha256:")
    assert good[semconv.FACT_RESULT_JSON] is True
    assert bad[semconv.ERROR_TYPE] == "LookupError"
    assert bad[semconv.FACT_RESULT_ERROR] == "exception"
    everything = "".join(f"{span.to_json()}" for span in gate.spans.ended)
    for secret in ("Beijing", "Atlantis", "no such city", '"K"'):
        assert secret not in everything


def test_content_goes_out_where_it_may():
    """With capture on, the span carries arguments and result."""
    with supervised(capture_content=True) as gate, spanward.run("bot", input="weather?"):
        weather("Beijing")
    (step,) = gate.spans.steps("tool")

    assert step[semconv.TOOL_ARGUMENTS] == '{"city":"Beijing"}'
    assert '"t":21' in step[semconv.TOOL_RESULT]
    assert "weather?" in gate.spans.ended[-1].attributes[semconv.INPUT_MESSAGES]


def test_feedback_takes_the_place_of_the_result():
    """The model reads a templated text instead of the exception; both digests are told."""
    answer = once("feedback", failing, template="tool_error", slots={"error_type": "LookupError"})
    with supervised(answer) as gate, spanward.run("bot"):
        said = weather("Atlantis")

    assert "no such city: Atlantis" in said
    received, applied = gate.control.statuses
    assert (received.state, applied.state) == ("received", "applied")
    assert applied.before == gate.spans.steps("tool")[0][semconv.RESULT_DIGEST]
    assert applied.after not in ("", applied.before)
    assert 0 < applied.apply_ms < 10_000


def test_hold_is_registered_before_the_span_ends_and_sent_at_once():
    """The span carries the mark, and does not wait in a queue."""
    with supervised() as gate, spanward.run("bot"):
        weather("Beijing")
    (hold,) = gate.control.holds

    assert gate.spans.by_id(hold.span_id).attributes[semconv.HOLD] is True
    assert hold.span_id in gate.spans.urgent
    assert (gate.runtime.counters.holds, gate.runtime.counters.holds_answered) == (1, 1)


@pytest.mark.parametrize(
    ("mode", "city", "holds"),
    [("always", "Beijing", 1), ("suspect", "Beijing", 0), ("suspect", "Atlantis", 1), ("never", "Atlantis", 0)],
)
def test_hold_mode(mode, city, holds):
    """Always, only where something looks wrong, or never."""
    with supervised(hold=mode) as gate, spanward.run("bot"), contextlib.suppress(LookupError):
        weather(city)

    assert len(gate.control.holds) == holds
    assert (semconv.HOLD in gate.spans.steps("tool")[0]) is bool(holds)


def test_a_silent_detector_is_waited_for_three_times():
    """Then the gate stops holding, counts what it lets pass, and asks again after a second."""
    with supervised(lambda span: SILENCE) as gate, spanward.run("bot"):
        for _ in range(5):
            weather("Beijing")
        counters = gate.runtime.counters
        assert (counters.fail_open_timeout, counters.hold_skipped_suspended) == (3, 2)
        gate.clock.advance(1.0)
        gate.control.answer = None
        weather("Beijing")
        weather("Beijing")

    assert counters.holds_answered == 2


def test_without_a_stream_nobody_is_asked():
    """Each call that goes unwatched is counted."""
    with supervised() as gate, spanward.run("bot"):
        gate.control.connected = False
        weather("Beijing")

    assert gate.control.holds == []
    assert gate.runtime.counters.fail_open_disconnected == 1


def test_first_steps_wait_for_the_stream_to_be_opened(monkeypatch):
    """The first run starts the stream: for as long as a hold may last its steps wait for it, and later ones do not."""
    waited = []

    def wait_connected(self, timeout_s):
        waited.append(timeout_s)
        self.connected = len(waited) > 2
        return self.connected

    monkeypatch.setattr("spanward.testing.FakeControl.wait_connected", wait_connected)
    with supervised() as gate, spanward.run("bot"):
        gate.control.connected = False
        weather("Beijing")
        gate.clock.advance(0.1)
        weather("Beijing")
        gate.control.connected = False
        gate.clock.advance(0.2)
        weather("Beijing")

    assert waited == pytest.approx([0.25, 0.25, 0.15])
    assert len(gate.control.holds) == 1
    assert gate.runtime.counters.fail_open_disconnected == 2


def test_retry_makes_another_attempt():
    """A read that failed is tried again, and the second result is the tool's."""
    calls = []

    @spanward.tool(side_effect="read")
    def flaky(x):
        calls.append(x)
        if len(calls) == 1:
            raise ConnectionError("reset")
        return "fine"

    with supervised(once("retry", failing, delay_ms=1, attempt=2)) as gate, spanward.run("bot"):
        assert flaky(7) == "fine"
    steps = gate.spans.steps("tool")

    assert calls == [7, 7]
    assert [step[semconv.ATTEMPT] for step in steps] == [1, 2]
    assert gate.control.states("d1") == ["received", "applied"]


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"side_effect": "read"}, 2),
        ({"side_effect": "scratch"}, 2),
        ({"side_effect": "write"}, 1),
        ({"side_effect": "write", "idempotent": True}, 2),
        ({}, 1),
    ],
)
def test_retry_only_where_the_side_effect_permits(options, calls):
    """A write that may have happened is not done twice, whatever the order says."""
    made = []

    @spanward.tool(**options)
    def act():
        made.append(1)
        raise ConnectionError("reset")

    with supervised(once("retry", failing)) as gate, spanward.run("bot"), pytest.raises(ConnectionError):
        act()

    assert len(made) == calls
    final = gate.control.statuses[-1]
    assert (final.state, final.reason) == (("applied", "") if calls == 2 else ("rejected", "side_effect"))


WEATHER_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


def forecast_tool(**options):
    """A tool with a schema that records its calls."""
    calls = []

    @spanward.tool(side_effect="read", schema=WEATHER_SCHEMA, **options)
    def forecast(city, days=1):
        calls.append((city, days))
        return {"days": days}

    return forecast, calls


def test_call_that_breaks_the_schema_is_not_made():
    """The model is told what does not fit; the step says so, too."""
    forecast, calls = forecast_tool()
    with supervised() as gate, spanward.run("bot"):
        said = forecast(city="Beijing", days="three")
    (step,) = gate.spans.steps("tool")

    assert calls == []
    assert "do not fit its schema" in said
    assert step[semconv.GATE_REFUSED] == "schema"
    assert step[semconv.FACT_ARGUMENTS_SCHEMA] == "type:/days"
    assert semconv.HOLD in step


def test_repaired_arguments_are_used_and_the_model_is_told():
    """A number in quotes is put right, validated again, and the call is made once."""
    forecast, calls = forecast_tool()
    with supervised(once("repair_arguments")) as gate, spanward.run("bot"):
        result = forecast(city="Beijing", days="3")
    applied = gate.control.statuses[-1]

    assert calls == [("Beijing", 3)]
    assert result == {"days": 3}
    assert applied.state == "applied"
    assert applied.before == gate.spans.steps("tool")[0][semconv.PAYLOAD_DIGEST]
    assert applied.after == gate.spans.steps("tool")[1][semconv.PAYLOAD_DIGEST]


def test_note_about_repaired_arguments_follows_a_text_result():
    """The model's history holds what it wrote; the result says what ran."""

    @spanward.tool(side_effect="read", schema=WEATHER_SCHEMA)
    def forecast(city, days=1):
        return f"{days} sunny days"

    with supervised(once("repair_arguments")), spanward.run("bot"):
        said = forecast(city="Beijing", days="3")

    assert said.startswith("3 sunny days\n")
    assert "quoted_scalar" in said


def test_what_cannot_be_repaired_is_not_called():
    """A failed repair is said to have failed, and the call stays refused."""
    forecast, calls = forecast_tool()
    with supervised(once("repair_arguments")) as gate, spanward.run("bot"):
        assert "do not fit its schema" in forecast(city="Beijing", days="three")

    assert calls == []
    assert (gate.control.statuses[-1].state, gate.control.statuses[-1].reason) == ("failed", "not_repairable")


def test_fallback_stands_in():
    """The tool's own fallback gets the same arguments and is a step of its own."""

    def old_forecast(city):
        return f"yesterday's {city}"

    @spanward.tool(side_effect="read", fallback=old_forecast)
    def forecast(city):
        raise ConnectionError("down")

    with supervised(once("fallback", failing, strategy="tool_fallback")) as gate, spanward.run("bot"):
        assert forecast("Beijing") == "yesterday's Beijing"

    assert [step[semconv.ACTION] for step in gate.spans.steps("tool")] == ["forecast", "old_forecast"]
    assert gate.control.states("d1") == ["received", "applied"]


@pytest.mark.parametrize("strategy", ["tool_fallback", "degraded"])
def test_degraded_answer_where_there_is_no_fallback(strategy):
    """An honest "not available" in the language of the settings, and the acknowledgement says that it is one."""

    @spanward.tool(side_effect="read")
    def forecast(city):
        raise ConnectionError("down")

    answer = once("fallback", failing, strategy=strategy)
    with supervised(answer, locale="de") as gate, spanward.run("bot"):
        assert "forecast" in forecast("Beijing")

    assert gate.control.statuses[-1].reason == "degraded"


def test_failing_fallback_gives_the_degraded_answer():
    """Two tools that are down are no reason to crash the agent."""

    def also_down(city):
        raise ConnectionError("down, too")

    @spanward.tool(side_effect="read", fallback=also_down)
    def forecast(city):
        raise ConnectionError("down")

    def answer(span):
        if span.attributes[semconv.ACTION] == "forecast":
            return directive_for(span, "fallback")
        return None

    with supervised(answer) as gate, spanward.run("bot"):
        assert "forecast" in forecast("Beijing")

    assert gate.control.statuses[-1].reason == "degraded"


def test_terminate_latches_the_run():
    """The order ends the run: the exception has a safe message, and no later call gets through."""
    ran = []

    @spanward.tool
    def act(x):
        ran.append(x)

    answer = once("terminate", reason="loop", user_message="safety")
    with supervised(answer, locale="de") as gate, ending() as caught, spanward.run("bot") as run:
        with ending():
            act(1)
        assert run.phase == "failed"
        with ending():
            act(2)
        with ending(), spanward.step("go on"):
            ran.append("never")
        act(3)

    assert ran == [1]
    assert caught.value.reason == "loop"
    assert caught.value.user_message
    assert "act" not in caught.value.user_message
    assert gate.control.states("d1") == ["received", "applied"]
    assert gate.spans.ended[-1].attributes[semconv.RUN_ENDED] == "AgentTerminated"


def test_hard_exit_passes_what_swallows_exceptions():
    """Where the framework eats Exception, the run is left by what it cannot eat; the caller gets the public class."""

    @spanward.tool
    def act():
        return 1

    reached = []
    with supervised(once("terminate", reason="loop"), exit_class="base"), ending(), spanward.run("bot"):
        try:
            act()
        except Exception:
            reached.append("swallowed")
        reached.append("after")

    assert reached == []


def test_termination_is_dug_out_of_what_a_framework_made_of_it():
    """A cause of a cause in an exception group is still a termination to the caller of the run."""
    with supervised(once("terminate", reason="loop")), ending() as caught, spanward.run("bot"):
        try:
            weather("Beijing")
        except spanward.AgentTerminated as ended:
            try:
                raise RuntimeError("tool failed") from ended
            except RuntimeError as wrapped:
                raise ExceptionGroup("tasks", [ValueError("other"), wrapped]) from None

    assert isinstance(caught.value.__cause__, ExceptionGroup)


def test_swallowed_termination_is_told_all_the_same():
    """A block that ends well after its run was terminated has not completed."""
    swallowing = contextlib.suppress(spanward.AgentTerminated)
    with supervised(once("terminate", reason="loop")) as gate, spanward.run("bot"), swallowing:
        weather("Beijing")

    assert gate.control.updates[-1].reason == "AgentTerminated"


@pytest.mark.parametrize(
    ("change", "state", "reason"),
    [
        ({"target_digest": "sha256:other"}, "rejected", "changed"),
        ({"expires_at": 1.0}, "expired", "expired"),
        ({"epoch": -1}, "rejected", "stale_epoch"),
        ({"run_id": "another"}, "rejected", "no_such_run"),
    ],
)
def test_directive_that_does_not_fit_is_refused(change, state, reason):
    """Changed target, passed expiry, stale epoch, another run: the result stands, and the answer says why."""
    answer = lambda span: directive_for(span, "feedback", directive_id="d1", **change)  # noqa: E731
    with supervised(answer) as gate, spanward.run("bot"):
        assert weather("Beijing")["t"] == 21

    assert [(status.state, status.reason) for status in gate.control.statuses] == [(state, reason)]


def test_target_digest_that_fits_is_no_obstacle():
    """An order about this very result is executed."""

    def answer(span):
        return directive_for(span, "feedback", target_digest=span.attributes[semconv.RESULT_DIGEST])

    with supervised(answer), spanward.run("bot"):
        assert isinstance(weather("Beijing"), str)


def test_same_directive_twice_is_executed_once():
    """The second copy is answered with the final state of the first."""
    answer = lambda span: directive_for(span, "feedback", directive_id="d1")  # noqa: E731
    with supervised(answer) as gate, spanward.run("bot"):
        assert isinstance(weather("Beijing"), str)
        assert weather("Beijing")["t"] == 21

    assert gate.control.states("d1") == ["received", "applied", "applied"]
    assert gate.control.statuses[1] == gate.control.statuses[2]


@pytest.mark.parametrize("kind", ["rollback", "run_tool", "compact_context", "ask", "nonsense"])
def test_what_the_gate_cannot_do_it_says(kind):
    """Never a silent downgrade."""
    answer = lambda span: directive_for(span, kind, directive_id="d1")  # noqa: E731
    with supervised(answer) as gate, spanward.run("bot"):
        assert weather("Beijing")["t"] == 21

    final = gate.control.statuses[-1]
    assert final.state == "rejected"
    assert final.reason in ("unsupported", "not_allowed")


def test_tool_outside_the_local_list_does_not_run():
    """The list is this process's own, and nobody outside can widen it."""
    with supervised(allowed_tools={"other"}) as gate, spanward.run("bot"):
        assert "outside of what this run may do" in weather("Beijing")

    assert gate.spans.steps("tool")[0][semconv.GATE_REFUSED] == "not_allowed"


def test_not_accepted_kind_is_refused():
    """The refusal names the reason."""
    answer = once("retry")
    with supervised(answer, allowed_directives={"feedback"}) as gate, spanward.run("bot"):
        weather("Beijing")

    assert (gate.control.statuses[-1].state, gate.control.statuses[-1].reason) == ("rejected", "not_allowed")


def test_open_breaker_answers_at_once():
    """The caller gets the fallback, else a text with the time; nobody waits for a verdict on it."""
    calls = []

    @spanward.tool(side_effect="read")
    def forecast(city):
        calls.append(city)

    @spanward.tool(side_effect="read", fallback=lambda city: "from the cache")
    def cached(city):
        calls.append(city)

    with supervised() as gate, spanward.run("bot"):
        gate.runtime.set_breaker("forecast", "open", 12)
        gate.runtime.set_breaker("cached", "open", 12)
        assert "12 s" in forecast("Beijing")
        assert cached("Beijing") == "from the cache"
        gate.runtime.set_breaker("forecast", "closed", 0)
        forecast("Beijing")

    assert calls == ["Beijing"]
    assert [step.get(semconv.GATE_REFUSED) for step in gate.spans.steps("tool")] == ["breaker", "breaker", None, None]


# ---------------------------------------------------------------------------------------------------------- high risk


@pytest.fixture
def transfer():
    """A tool that must not run unasked, and what it did."""
    done = []

    @spanward.tool(side_effect="high_risk", schema={"type": "object", "properties": {"amount": {"type": "integer"}}})
    def transfer(amount, to):
        done.append((amount, to))
        return "sent"

    transfer.done = done
    return transfer


def test_high_risk_is_denied_when_nobody_approves(transfer):
    """Fail closed, with a detector that says nothing and without any."""
    with supervised() as gate, spanward.run("bot"):
        assert "approval" in transfer(5, "bob")
        gate.control.connected = False
        assert "approval" in transfer(5, "bob")

    assert transfer.done == []
    asked = gate.spans.steps("validation")[0]
    assert asked[semconv.APPROVAL_OF] == asked[semconv.PAYLOAD_DIGEST]


def test_high_risk_outside_any_run_is_denied(transfer):
    """An implicit run has nobody who could answer for it."""
    with supervised(approver=lambda name, arguments: True) as gate:
        assert "approval" in transfer(5, "bob")

    assert transfer.done == []
    assert gate.spans.steps("tool")[0][semconv.GATE_REFUSED] == "no_run"


@pytest.mark.parametrize("verdict", [False, None, "yes", 1])
def test_only_true_is_a_yes(transfer, verdict):
    """Whatever else an approver returns means no."""
    with supervised(approver=lambda name, arguments: verdict), spanward.run("bot"):
        transfer(5, "bob")

    assert transfer.done == []


def test_broken_approver_is_a_no(transfer):
    """An exception in the approver denies the call and does not reach the agent."""

    def approver(name, arguments):
        raise RuntimeError("no network")

    with supervised(approver=approver), spanward.run("bot"):
        assert "approval" in transfer(5, "bob")

    assert transfer.done == []


def test_approver_sees_exactly_what_will_run(transfer):
    """It is asked after validation, with name and arguments, for every call."""
    asked = []

    def approver(name, arguments):
        asked.append((name, dict(arguments)))
        return arguments["amount"] < 10

    with supervised(approver=approver), spanward.run("bot"):
        assert transfer(5, "bob") == "sent"
        assert "approval" in transfer(50, "bob")
        transfer("many", "bob")

    assert transfer.done == [(5, "bob")]
    assert asked == [("transfer", {"amount": 5, "to": "bob"}), ("transfer", {"amount": 50, "to": "bob"})]


def approving(span):
    """A detector whose person approves amounts of 5."""
    if semconv.APPROVAL_OF in span.attributes:
        return directive_for(span, "approve", action_digest=span.attributes[semconv.APPROVAL_OF])
    return None


def test_approval_is_for_one_action_once(transfer):
    """The detector's approve lets exactly this call through; the next one is asked for again."""
    with supervised(approving) as gate, spanward.run("bot"):
        assert transfer(5, "bob") == "sent"
        gate.control.answer = None
        assert "approval" in transfer(5, "bob")

    assert transfer.done == [(5, "bob")]


def test_approval_of_another_action_does_not_count(transfer):
    """An approval is bound to the digest of what it approves."""

    def answer(span):
        if semconv.APPROVAL_OF in span.attributes:
            return directive_for(span, "approve", action_digest="sha256:another")
        return None

    with supervised(answer), spanward.run("bot"):
        assert "approval" in transfer(5, "bob")

    assert transfer.done == []


def test_approval_given_beforehand_is_used(transfer):
    """A delivered approve waits for its call."""
    from spanward.facts import digest

    with supervised() as gate, spanward.run("bot") as run:
        action = digest({"amount": 5, "to": "bob"})
        gate.runtime.deliver(GateDirective("a1", run.id, "approve", payload={"action_digest": action}))
        assert transfer(5, "bob") == "sent"

    assert gate.control.states("a1") == ["received", "applied"]


# ------------------------------------------------------------------------------------------------- timeouts, interrupts


def test_sync_tool_is_abandoned_at_its_timeout():
    """The caller gets a TimeoutError in time; the thread goes on by itself, so the outcome is unknown."""
    release = threading.Event()

    @spanward.tool(timeout=0.05)
    def slow():
        release.wait(30)

    with supervised() as gate, spanward.run("bot"), ending(ToolTimeout):
        try:
            slow()
        finally:
            release.set()
    (step,) = gate.spans.steps("tool")

    assert step[semconv.ERROR_TYPE] == "ToolTimeout"
    assert step[semconv.OUTCOME_UNKNOWN] is True
    assert step[semconv.TOOL_TIMEOUT_S] == 0.05


def test_policy_may_state_a_timeout():
    """A tool without one of its own gets the policy's."""
    release = threading.Event()

    @spanward.tool
    def slow():
        release.wait(30)

    with supervised() as gate, spanward.run("bot"), ending(TimeoutError):
        gate.runtime.set_policy(PolicyUpdate("v", tools={"slow": ToolFacts(timeout_s=0.05)}))
        try:
            slow()
        finally:
            release.set()

    assert gate.spans.steps("tool")[0][semconv.TOOL_TIMEOUT_S] == 0.05


def test_tool_in_time_is_returned_from_its_thread():
    """Values and exceptions come back from the worker as from a plain call."""

    @spanward.tool(timeout=30)
    def quick(x):
        if x < 0:
            raise ValueError(x)
        return x, spanward.current_run().name

    with supervised(), spanward.run("bot"):
        assert quick(1) == (1, "bot")
        with pytest.raises(ValueError, match="-1"):
            quick(-1)


def test_interrupted_call_goes_on_by_fallback():
    """An order from outside cuts a sync call on a worker thread short; the run gets the fallback."""
    release = threading.Event()

    @spanward.tool(interruptible=True, fallback=lambda: "from the cache")
    def hanging():
        release.wait(30)
        return "late"

    with supervised() as gate, spanward.run("bot") as run:

        def interrupt():
            gate.control.until(lambda control: control.calls_started)
            span_id = gate.control.calls_started[0].span_id
            for _ in range(1000):
                gate.runtime.deliver(GateDirective("i1", run.id, "interrupt_call", payload={"span_id": span_id}))
                if gate.control.states("i1"):
                    break

        threading.Thread(target=interrupt).start()
        try:
            assert hanging() == "from the cache"
        finally:
            release.set()
    step = gate.spans.steps("tool")[0]

    assert step[semconv.ERROR_TYPE] == "CallInterrupted"
    assert step[semconv.OUTCOME_UNKNOWN] is True
    assert gate.control.states("i1") == ["received", "applied"]
    assert gate.control.calls_started[0].interruptible


def test_sync_call_on_the_callers_thread_cannot_be_interrupted():
    """The order is answered with not_interruptible, and one for a call that is not there with no_such_call."""
    with supervised() as gate, spanward.run("bot") as run:

        @spanward.tool
        def busy():
            span_id = gate.control.calls_started[-1].span_id
            gate.runtime.deliver(GateDirective("i1", run.id, "interrupt_call", payload={"span_id": span_id}))
            return "done"

        assert busy() == "done"
        gate.runtime.deliver(GateDirective("i2", run.id, "interrupt_call", payload={"span_id": "f" * 16}))

    assert [(s.directive_id, s.state, s.reason) for s in gate.control.statuses if s.state != "received"] == [
        ("i1", "rejected", "not_interruptible"),
        ("i2", "rejected", "no_such_call"),
    ]


# -------------------------------------------------------------------------------------------------- never hurt the host


def test_our_own_failure_never_reaches_the_agent(monkeypatch, caplog):
    """Facts, spans and holds may all break: the result comes through, and it is counted, and logged once a place."""
    with supervised() as gate, spanward.run("bot"):
        monkeypatch.setattr("spanward.flow.result_facts", lambda *args, **kwargs: 1 / 0)
        assert weather("Beijing")["t"] == 21
        assert weather("Beijing")["t"] == 21
        monkeypatch.setattr(gate.control, "hold", lambda *ids: 1 / 0)
        assert weather("Beijing")["t"] == 21
        monkeypatch.setattr(gate.spans, "start", lambda *args: 1 / 0)
        assert weather("Beijing")["t"] == 21
        with pytest.raises(LookupError):
            weather("Atlantis")
        monkeypatch.setattr("spanward.flow.digest", lambda *args: 1 / 0)
        assert weather("Beijing")["t"] == 21

    assert gate.runtime.counters.internal_errors >= 5
    assert len([record for record in caplog.records if "internal error in facts" in record.message]) == 1


def test_our_own_failure_keeps_high_risk_from_running(monkeypatch, transfer):
    """What cannot be watched must not run when it is high risk."""
    with supervised(approver=lambda *_: True) as gate, spanward.run("bot"):
        monkeypatch.setattr("spanward.flow.digest", lambda *args: 1 / 0)
        transfer(5, "bob")
        monkeypatch.undo()
        monkeypatch.setattr(gate.spans, "start", lambda *args: 1 / 0)
        transfer(5, "bob")

    assert transfer.done == []


def test_broken_wait_is_a_fail_open(monkeypatch):
    """A hold that raises gives no verdict and no exception."""
    with supervised() as gate, spanward.run("bot"):
        monkeypatch.setattr("spanward.testing.FakeHold.wait", lambda *args: 1 / 0)
        assert weather("Beijing")["t"] == 21

    assert "hold" in list(gate.runtime.internal)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_exception_passes_untouched(error):
    """An interrupt ends the step and goes on its way; nobody waits."""

    @spanward.tool
    def act():
        raise error

    with supervised() as gate, pytest.raises(error), spanward.run("bot"):
        act()

    assert gate.control.holds == []
    assert gate.spans.steps("tool")[0][semconv.ERROR_TYPE] == error.__name__
    assert gate.spans.ended[-1].attributes[semconv.RUN_ENDED] == error.__name__


def test_stop_iteration_of_a_tool_stays_one():
    """A tool may raise what generators use to end."""

    @spanward.tool
    def act():
        raise StopIteration("over")

    with supervised(), spanward.run("bot"), pytest.raises(StopIteration, match="over"):
        act()


def test_control_flow_of_a_framework_is_no_error():
    """An approval request that travels as an exception passes untouched and unheld."""

    class ApprovalRequired(Exception):  # noqa: N818 - as the framework calls it
        pass

    @spanward.tool
    def act():
        raise ApprovalRequired

    with supervised(once("feedback")) as gate, spanward.run("bot"), pytest.raises(ApprovalRequired):
        act()
    (step,) = gate.spans.steps("tool")

    assert step[semconv.CONTROL_FLOW] is True
    assert semconv.ERROR_TYPE not in step
    assert gate.control.holds == []


def test_broken_journal_does_not_stop_the_call(tmp_path, monkeypatch):
    """A full disk is our problem."""
    with supervised(journal=str(tmp_path / "j")) as gate, spanward.run("bot"):
        monkeypatch.setattr("spanward.journal.os.write", lambda *args: 1 / 0)

        @spanward.tool
        def act():
            return "done"

        assert act() == "done"

    assert "journal" in list(gate.runtime.internal)


# ---------------------------------------------------------------------------------------- intent, late verdicts, limits


def test_intent_is_journalled_before_and_the_result_before_the_hold(tmp_path):
    """Whatever happens while the gate waits, what the tool did is on record."""
    path = tmp_path / "journal.jsonl"
    seen = []

    @spanward.tool
    def act():
        seen.append(path.read_text().count("\n"))
        return "done"

    def answer(span):
        seen.append(path.read_text().count("\n"))

    with supervised(answer, journal=str(path)) as gate, spanward.run("bot"):
        act()
        weather("Beijing")

    assert seen[:2] == [1, 2]
    assert path.read_text().count("\n") == 2
    assert [call.action for call in gate.control.calls_started] == ["act"]


def test_finished_call_of_the_model_is_not_made_again():
    """The same call id with the same arguments gives the journalled result."""
    from spanward.facts import digest

    made = []

    @spanward.tool
    def pay(amount):
        made.append(amount)
        return f"paid {amount}"

    with supervised(), spanward.run("bot") as run:
        for _ in range(2):
            run.pending.add("call-1", "pay", digest({"amount": 5}))
            assert pay(5) == "paid 5"

    assert made == [5]


def test_late_directive_is_refused_but_a_late_terminate_counts():
    """What answers a hold that is over comes too late, unless it stops the run."""
    with supervised(), spanward.run("bot"):
        weather("Beijing")
    with supervised() as gate, ending(), spanward.run("bot") as run:
        weather("Beijing")
        span = gate.spans.ended[0]
        gate.runtime.deliver(directive_for(span, "feedback", directive_id="late"))
        assert weather("Beijing")["t"] == 21
        gate.runtime.deliver(directive_for(span, "terminate", directive_id="stop", reason="safety"))
        assert run.is_over()
        weather("Beijing")

    assert gate.control.states("late") == ["rejected"]
    assert gate.runtime.counters.late_rejected == 1
    assert gate.control.states("stop") == ["received", "applied"]


def test_late_feedback_is_kept_for_the_next_request():
    """Where the model's next request will carry the result, a feedback that answers no hold can take its place."""
    with supervised(hold="never") as gate, spanward.run("bot") as run:
        run.pending.add("call-1", "weather", "")
        weather("Beijing")
        span = gate.spans.ended[0]
        gate.runtime.deliver(directive_for(span, "feedback", directive_id="d1", answers_hold=False, template="loop"))
        directive, text = run.take_replacement("call-1")
        assert run.take_replacement("call-1") is None

    assert directive.id == "d1"
    assert text
    assert gate.control.states("d1") == ["received"]


def test_directive_for_an_unknown_run_is_refused():
    """Runs of other processes, and runs that are over."""
    with supervised() as gate:
        gate.runtime.deliver(GateDirective("d1", "nobody", "terminate"))
        gate.runtime.deliver(GateDirective("d1", "nobody", "terminate"))

    assert [(s.state, s.reason) for s in gate.control.statuses] == [("rejected", "no_such_run")] * 2


def test_stated_limits_are_kept_while_the_detector_is_away():
    """With a detector it decides; without one the gate ends the run at what the run itself stated."""
    with supervised() as gate, ending() as caught, spanward.run("bot", max_steps=3):
        for _ in range(5):
            weather("Beijing")
        gate.control.connected = False
        weather("Beijing")

    assert caught.value.reason == "step_limit"
    assert len(gate.spans.steps("tool")) == 5
    assert gate.spans.ended[-1].attributes["spanward.run.max_steps"] == 3


@pytest.mark.parametrize(
    ("limits", "reason"), [({"max_tokens": 100}, "token_budget"), ({"max_seconds": 60}, "time_budget")]
)
def test_tokens_and_seconds_are_limits_too(limits, reason):
    """Each stated limit has its own reason."""
    with supervised() as gate, ending() as caught, spanward.run("bot", **limits) as run:
        gate.control.connected = False
        weather("Beijing")
        run.add_tokens(100)
        gate.clock.advance(60)
        weather("Beijing")

    assert caught.value.reason == reason


def test_tools_that_fail_closed_do_not_run_unwatched():
    """The policy names them; it stays in force while the detector is away."""
    with supervised() as gate, spanward.run("bot"):
        gate.runtime.set_policy(PolicyUpdate("v", fail_closed_tools=frozenset({"weather"})))
        assert weather("Beijing")["t"] == 21
        gate.control.connected = False
        assert isinstance(weather("Beijing"), str)

    assert gate.spans.steps("tool")[-1][semconv.GATE_REFUSED] == "detector_away"


def test_broken_stream_during_a_hold_is_no_strike():
    """The client says that nobody will answer: counted, and holding goes on when it is back."""
    with supervised(lambda span: Verdict("skipped")) as gate, spanward.run("bot"):
        for _ in range(4):
            weather("Beijing")

    assert gate.runtime.counters.fail_open_disconnected == 4
    assert not gate.runtime.budget.suspended


def test_apply_time_is_measured_from_the_tools_return():
    """The time that the tool itself took does not count."""

    @spanward.tool(side_effect="read")
    def slow():
        began = time.perf_counter()
        while time.perf_counter() - began < 0.05:
            pass
        return "done"

    with supervised(once("feedback")) as gate, spanward.run("bot"):
        slow()

    assert 0 < gate.control.statuses[-1].apply_ms < 5_000


def test_interrupted_error_is_public():
    """The names that an agent may want to catch are importable from the top."""
    assert spanward.CallInterrupted is CallInterrupted
    assert issubclass(spanward.AgentPaused, spanward.AgentTerminated)
