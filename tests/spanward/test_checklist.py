"""Checklists: what a run said it would have done is looked at where its files and objects are."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest
import spanward
from spanward import semconv
from spanward.checklist import CheckResult, answer, artefact, called, field, that
from spanward.testing import directive_for, supervised


@spanward.tool(side_effect="write")
def send(to: str, text: str = "") -> str:
    """A tool that fails for one recipient."""
    if to == "nobody":
        raise LookupError("unknown recipient")
    return "sent"


def outcome(checklist: list[Any], act: Any = lambda run: None) -> tuple[list[tuple[str, str]], str]:
    """What became of a checklist, as (name, reason), and how its run ended."""
    with supervised() as gate:
        with spanward.run("bot", checklist=checklist) as run:
            act(run)
        root = next(span for span in gate.spans.ended if span.name == "invoke_agent bot")
    return [(result.name, result.reason) for result in run.checks], str(root.attributes[semconv.RUN_ENDED])


def test_a_call_that_was_made_and_worked_is_met() -> None:
    """Name, arguments and number of calls count; a call that failed does not."""
    items = [
        called("send", to="a@example.com"),
        called("send", times=2, label="two"),
        called("send", to=lambda value: value.startswith("b")),
        called("send", to="nobody"),
        called("post", label="other tool"),
    ]

    def act(run: Any) -> None:
        send("a@example.com")
        send(to="b@example.com")
        with pytest.raises(LookupError):
            send("nobody")

    results, ended = outcome(items, act)

    assert [reason for _, reason in results] == ["", "", "", "not_called", "not_called"]
    assert ended == "incomplete"


def test_a_call_in_a_run_inside_counts_for_the_outer_one() -> None:
    """Sub-agents do the work of the run that started them."""

    def act(run: Any) -> None:
        with spanward.run("helper"):
            send("x")

    assert outcome([called("send")], act) == ([("called send", "")], "completed")


def test_an_artefact_has_size_and_checksum(tmp_path: Path) -> None:
    """Missing, too small, too large, other bytes, and a directory are told apart from the file that was asked for."""
    good = tmp_path / "report.csv"
    good.write_bytes(b"a,b\n")
    right = hashlib.sha256(b"a,b\n").hexdigest()
    items = [
        artefact(good, sha256=right, fresh=True),
        artefact(good, min_size=5, label="min"),
        artefact(good, max_size=3, label="max"),
        artefact(good, sha256="00" * 32, label="sum"),
        artefact(tmp_path / "none.csv"),
        artefact(tmp_path, label="dir"),
    ]

    results, _ = outcome(items)

    assert [reason for _, reason in results] == ["", "size", "size", "checksum", "missing", "missing"]
    assert results[0][0] == "artefact report.csv"


def test_a_file_from_before_the_run_is_stale(tmp_path: Path) -> None:
    """``fresh`` asks for a file that this run wrote."""
    import os

    old = tmp_path / "old"
    old.write_text("x")
    os.utime(old, (1, 1))

    assert outcome([artefact(old, fresh=True)])[0] == [("artefact old", "stale")]


@pytest.mark.parametrize(
    ("said", "reasons"),
    [
        ({"total": 42.3, "items": [{"id": "a"}]}, ["", "", "", ""]),
        ('{"total": 43, "items": []}', ["", "value", "", "missing"]),
        ({"total": "42"}, ["schema", "value", "value", "missing"]),
        ("done", ["not_json"] * 4),
        (None, ["no_answer"] * 4),
    ],
)
def test_the_answer_fits_a_schema_and_its_fields_have_a_tolerance(said: object, reasons: list[str]) -> None:
    """Numbers may differ by an amount or a share; everything else is equal or not."""
    items = [
        answer({"type": "object", "properties": {"total": {"type": "number"}}}),
        field("/total", 42, tolerance=0.5),
        field("/total", 42, share=0.1, label="share"),
        field("/items/0/id", "a"),
    ]

    results, _ = outcome(items, lambda run: setattr(run, "answer", said))

    assert [reason for _, reason in results] == reasons


def test_a_function_of_the_user_decides() -> None:
    """True, false, one that raises, one that wants the run; a bare function is an item, too."""

    def bare() -> bool:
        return True

    def broken() -> bool:
        raise OSError("secret")

    items = [bare, that("no", lambda: 0), that("raises", broken), that("run", lambda run: run.name == "bot")]

    results, ended = outcome(items)

    assert results == [("bare", ""), ("no", "false"), ("raises", "raised"), ("run", "")]
    assert ended == "incomplete"


def test_a_function_that_hangs_is_not_waited_for_beyond_its_time() -> None:
    """What could not be told is not held against the tool, and a hard item without an answer is not met."""
    import threading

    stuck = threading.Event()
    results, ended = outcome([that("slow", stuck.wait, timeout=0.05)])
    stuck.set()

    assert (results, ended) == ([("slow", "timeout")], "incomplete")


def test_a_soft_item_is_noted_and_no_more() -> None:
    """Its step tells that it does not hold; the run ends as it would."""
    with supervised() as gate, spanward.run("bot", checklist=[that("nice", lambda: False, hard=False)]) as run:
        pass
    (step,) = gate.spans.steps("validation")

    assert run.checks == (CheckResult("nice", "callable", False, False, "false"),)
    assert step[semconv.CHECK_PASSED] is False
    assert step[semconv.CHECK_HARD] is False
    assert gate.spans.ended[-1].attributes[semconv.RUN_ENDED] == "completed"


def test_checks_are_steps_of_the_run_with_facts_only(tmp_path: Path) -> None:
    """``validate <item>`` below the run's span, numbered after its steps; no path, no value."""
    with supervised() as gate, spanward.run("bot", checklist=[artefact(tmp_path / "out.csv"), called("send")]):
        send("a@example.com")
    _, missing, sent, root = gate.spans.ended

    assert [missing.name, sent.name] == ["validate artefact out.csv", "validate called send"]
    assert missing.parent.span_id == root.context.span_id
    assert (missing.attributes[semconv.STEP_INDEX], sent.attributes[semconv.STEP_INDEX]) == (2, 3)
    assert missing.attributes[semconv.CHECK_REASON] == "missing"
    assert sent.attributes[semconv.CHECK_PASSED] is True
    assert root.attributes[semconv.RUN_ENDED] == "incomplete"
    assert gate.control.updates[-1].reason == "incomplete"
    assert str(tmp_path) not in "".join(span.to_json() for span in gate.spans.ended)


def test_a_run_that_ends_by_an_exception_is_not_checked() -> None:
    """How it ended is told by the exception's class, and it is not done whatever the list says."""
    with supervised() as gate, pytest.raises(ValueError, match="x"), spanward.run("bot", checklist=[lambda: True]):
        raise ValueError("x")

    assert gate.spans.steps("validation") == []
    assert gate.spans.ended[-1].attributes[semconv.RUN_ENDED] == "ValueError"


def test_an_interrupt_during_a_check_ends_the_run() -> None:
    """The check's step and the run are closed, and the interrupt goes on."""

    def interrupted() -> bool:
        raise KeyboardInterrupt

    with supervised() as gate, pytest.raises(KeyboardInterrupt), spanward.run("bot", checklist=[interrupted]):
        pass

    assert [span.name for span in gate.spans.ended] == ["validate interrupted", "invoke_agent bot"]
    assert gate.spans.ended[-1].attributes[semconv.RUN_ENDED] == "KeyboardInterrupt"
    assert spanward.current_run() is None


def test_async_runs_await_async_checks() -> None:
    """A coroutine function is awaited in an async run, and cannot be told in a sync one."""

    async def later() -> bool:
        await asyncio.sleep(0)
        return True

    async def main() -> tuple[CheckResult, ...]:
        async with spanward.run("bot", checklist=[later]) as run:
            pass
        return run.checks

    with supervised():
        assert asyncio.run(main())[0].passed is True
    assert outcome([later]) == ([("later", "unknown")], "incomplete")


def test_what_a_decorated_function_returns_is_the_answer() -> None:
    """``@run(...)``: each call is a run of its own, with an account of its own."""
    seen: list[object] = []

    @spanward.run("bot", checklist=[field("/n", 1), that("keep", lambda run: seen.append(run) or True)])
    def agent(n: int) -> dict[str, int]:
        return {"n": n}

    with supervised():
        agent(1)
        agent(2)

    assert [run.checks[0].reason for run in seen] == ["", "value"]  # type: ignore[attr-defined]


def test_a_list_that_makes_no_sense_is_refused_before_the_start() -> None:
    """Neither item nor function, and no price."""
    with pytest.raises(ValueError, match="checklist"):
        spanward.run("bot", checklist=["send"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="max_cost"):
        spanward.run("bot", max_cost=0)


# --------------------------------------------------------------------------------------------------------- cross-checks


def _with_check(check: Any) -> Any:
    @spanward.tool(side_effect="write", cross_check=check)
    def book(room: str) -> str:
        if room == "0":
            raise LookupError("no such room")
        return "booked"

    return book


@pytest.mark.parametrize(
    ("says", "passed", "reason"),
    [(True, True, None), ("id-7", True, None), (False, False, "false"), (None, None, "unknown")],
)
def test_a_cross_check_is_a_validation_step(says: object, passed: bool | None, reason: str | None) -> None:
    """The second source is asked with the result and the arguments; what it says is a fact."""
    asked = []
    book = _with_check(lambda result, room: asked.append((result, room)) or says)
    with supervised() as gate, spanward.run("bot"):
        assert book("12") == "booked"
    (step,) = gate.spans.steps("validation")

    assert asked == [("booked", "12")]
    assert step[semconv.CHECK_KIND] == "cross_check"
    assert step[semconv.ACTION] == "book"
    assert step.get(semconv.CHECK_PASSED) is passed
    assert step.get(semconv.CHECK_REASON) == reason


def test_a_cross_check_that_raises_settles_nothing() -> None:
    """The tool's result stands, and the step says that it could not be told."""

    def check(result: str, room: str) -> bool:
        raise OSError("secret")

    with supervised() as gate, spanward.run("bot"):
        assert _with_check(check)("12") == "booked"
    (step,) = gate.spans.steps("validation")

    assert step[semconv.CHECK_REASON] == "raised"
    assert semconv.CHECK_PASSED not in step


def test_a_call_that_failed_is_not_cross_checked() -> None:
    """There is nothing to hold against a second source."""
    with supervised() as gate, spanward.run("bot"), pytest.raises(LookupError):
        _with_check(lambda result, room: True)("0")

    assert gate.spans.steps("validation") == []


def test_feedback_on_a_cross_check_takes_the_place_of_the_result() -> None:
    """The model hears that the write is not there, instead of "booked"."""

    def detector(span: Any) -> Any:
        failed = span.attributes.get(semconv.CHECK_PASSED) is False
        return directive_for(span, "feedback", template="silent_error") if failed else None

    with supervised(answer=detector), spanward.run("bot"):
        said = _with_check(lambda result, room: False)("12")

    assert "book" in said
    assert said != "booked"


def test_an_async_tool_awaits_its_cross_check() -> None:
    """``async`` where the tool is."""

    async def check(result: str, room: str) -> bool:
        await asyncio.sleep(0)
        return False

    @spanward.tool(side_effect="write", cross_check=check)
    async def book(room: str) -> str:
        return "booked"

    async def main() -> None:
        async with spanward.run("bot"):
            await book("1")

    with supervised() as gate:
        asyncio.run(main())

    assert gate.spans.steps("validation")[0][semconv.CHECK_PASSED] is False
