"""What tests of the semantic checks share: an embedder of words, questions by hand, a follower that is waited for."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import numpy
import pytest
from spanward_detector.model import Finding, SpanRef, Step
from spanward_detector.pipeline import Pipeline, Verdict
from spanward_detector.policy import Policy
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic import Meaning, Question
from spanward_detector.semantic.follow import Change, SemanticFollower
from spanward_detector.text.words import subject

from tests.detectors.script import RUN, Script

ROOT = Path(__file__).resolve().parents[2]
MODEL = Path(os.environ.get("SPANWARD_COMPONENTS", ROOT / ".components")) / "semantic"
ON = SemanticPolicy(model="fake")

ASKED = "Which vaccination records does the school in Hamburg need from parents before the summer term?"
RECORDS = (
    "The school office in Hamburg wants a measles certificate for every child. Parents hand in the yellow vaccination "
    "booklet or a doctor's letter. Records are due two weeks before the first day of the summer term."
)
ANSWER = (
    "Every child needs a measles certificate for the school office in Hamburg. Parents can bring the yellow "
    "vaccination booklet or a letter of their doctor. The records are due two weeks before the first day of term."
)
RECIPE = (
    "Peel the potatoes and boil them with some salt for twenty minutes. Melt butter in a large pan and fry the chopped "
    "onions until they are golden. Stir in cream, pepper and nutmeg, and layer everything with cheese in a deep dish. "
    "Bake it for forty minutes in the hot oven and serve it with green salad."
)
DISH = f"{RECIPE} It is a dish for the summer."
"""Something else with a word of the request, so that the rule that goes by words keeps quiet."""


class Words:
    """An embedder whose vectors count stems of words: texts that share none are at right angles.

    Attributes:
        texts: everything that was embedded, in order.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._place: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        rows = numpy.zeros((len(texts), 512), numpy.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in subject(text):
                row[self._place.setdefault(word, len(self._place) % 512)] += 1
            row /= max(float(numpy.linalg.norm(row)), 1e-9)
        return rows


def asked(answer: str = RECIPE, request: str = ASKED, *heard: str, **more: Any) -> Question:
    """A question about an answer."""
    return Question("run", SpanRef("ab" * 16, "cd" * 8), 3, "agent", "m-1", answer, request, heard=heard, **more)


def conversation(answer: str = DISH, result: str = RECORDS, request: str = ASKED) -> list[Step]:
    """A model call that asks for a tool, the tool, and the answer."""
    script = Script()
    said = (("system", "You help parents of school children in Hamburg."), ("user", request))
    script.llm(said=said, calls=())
    script.tool("look_up", result=result)
    script.llm(answer, said=said)
    return script.steps


def judged(steps: Sequence[Step], policy: SemanticPolicy = ON) -> list[Verdict]:
    """What the pipeline says of steps in the order given, the settled run last."""
    pipeline = Pipeline(Policy(semantic=policy))
    verdicts = [pipeline.step(step) for step in steps]
    settled = pipeline.settle(RUN)
    return verdicts + ([settled] if settled is not None else [])


class Followed:
    """A follower whose model is a function."""

    def __init__(self, meaning: Meaning | None = None, policy: SemanticPolicy = ON) -> None:
        self.changes: list[Change] = []
        self.follower = SemanticFollower(lambda: policy, self.changes.append, meaning or Meaning(lambda _: Words()))

    def follow(self, *verdicts: Verdict) -> None:
        """Show it verdicts, and wait until nothing is asked any more."""
        for verdict in verdicts:
            self.follower.follow(verdict)
        self.wait()

    def wait(self) -> None:
        """Until nothing is asked any more."""
        deadline = time.monotonic() + 60
        while self.follower.waiting and time.monotonic() < deadline:
            Event().wait(0.001)
        assert not self.follower.waiting

    def standing(self) -> list[Finding]:
        """What was found and not taken back."""
        found: dict[Any, Finding] = {}
        for change in self.changes:
            for gone in change.withdrawn:
                del found[change.run_id, gone.key]
            found.update(((change.run_id, new.key), new) for new in change.found)
        return list(found.values())


def real_model() -> Path:
    """The folder of the real model; skips the test where it is not here."""
    if not (MODEL / "model.onnx").is_file():
        pytest.skip("no sentence model: `make components` fetches it where mvn is on PATH")
    return MODEL
