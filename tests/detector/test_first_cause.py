"""Where a failed run broke: what was made good is no cause, endings lead back, answers are read for what they state."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from spanward_detector.codeact import named, read
from spanward_detector.first_cause import FirstCause, cause_of, first_cause, first_finding
from spanward_detector.model import Finding, Kind, SpanRef, Step
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import default
from spanward_detector.runs import Run
from spanward_detector.statements import Known

from tests.detectors.script import RUN, TRACE, Script


class Ended(NamedTuple):
    ended: str = ""


def played(write: Callable[[Script], object]) -> tuple[Run, list[Finding]]:
    """A script through the pipeline."""
    script = Script()
    write(script)
    pipeline = Pipeline(default())
    for step in script.steps:
        pipeline.step(step)
    pipeline.settle(RUN)
    run = pipeline.find(RUN)
    assert run is not None
    return run, run.findings()


def cause(write: Callable[[Script], object]) -> FirstCause | None:
    """First cause of a script."""
    return cause_of(*played(write))


def test_a_run_without_failure_has_no_cause() -> None:
    """Nothing was found, so there is nothing to explain."""
    assert cause(lambda s: (s.tool(), s.llm("Done."))) is None


def test_what_was_made_good_is_no_cause() -> None:
    """The same call worked later; the run did not fail."""
    assert cause(lambda s: (s.tool(error="ValueError"), s.tool(), s.llm("Done."))) is None


def test_the_one_that_was_not_made_good_is() -> None:
    """Of two failures the open one, though it is the later one."""
    found = cause(lambda s: (s.tool("a", error="ValueError"), s.tool("a"), s.tool("b", error="KeyError")))

    assert found is not None
    assert (found.step, found.basis, found.finding is not None) == (3, "failed_call", True)


def test_an_exception_leads_back() -> None:
    """A run that raised broke at the earliest failure on the way, not at the end."""
    run, findings = played(
        lambda s: (
            s.tool("a", error="ValueError"), s.tool("a", error="ValueError"), s.tool("a", error="ValueError"),
            s.agent(run_ended="RuntimeError"),
        )
    )  # fmt: skip
    found = cause_of(run, findings)

    assert found is not None
    assert (found.step, found.basis) == (1, "finding")
    assert first_finding(run, findings) is found.finding


def test_the_cause_does_not_depend_on_the_order_of_findings() -> None:
    """Findings come in any order."""
    run, findings = played(lambda s: (s.tool("a", error="ValueError"), s.tool("b", error="KeyError")))

    assert cause_of(run, findings) == cause_of(run, findings[::-1])


def conversation(*said: tuple[str, str, str]) -> list[Step]:
    """Steps of agents that talk: (kind, who, what)."""
    steps = []
    for at, (kind, who, what) in enumerate(said):
        step = Step(
            Kind(kind), SpanRef(TRACE, f"{at:016x}"), None, RUN, at, at, "steps", "", who, agent=who, action=who
        )
        if kind == "other":
            step.user_input = what
        elif kind == "tool":
            from spanward.facts import result_facts

            step.result, step.result_facts = what, result_facts(what, foreign_text=True)
        else:
            step.answer = what
        steps.append(step)
    return steps


ASKED = ("other", "boss", "How many visitors did the park have in 2019, and how many were children?")
PLANS = ("llm", "clerk", "Let's find the visitor numbers first. I will ask the archive for the report of that year.")
STATES = ("llm", "guide", "Here are the numbers: 48,211 visitors in all, 17,904 of them children, 1,388 on the 4th.")


@pytest.mark.parametrize(
    ("said", "step", "basis"),
    [
        ([ASKED, PLANS, STATES], 2, "new_numbers"),
        (
            [ASKED, PLANS, ("llm", "guide", "Based on the report, the park was led by **Ida Wells** in those years.")],
            2,
            "claim",
        ),
        (
            [ASKED, STATES, ("llm", "coder", "I use simulated data for now, then:\n```python\nvisitors = [100]\n```")],
            2,
            "made_up",
        ),
        ([ASKED, ("tool", "terminal", "exitcode: 0\n220"), ("llm", "clerk", "It is done, and right.")], 0, "handed_in"),
        ([ASKED, PLANS, ("tool", "archive", "48,211 17,904 1,388"), STATES], 1, "first_act"),
    ],
)  # fmt: skip
def test_an_answer_is_read_for_what_it_states(said: list[tuple[str, str, str]], step: int, basis: str) -> None:
    """Data made up, then what the request had run, then the first statement without a source; a sourced one is none."""
    steps = conversation(*said)
    found = first_cause(Ended(), [], steps)

    assert found is not None
    assert (found.ref, found.basis, found.agent) == (steps[step].ref, basis, said[step][1])
    assert found.why


def test_a_program_that_fails_is_its_authors() -> None:
    """Where agents talk and a terminal runs what they wrote, the one who wrote it is named."""
    steps = conversation(
        ASKED, ("llm", "coder", "```python\nload()\n```"), ("tool", "terminal", "exitcode: 1\nNameError")
    )
    pipeline = Pipeline(default())
    findings = [finding for step in steps for finding in pipeline.step(step).findings]
    found = first_cause(Ended(), findings, steps)

    assert found is not None
    assert (found.agent, found.basis) == ("coder", "failed_call")


def test_no_step_no_cause() -> None:
    """A run of which nothing is known has no first cause."""
    assert first_cause(Ended("KeyError"), [], []) is None


def test_known_numbers_are_no_statement() -> None:
    """What stands in the request or a result may be repeated; numbering and addresses state nothing."""
    known = Known()
    known.add("Orders 1001, 1002 and 1003 of Ann Miller are open.")

    assert known.judge("Here are the open orders that you asked for: 1001, 1002, 1003, of Ann Miller.") == ""
    assert (
        known.judge("1. Look at https://a.example/12345/67890/11121\n2. Then compare the two of them in detail.") == ""
    )


def test_a_reply_is_taken_apart() -> None:
    """Calls in strings and comments are none; a last call without a block is one; plain words are no tools."""
    reply = read("I ask helper_x.\n```py\n# helper_x(1)\nprint('other_y(2)', find_z(3))\n```\nfinal_answer(1)")

    assert reply.calls == {"print", "find_z", "final_answer"}
    assert "helper_x" in reply.prose
    assert read("final_answer(2)").calls == {"final_answer"}
    assert named("I search with web_search and search.", ["search", "web_search", "final_answer"]) == {"web_search"}
