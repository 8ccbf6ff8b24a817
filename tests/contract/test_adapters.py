"""What every adapter of a model SDK must do, on each surface on which an agent can be written with it.

To join: add the surfaces of another SDK to :data:`SURFACES`; each is a loop over one tool, ``transfer``.
"""

import json
from collections.abc import Iterator, Mapping

import pytest
import spanward
from spanward import semconv
from spanward.ports import Verdict
from spanward.testing import SILENCE

from tests.adapters.openai_loops import LOOPS, Loop, arguments_of
from tests.adapters.watching import everything, once, watched
from tests.stub_openai import StubModel, cautious, serving

SURFACES: Mapping[str, Loop] = {**LOOPS}


@pytest.fixture(scope="module")
def stub() -> Iterator[StubModel]:
    """A model that sends money."""
    with serving(brain=cautious) as server:
        yield server


@pytest.fixture(params=[pytest.param(loop, id=name) for name, loop in SURFACES.items()])
def loop(request: pytest.FixtureRequest) -> Loop:
    """One surface."""
    found: Loop = request.param
    return found


class Bank:
    """The tool, as a plain function of the user's."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, str]] = []

    def use(self, name: str, arguments: str) -> str:
        assert name == "transfer"
        given = arguments_of(arguments)
        self.sent.append((given["amount"], given["to"]))
        return f"sent {given['amount']} to {given['to']}"


def test_each_model_call_and_each_tool_call_is_one_step(stub: StubModel, loop: Loop) -> None:
    """A tool that nobody wraps is seen by its result, once, however often later requests repeat it."""
    bank = Bank()
    with watched() as gate, spanward.run("bot"):
        answer = loop.run(stub.base_url, "please", bank.use)

    assert answer == "done: sent 100 to bob"
    assert [step[semconv.STEP_KIND] for step in gate.spans.steps()] == ["llm", "tool", "llm"]
    assert gate.runtime.counters.internal_errors == 0
    tool = gate.spans.steps("tool")[0]
    assert tool[semconv.TOOL_NAME] == "transfer"
    assert tool[semconv.TOOL_CALL_ID] == gate.spans.steps("llm")[0][semconv.FACT_CALLS_IDS][0]
    assert all(step[semconv.HOLD] for step in gate.spans.steps())


def test_a_wrapped_tool_is_one_step_too(stub: StubModel, loop: Loop) -> None:
    """What ``@tool`` has claimed is not seen again in the messages."""

    @spanward.tool(side_effect="read")
    def transfer(amount: int, to: str) -> str:
        return f"sent {amount} to {to}"

    with watched() as gate, spanward.run("bot"):
        answer = loop.run(stub.base_url, "please", lambda _name, text: transfer(**arguments_of(text)))

    assert answer == "done: sent 100 to bob"
    assert [step[semconv.STEP_KIND] for step in gate.spans.steps()] == ["llm", "tool", "llm"]
    ids = gate.spans.steps("llm")[0][semconv.FACT_CALLS_IDS]
    assert gate.spans.steps("tool")[0][semconv.TOOL_CALL_ID] == ids[0]


def test_the_facts_of_an_answer(stub: StubModel, loop: Loop) -> None:
    """Names, ids and form of the calls, declared tools, and tokens where they are reported."""
    with watched() as gate, spanward.run("bot"):
        loop.run(stub.base_url, "please", Bank().use)
    first, last = gate.spans.steps("llm")

    assert first[semconv.REQUEST_MODEL] == first[semconv.ACTION] == "m"
    assert first[semconv.FACT_TOOLS_DECLARED] == 1
    assert first[semconv.FACT_CALLS] == 1
    assert first[semconv.FACT_CALLS_NAMES] == ("transfer",)
    assert first[semconv.FACT_CALLS_FORM] == ("ok",)
    assert semconv.FACT_CALLS_UNKNOWN not in first
    assert last[semconv.FACT_CALLS] == 0
    assert last[semconv.FACT_ANSWER_SIZE] == len("done: sent 100 to bob")
    if not (loop.streams and loop.api == "chat"):
        assert last[semconv.INPUT_TOKENS] > 0
        assert last[semconv.OUTPUT_TOKENS] > 0


def test_no_content_leaves_by_default(stub: StubModel, loop: Loop) -> None:
    """With capture off no argument, result or message is in a span; with capture on they are."""
    with watched() as gate, spanward.run("bot"):
        loop.run(stub.base_url, "please be so kind", Bank().use)
    said = everything(gate)

    assert not [word for word in ("so kind", "bob", "sent 100", "amount") if word in said]

    with watched(capture_content=True) as gate, spanward.run("bot"):
        loop.run(stub.base_url, "please be so kind", Bank().use)

    steps = gate.spans.steps()
    assert "so kind" in steps[0][semconv.INPUT_MESSAGES]
    assert "bob" in steps[0][semconv.OUTPUT_MESSAGES]
    assert steps[1][semconv.TOOL_RESULT] == "sent 100 to bob"
    assert json.loads(steps[0][semconv.TOOL_DEFINITIONS])[0]["name"] == "transfer"


def test_arguments_are_repaired_before_the_loop_sees_them(stub: StubModel, loop: Loop) -> None:
    """Malformed arguments reach the loop as valid ones, and the model's history shows those that ran."""
    bank = Bank()
    with watched(once("repair_arguments", "llm")) as gate, spanward.run("bot"):
        answer = loop.run(stub.base_url, "malformed", bank.use)

    assert answer == "done: sent 100 to bob"
    assert gate.spans.steps("llm")[0][semconv.FACT_CALLS_FORM] == ("malformed",)
    assert gate.control.states("repair_arguments") == ["received", "applied"]
    status = gate.control.statuses[-1]
    assert status.before != status.after
    assert gate.spans.steps("tool")[0][semconv.FACT_ARGUMENTS_FORM] == "ok"
    shown = json.dumps(stub.requests[-1])
    if "previous_response_id" not in shown:
        assert "'amount'" not in shown


def test_feedback_replans_inside(stub: StubModel, loop: Loop) -> None:
    """The loop never sees the refused answer; the model is told and answers once more."""
    bank = Bank()
    with watched(once("feedback", "llm", template="loop")) as gate, spanward.run("bot"):
        answer = loop.run(stub.base_url, "please", bank.use)

    assert bank.sent == [(5, "bob")]
    assert answer.endswith("sent 5 to bob")
    assert gate.control.states("feedback") == ["received", "applied"]
    assert [step[semconv.STEP_KIND] for step in gate.spans.steps()] == ["llm", "llm", "tool", "llm"]


def test_a_parallel_batch_is_answered_whole(stub: StubModel, loop: Loop) -> None:
    """Every call id of a refused batch gets a result: an orphan would make the API refuse the request."""
    bank = Bank()
    with watched(once("feedback", "llm", template="loop")), spanward.run("bot"):
        loop.run(stub.base_url, "parallel", bank.use)

    assert bank.sent == [(5, "bob")]
    replanned = json.dumps(stub.requests[-2])
    assert replanned.count('"tool_call_id"' if loop.api == "chat" else '"function_call_output"') == 2


def test_parallel_calls_hold_for_themselves(stub: StubModel, loop: Loop) -> None:
    """Two results in one request are two steps, and a verdict on one leaves the other as it is."""
    bank = Bank()
    with watched(once("feedback", "tool", template="silent_error")) as gate, spanward.run("bot"):
        loop.run(stub.base_url, "parallel", bank.use)

    assert bank.sent[:2] == [(100, "bob"), (200, "eve")]
    assert len(gate.spans.steps("tool")) >= 2
    assert gate.control.states("feedback") == ["received", "applied"]


def test_feedback_takes_the_place_of_a_tool_result(stub: StubModel, loop: Loop) -> None:
    """The model reads the feedback instead of the result, in this request and in all later ones."""
    bank = Bank()
    with watched(once("feedback", "tool", template="silent_error")) as gate, spanward.run("bot"):
        answer = loop.run(stub.base_url, "please", bank.use)

    assert bank.sent == [(100, "bob"), (5, "bob")]
    assert answer.endswith("sent 5 to bob")
    assert gate.control.states("feedback") == ["received", "applied"]
    if "previous_response_id" not in stub.requests[-1]:
        texts = json.dumps(stub.requests[-1])
        assert texts.count('"sent 100 to bob"') == 0
    assert len(gate.spans.steps("tool")) == 2


def test_terminate_ends_the_run_before_the_tool(stub: StubModel, loop: Loop) -> None:
    """The answer never reaches the loop, the exception is ours, and every later gate refuses."""
    bank = Bank()
    with watched(once("terminate", "llm", reason="loop")) as gate:
        with pytest.raises(spanward.AgentTerminated) as ended, spanward.run("bot"):
            loop.run(stub.base_url, "please", bank.use)

        assert ended.value.user_message
        assert bank.sent == []
        assert gate.control.states("terminate") == ["received", "applied"]


def test_retry_makes_the_same_request_again(stub: StubModel, loop: Loop) -> None:
    """The next span says that it is the second attempt."""
    with watched(once("retry", "llm", delay_ms=1)) as gate, spanward.run("bot"):
        answer = loop.run(stub.base_url, "please", Bank().use)

    assert answer == "done: sent 100 to bob"
    assert [step[semconv.ATTEMPT] for step in gate.spans.steps("llm")] == [1, 2, 1]


def test_what_cannot_be_done_is_said(stub: StubModel, loop: Loop) -> None:
    """A directive that makes no sense at a model call is rejected, and the run goes on as it was."""
    with watched(once("rollback", "llm", checkpoint="x")) as gate, spanward.run("bot"):
        answer = loop.run(stub.base_url, "please", Bank().use)

    assert answer == "done: sent 100 to bob"
    assert gate.control.states("rollback") == ["received", "rejected"]


def test_an_unknown_tool_is_a_fact(stub: StubModel, loop: Loop) -> None:
    """The name that was not declared is told, and feedback makes the model choose another."""
    bank = Bank()
    with watched(once("feedback", "llm", template="unknown_tool")) as gate, spanward.run("bot"):
        loop.run(stub.base_url, "unknown", bank.use)

    assert gate.spans.steps("llm")[0][semconv.FACT_CALLS_UNKNOWN] == ("transmogrify",)
    assert bank.sent == [(5, "bob")]


def test_the_host_goes_on_without_a_detector(stub: StubModel, loop: Loop) -> None:
    """Silence is counted and changes nothing; the same without any stream."""
    with watched(lambda _span: SILENCE) as gate, spanward.run("bot"):
        assert loop.run(stub.base_url, "please", Bank().use) == "done: sent 100 to bob"
    assert gate.runtime.counters.fail_open_timeout == 3

    with watched(lambda _span: Verdict("none")) as gate, spanward.run("bot"):
        gate.control.connected = False
        assert loop.run(stub.base_url, "please", Bank().use) == "done: sent 100 to bob"
    assert gate.runtime.counters.fail_open_disconnected == 3


def test_a_failure_of_ours_never_reaches_the_host(stub: StubModel, loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever breaks inside, the loop gets the model's answers as they are, and the breakage is counted."""

    def broken(*_args: object, **_kwargs: object) -> object:
        raise RuntimeError("a bug")

    for name in ("judge", "open_step", "see_results"):
        with monkeypatch.context() as patch:
            patch.setattr(f"spanward.adapters.model_flow.{name}", broken)
            with watched() as gate, spanward.run("bot"):
                assert loop.run(stub.base_url, "please", Bank().use) == "done: sent 100 to bob"

            assert gate.runtime.counters.internal_errors > 0


def test_nothing_is_left_after_the_end(stub: StubModel, loop: Loop) -> None:
    """With the patches taken off no span is made, although the surface is used as before."""
    with watched() as gate:
        pass
    with spanward.run("bot"):
        assert loop.run(stub.base_url, "please", Bank().use) == "done: sent 100 to bob"

    assert gate.spans.steps() == []


def test_outside_a_run_an_implicit_one_is_made(stub: StubModel, loop: Loop) -> None:
    """An agent that names no run is watched all the same: one run for the whole conversation."""
    with watched() as gate:
        loop.run(stub.base_url, "please", Bank().use)

        steps = gate.spans.steps()

    assert len({step[semconv.RUN_ID] for step in steps}) == 1
    assert gate.runtime.counters.implicit_runs == 1
