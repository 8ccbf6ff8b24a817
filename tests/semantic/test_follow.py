"""The follower: off the path of spans, bounded, and in the end the same for every order of arrival."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from spanward_detector.aside import Aside
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import Policy, default
from spanward_detector.run_lifecycle import COMPLETED, Life, ended, judged, observed
from spanward_detector.semantic import Meaning, SemanticError
from spanward_detector.semantic.follow import WAITING
from spanward_detector.semantic.meaning import Remembering

from tests.detectors.script import Script
from tests.semantic.fakes import ANSWER, ASKED, DISH, ON, RECIPE, RECORDS, Followed, Words, asked, conversation
from tests.semantic.fakes import judged as judged_by_pipeline


class Held:
    """A model that answers once it is let go."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def load(self, _folder: Path) -> Words:
        assert self.free.wait(30)
        return Words()


def broken(_folder: Path) -> Words:
    """A model that cannot be used."""
    raise SemanticError("no model.onnx: fetch it")


def test_an_answer_that_rests_on_nothing_is_told_once() -> None:
    """Both findings at the step of the answer, and no second time when the run settles."""
    followed = Followed()
    steps = conversation()
    followed.follow(*judged_by_pipeline(steps))

    assert [(f.failure_type, f.ref, f.step) for f in followed.standing()] == [
        ("off_topic", steps[-1].ref, 3),
        ("ungrounded", steps[-1].ref, 3),
    ]
    assert len(followed.changes) == 1


def test_an_answer_about_the_matter_is_not_told() -> None:
    """Nothing is said of it."""
    followed = Followed()
    followed.follow(*judged_by_pipeline(conversation(ANSWER)))

    assert followed.changes == []
    assert followed.follower.counters["asked"] == 1


def test_what_rules_have_found_is_not_said_again() -> None:
    """The words alone show it: the answer shares none with the request, nor with what the tool returned."""
    steps = conversation(RECIPE)
    verdicts = judged_by_pipeline(steps)
    followed = Followed()
    followed.follow(*verdicts)

    assert {f.failure_type for v in verdicts for f in v.findings} >= {"off_topic"}
    assert [f.failure_type for f in followed.standing() if f.failure_type == "off_topic"] == []


def test_other_steps_and_policies_without_a_model_ask_nothing() -> None:
    """Tools, calls of tools, failed calls; and everything where no folder is named."""
    script = Script()
    script.llm("I will look.", calls=(), n_calls=1)
    script.tool()
    script.llm(error="Timeout")

    assert [v.questions for v in judged_by_pipeline(script.steps)] == [()] * 4
    assert all(v.questions == () for v in judged_by_pipeline(conversation(), replace(ON, model="")))


def test_the_answer_is_the_same_in_every_order_of_arrival() -> None:
    """A result that comes late clears the answer, and what was said of it is taken back."""
    steps = conversation(DISH, result=DISH)
    tool_last = [steps[0], steps[2], steps[1]]
    followed = Followed()
    followed.follow(*judged_by_pipeline([replace(step, index=0) for step in tool_last]))

    assert [f.failure_type for f in followed.changes[0].found] == ["off_topic"]
    assert followed.changes[1].withdrawn == followed.changes[0].found
    assert followed.standing() == []


@pytest.mark.parametrize("seed", range(6))
def test_shuffled_conversations_end_alike(seed: int) -> None:
    """Good and bad answers of one run, in any order."""
    script = Script()
    for answer, result in ((ANSWER, RECORDS), (DISH, RECORDS), (DISH, f"{DISH} Enjoy."), (ANSWER, RECORDS)):
        script.tool("look_up", result=result)
        script.llm(answer, said=(("user", ASKED),))
    in_order, shuffled = Followed(), Followed()
    in_order.follow(*judged_by_pipeline(script.steps))
    steps = random.Random(seed).sample(script.steps, len(script.steps))
    shuffled.follow(*judged_by_pipeline([replace(step, index=0) for step in steps]))

    assert {f.key for f in shuffled.standing()} == {f.key for f in in_order.standing()}
    assert {f.step for f in in_order.standing()} == {4}


def test_a_step_that_turns_out_to_be_no_answer_is_taken_back() -> None:
    """Log records tell later that the model called a tool."""
    steps = conversation()
    pipeline, followed = Pipeline(Policy(semantic=ON)), Followed()
    followed.follow(*(pipeline.step(step) for step in steps))
    told = followed.standing()
    fuller = replace(steps[-1], n_calls=1, index=0)
    run = pipeline.runs.revise(fuller)
    assert run is not None
    followed.follow(pipeline._judge(fuller, run))

    assert told
    assert followed.standing() == []


def test_following_never_waits_and_the_queue_has_an_end() -> None:
    """The model hangs: verdicts are followed at once, and what does not fit is counted."""
    held = Held()
    followed = Followed(Meaning(held.load))
    verdict = judged_by_pipeline(conversation())[2]
    (question,) = verdict.questions
    for n in range(WAITING + 5):
        ref = question.ref._replace(span_id=f"{n:016x}")
        followed.follower.follow(verdict._replace(questions=(replace(question, ref=ref),)))

    assert followed.changes == []
    assert followed.follower.counters == {"asked": WAITING, "same": 0, "full": 5, "failed": 0}
    held.free.set()
    followed.wait()
    assert len(followed.changes) == WAITING


def test_a_model_that_cannot_be_used_is_told_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """One line in the log, and a count for each answer."""
    followed = Followed(Meaning(broken))
    followed.follow(*judged_by_pipeline(conversation()), *judged_by_pipeline(conversation(ANSWER)))

    assert followed.changes == []
    assert followed.follower.counters["failed"] == followed.follower.counters["asked"] > 1
    assert [r.getMessage() for r in caplog.records if r.levelname == "ERROR"] == [
        "no answer is judged by its meaning: no model.onnx: fetch it"
    ]


def test_a_fault_in_a_check_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged and counted; the next answer is judged."""

    class Faulty(Meaning):
        def findings(self, *_: object) -> list[object]:  # type: ignore[override]
            raise ZeroDivisionError

    followed = Followed(Faulty())
    followed.follow(*judged_by_pipeline(conversation()))

    assert followed.follower.counters["failed"] == followed.follower.counters["asked"] >= 1


def test_once_stopped_nothing_is_asked() -> None:
    """It is counted as not having found room."""
    followed = Followed()
    followed.follow(*judged_by_pipeline(conversation(ANSWER)))
    followed.follower.stop()
    followed.follow(*judged_by_pipeline(conversation()))

    assert followed.changes == []
    assert followed.follower.counters["full"] >= 1


def test_it_gives_no_run_done_and_fails_none() -> None:
    """A run whose answer is doubted is DONE all the same, and no ladder is climbed."""
    verdicts = judged_by_pipeline(conversation())
    followed = Followed()
    followed.follow(*verdicts)
    life = Life("r", root_seen=True)
    for verdict in verdicts[:-1]:
        observed(life, verdict.step, verdict.findings, verdict.withdrawn, 1)
    ended(life, COMPLETED, 2)

    assert followed.standing()
    assert [move.to_state for move in judged(life, 3)][-1] == "DONE"
    assert all(verdict.directive is None for verdict in verdicts)
    assert default().ladder("off_topic")


def test_equal_texts_are_embedded_once_and_the_oldest_are_forgotten() -> None:
    """By digest, in the order of their last use."""
    words = Words()
    remembering = Remembering(words, size=2)
    remembering(["a", "b", "a", "c"])
    remembering(["a", "b"])

    assert words.texts == ["a", "b", "c", "b"]


def test_another_model_is_loaded_when_the_policy_names_one() -> None:
    """And one that failed is not tried again for each answer."""
    loaded: list[str] = []

    def load(folder: Path) -> Words:
        loaded.append(folder.name)
        if folder.name == "bad":
            raise SemanticError("bad")
        return Words()

    meaning = Meaning(load)
    for model in ("bad", "bad", "good", "good", "bad"):
        try:
            meaning.findings(asked(), replace(ON, model=model))
        except SemanticError:
            assert model == "bad"

    assert loaded == ["bad", "good", "bad"]


def test_work_beside_the_path_is_bounded_and_survives_faults(caplog: pytest.LogCaptureFixture) -> None:
    """A fault of one piece is logged; the next is done, and nothing is taken or told of after the end."""
    aside, done, began, free = Aside("test", 1, 2), threading.Event(), threading.Event(), threading.Event()

    def late() -> None:
        began.set()
        free.wait(5)
        raise RuntimeError("the loop is closed")

    assert aside.submit(lambda: 1 / 0 and None)
    assert aside.submit(done.set)
    assert done.wait(5)
    _idle(aside)
    assert aside.submit(late)
    assert began.wait(5)
    aside.stop()
    assert not aside.submit(done.set)
    free.set()
    _idle(aside)
    assert [record.getMessage() for record in caplog.records] == ["a fault of ours on test"]


def _idle(aside: Aside) -> None:
    deadline = time.monotonic() + 5
    while aside.waiting and time.monotonic() < deadline:
        threading.Event().wait(0.001)
    assert not aside.waiting
