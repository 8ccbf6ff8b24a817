"""Runs and steps: scope, numbering, nesting, ends, implicit runs, pending calls."""

import contextlib
import threading

import pytest
import spanward
from spanward import semconv
from spanward.pending import PendingCalls
from spanward.ports import GateDirective
from spanward.runs import IMPLICIT_IDLE_S
from spanward.testing import directive_for, supervised


@contextlib.contextmanager
def ending(kind=spanward.AgentTerminated):
    """The block ends by this exception."""
    with pytest.raises(kind) as caught:
        yield caught


@spanward.tool(side_effect="read")
def look(x=1):
    """A tool."""
    return {"x": x}


def test_run_is_a_span_with_steps_inside():
    """One trace: the run's span is the parent of its steps, and says how it ended."""
    with supervised() as gate:
        with spanward.run("bot", run_id="mine", max_steps=15, max_tokens=1000, max_seconds=2.5) as run:
            assert spanward.current_run() is run
            look()
        assert spanward.current_run() is None
    tool, root = gate.spans.ended

    assert root.name == "invoke_agent bot"
    assert tool.parent.span_id == root.context.span_id
    assert root.attributes[semconv.RUN_ID] == tool.attributes[semconv.RUN_ID] == "mine"
    assert root.attributes[semconv.RUN_ENDED] == "completed"
    assert [root.attributes[key] for key in semconv.RUN_LIMITS] == [15, 1000, 2.5]
    assert run.trace_id == f"{root.context.trace_id:032x}"
    assert [(update.what, update.reason) for update in gate.control.updates] == [
        ("register", ""),
        ("update", ""),
        ("end", "completed"),
    ]


def test_exception_passes_and_is_the_end_reason():
    """The block's exception is the caller's; only its class is told."""
    with supervised() as gate, pytest.raises(ValueError, match="secret"), spanward.run("bot"):
        raise ValueError("secret")
    (root,) = gate.spans.ended

    assert root.attributes[semconv.RUN_ENDED] == root.attributes[semconv.ERROR_TYPE] == "ValueError"
    assert not root.status.is_ok
    assert "secret" not in root.to_json()


@pytest.mark.parametrize("limit", ["max_steps", "max_tokens", "max_seconds"])
def test_limits_must_make_sense(limit):
    """Nought is no limit that anybody means."""
    with pytest.raises(ValueError, match=limit):
        spanward.run("bot", **{limit: 0})


def test_decorator_makes_a_run_a_call():
    """Each call of a decorated function is a run of its own."""

    @spanward.run("bot")
    def agent(x):
        look(x)
        return spanward.current_run().id

    with supervised() as gate:
        ids = {agent(1), agent(2)}

    assert len(ids) == 2
    assert [span.name for span in gate.spans.ended].count("invoke_agent bot") == 2
    assert agent.__name__ == "agent"


async def test_decorator_knows_coroutines():
    """A coroutine function stays one."""

    @spanward.run("bot")
    async def agent():
        return spanward.current_run().id

    with supervised():
        assert await agent() != await agent()


def test_steps_are_numbered_by_start():
    """Decisions, tools and validations share one row of numbers; a decision that spans tools comes before them."""
    with supervised() as gate, spanward.run("bot"):
        with spanward.step("plan trip", reason="asked to"):
            look()
        with spanward.step("check", kind="validation"):
            pass
        look()

    assert [(row[semconv.STEP_INDEX], row[semconv.STEP_KIND]) for row in gate.spans.steps()] == [
        (1, "decision"),
        (2, "tool"),
        (3, "validation"),
        (4, "tool"),
    ]
    names = [span.name for span in gate.spans.ended]
    assert "plan plan trip" in names
    assert "validate check" in names
    assert gate.spans.steps("decision")[0][semconv.STEP_REASON] == "asked to"


def test_numbers_are_never_given_twice():
    """Many threads at once: each step has a number of its own, without gaps."""
    with supervised(hold="never") as gate, spanward.run("bot") as run:
        threads = [threading.Thread(target=lambda: [look() for _ in range(20)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert [row[semconv.STEP_INDEX] for row in gate.spans.steps()] == list(range(1, 161))
    assert run.steps == 160


def test_step_with_an_exception():
    """The step says which class; the exception passes."""
    with supervised() as gate, spanward.run("bot"), pytest.raises(KeyError), spanward.step("choose"):
        raise KeyError("x")

    assert gate.spans.steps()[0][semconv.ERROR_TYPE] == "KeyError"


def test_unknown_kind_of_step_is_refused():
    """The message lists those that there are."""
    with pytest.raises(ValueError, match="decision"):
        spanward.step("x", kind="dream")


def test_sub_agent_is_a_run_of_its_own_in_the_same_trace():
    """Its own id and numbers; the latch of the outer run holds for it, not the other way round."""
    with supervised() as gate, ending(), spanward.run("boss") as outer:
        with spanward.run("helper") as inner:
            look()
        assert inner.parent is outer
        assert inner.trace_id == outer.trace_id
        with spanward.run("helper") as inner:
            inner.terminate("loop")
            with ending():
                look()
        assert not outer.is_over()
        look()
        outer.terminate("operator")
        with spanward.run("helper"):
            look()

    assert [row[semconv.AGENT_NAME] for row in gate.spans.steps()] == ["helper", "boss"]


def test_inner_pause_leaves_the_outer_run_alone():
    """A paused helper waits by itself; a paused boss stops the helper, too."""
    with supervised() as gate, spanward.run("boss") as outer, spanward.run("helper") as inner:
        inner.pause(60)
        assert (inner.paused, outer.paused) == (True, False)
        gate.runtime.deliver(GateDirective("r", inner.id, "resume"))
        outer.pause(60)
        assert (inner.paused, outer.paused) == (True, True)
        outer.resume()
        assert not inner.paused


def test_hard_exit_leaves_inner_and_outer_run():
    """The outer run's termination passes through the inner run unchanged in kind, and comes out as the public class."""
    with supervised(exit_class="base"), ending() as caught, spanward.run("boss") as outer:
        outer.terminate("operator")
        try:
            with spanward.run("helper"):
                look()
        except Exception:
            pytest.fail("an Exception could have been swallowed here")

    assert caught.value.run_id == outer.id


def test_resume_of_a_run_that_is_not_paused_is_refused():
    """And a pause of one that is over."""
    with supervised() as gate, ending(), spanward.run("bot") as run:
        gate.runtime.deliver(GateDirective("r", run.id, "resume"))
        run.terminate("loop")
        gate.runtime.deliver(GateDirective("p", run.id, "pause"))
        look()

    assert [(s.directive_id, s.reason) for s in gate.control.statuses if s.state == "rejected"] == [
        ("r", "not_paused"),
        ("p", "over"),
    ]


def test_paused_sync_run_goes_on_when_resumed():
    """Sync code on a thread of its own blocks until the order comes."""
    with supervised() as gate, spanward.run("bot") as run:
        run.pause(60)
        done = []
        thread = threading.Thread(target=lambda: done.append(look(7)))
        thread.start()
        assert not done
        gate.runtime.deliver(GateDirective("r", run.id, "resume"))
        thread.join(10)

    assert done == [{"x": 7}]


def test_transition_is_mirrored():
    """The detector owns the phase of a run; a pause comes by directive only."""
    with supervised() as gate, spanward.run("bot") as run:
        gate.runtime.transition(run.id, "waiting_validation", "")
        assert run.phase == "waiting_validation"
        gate.runtime.transition(run.id, "paused", "")
        gate.runtime.transition("unknown", "done", "")
        assert run.phase == "waiting_validation"


# ------------------------------------------------------------------------------------------------------- implicit runs


def test_calls_outside_any_run_share_an_implicit_one():
    """One for each thread, counted; it ends when it has been idle for long, and its steps belong to one trace."""
    with supervised(service_name="shop") as gate:
        look(1)
        look(2)
        assert gate.runtime.counters.implicit_runs == 1
        gate.clock.advance(IMPLICIT_IDLE_S)
        assert gate.runtime.runs_open() == []
        look(3)
        assert gate.runtime.counters.implicit_runs == 2
        assert spanward.current_run() is None
    roots = [span for span in gate.spans.ended if span.name == "invoke_agent shop"]

    assert len(roots) == 2
    assert len({row[semconv.RUN_ID] for row in gate.spans.steps()}) == 2
    assert [row[semconv.STEP_INDEX] for row in gate.spans.steps()] == [1, 1, 2]


def test_implicit_run_follows_the_users_trace():
    """Calls in different traces of the user are different runs, and stay in those traces."""
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("web")
    with supervised() as gate:
        traces = []
        for _ in range(2):
            with tracer.start_as_current_span("request") as span:
                traces.append(span.get_span_context().trace_id)
                look()
                look()

    assert gate.runtime.counters.implicit_runs == 2
    assert {span.context.trace_id for span in gate.spans.ended} == set(traces)


def test_tool_inside_a_tool_joins_the_implicit_run():
    """The inner call is a step of the same run, below the outer one."""

    @spanward.tool
    def outer():
        return look()

    with supervised() as gate:
        outer()
        with spanward.step("then"):
            pass

    assert gate.runtime.counters.implicit_runs == 1
    inner, above = (span for span in gate.spans.ended if span.name.startswith("execute_tool"))
    assert inner.parent.span_id == above.context.span_id


def test_run_that_is_over_is_nobodys_current_run():
    """What outlives its run has none."""
    with supervised(), spanward.run("bot"):
        bound = spanward.bind(spanward.current_run)
        assert bound() is not None

    assert bound() is None


# ------------------------------------------------------------------------------------------------------- pending calls


def test_pending_call_is_claimed_once():
    """The oldest with the same arguments, else the oldest of that name, else none."""
    pending = PendingCalls()
    for call_id, name, digest in (("1", "a", "x"), ("2", "a", "y"), ("3", "b", "x")):
        pending.add(call_id, name, digest)

    assert pending.claim("a", "y").call_id == "2"
    assert pending.claim("a", "other").call_id == "1"
    assert pending.claim("a", "x") is None
    assert pending.unclaimed("3").name == "b"
    assert pending.unclaimed("3") is None
    assert len(pending) == 0


def test_pending_calls_are_bounded():
    """The oldest are forgotten."""
    pending = PendingCalls(capacity=2)
    for number in range(4):
        pending.add(str(number), "a", "x")

    assert [pending.unclaimed(str(number)) is not None for number in range(4)] == [False, False, True, True]


def test_tool_step_carries_the_models_call_id_and_form():
    """A claimed call is one step, with what is known of the text that the model wrote."""
    from spanward.facts import digest

    with supervised() as gate, spanward.run("bot") as run:
        run.pending.add("call-9", "look", digest({"x": 5}), "ok", '{"x": 5}')
        look(5)
    (step,) = gate.spans.steps("tool")

    assert step[semconv.TOOL_CALL_ID] == "call-9"
    assert step[semconv.FACT_ARGUMENTS_FORM] == "ok"
    assert run.pending.unclaimed("call-9") is None


def test_feedback_shows_the_arguments_as_the_model_wrote_them():
    """The raw text is local content; it is quoted to the model and nobody else."""

    def answer(span):
        return directive_for(span, "feedback", template="schema_violation")

    with supervised(answer) as gate, spanward.run("bot") as run:
        run.pending.add("call-9", "look", "", "ok", "[odd-spacing]")
        said = look(5)

    assert "[odd-spacing]" in said
    assert "odd-spacing" not in "".join(span.to_json() for span in gate.spans.ended)
