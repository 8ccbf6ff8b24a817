"""The semantic checks with a real sentence model: the same in other words, and what is really something else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy
import pytest
from spanward_detector.config import ServerConfig
from spanward_detector.detectors.off_topic import OffTopic
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import Policy
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic import Question, SemanticError
from spanward_detector.semantic.checks import findings
from spanward_detector.semantic.embedder import OnnxEmbedder

from tests.detector.conftest import config as config  # the fixture of the service's tests
from tests.semantic import traffic
from tests.semantic.fakes import ASKED, DISH, RECIPE, RECORDS, asked, conversation, judged, real_model
from tests.semantic.test_checks import CHINESE, FRAGE, GERMAN
from tests.semantic.test_service import live, replayed, semantic

pytestmark = pytest.mark.real

OTHER_WORDS = (
    "Before lessons restart, families have to show that their child is immunised against measles. Bring proof from "
    "your paediatrician, or the little yellow book. Hand this in at the secretary's desk no later than fourteen days "
    "ahead of the holidays' end."
)
INVENTED = (
    "The swimming pool opens at seven in the morning on weekdays. Visitors pay four euros and children swim for free. "
    "The sauna is closed for repairs until the middle of March. Lockers take a coin of one euro."
)


@pytest.fixture(scope="module")
def model() -> Path:
    """Its folder."""
    return real_model()


@pytest.fixture(scope="module")
def embed(model: Path) -> OnnxEmbedder:
    """It in memory."""
    return OnnxEmbedder(model)


def types(question: Question, embed: OnnxEmbedder) -> list[str]:
    """Failure types that are found with the default thresholds."""
    return [f.failure_type for f in findings(question, SemanticPolicy(model="m"), embed)]


def test_vectors_have_length_one_and_mean_something(embed: OnnxEmbedder) -> None:
    """A paraphrase is nearer than another matter."""
    rows = embed(["How do I get my money back?", "I want a refund.", "Peel the potatoes and boil them."])

    assert rows.shape == (3, 384)
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > 0.5 > 0.2 > rows[0] @ rows[2]


def test_a_text_has_one_vector_in_any_company(embed: OnnxEmbedder) -> None:
    """Alone, among longer ones, and again: live and replay must agree."""
    alone = embed(["I want a refund."])[0]

    assert numpy.array_equal(embed(["x" * 900, "I want a refund.", "a"])[1], alone)
    assert numpy.array_equal(embed(["I want a refund."])[0], alone)


@pytest.mark.parametrize(
    "hostile", ["", "\x00" * 9, "\ud800", "\udfff a", "a" * 1_000_000, "\u202e" * 99, "🏳️‍🌈" * 9999]
)
def test_any_text_has_a_vector(embed: OnnxEmbedder, hostile: str) -> None:
    """Empty, NULs, half surrogates, a megabyte; all of it finite and in time."""
    row = embed([hostile])[0]

    assert numpy.isfinite(row).all()
    assert types(asked(hostile, hostile, hostile, whole=True), embed) == []


def test_an_answer_in_other_words_is_on_topic_and_grounded(embed: OnnxEmbedder) -> None:
    """It shares few words with what the tool returned, and says the same."""
    assert types(asked(OTHER_WORDS, ASKED, RECORDS, ASKED, whole=True), embed) == []


@pytest.mark.parametrize("answer", [RECIPE, DISH], ids=["recipe", "a word of the request"])
def test_an_answer_about_something_else_is_found(embed: OnnxEmbedder, answer: str) -> None:
    """By its meaning, also where it has a word of the request."""
    assert types(asked(answer, ASKED, RECORDS, ASKED, whole=True), embed) == ["off_topic", "ungrounded"]


def test_it_sees_what_goes_by_words_alone_misses(embed: OnnxEmbedder) -> None:
    """One word of the request is enough to keep the rule ``off_topic`` quiet."""
    steps = conversation(DISH)
    pipeline = Pipeline(Policy())
    for step in steps:
        pipeline.step(step)
    run = pipeline.find(steps[0].run_id)
    assert run is not None
    (question,) = judged(steps, SemanticPolicy(model="m"))[2].questions

    assert OffTopic.name not in {f.rule for f in run.findings()}
    assert "off_topic" in types(question, embed)


def test_sentences_that_no_result_carries_are_found(embed: OnnxEmbedder) -> None:
    """The answer is about the request in its first sentence, and then makes things up."""
    made_up = f"The school in Hamburg needs vaccination records from parents. {INVENTED}"

    assert types(asked(made_up, ASKED, RECORDS, ASKED, whole=True), embed) == ["ungrounded"]
    assert types(asked(made_up, ASKED, INVENTED, RECORDS, ASKED, whole=True), embed) == []


@pytest.mark.parametrize(
    ("answer", "request_", "result"),
    [
        pytest.param(GERMAN, FRAGE, RECORDS, id="German, off topic"),
        pytest.param("Die Schule braucht den Impfpass und ein Attest, und zwar bis zum ersten Tag. " * 4, FRAGE,
                     "Masernnachweis: Impfpass oder Attest vom Arzt, bis zum ersten Schultag, für jede Klasse.",
                     id="German, right"),
        pytest.param(CHINESE, CHINESE, RECORDS, id="Chinese"),
        pytest.param(RECIPE, ASKED, CHINESE, id="English about Chinese results"),
        pytest.param(RECIPE, ASKED, GERMAN, id="English about German results"),
    ],
)  # fmt: skip
def test_other_languages_never_cry_wolf(embed: OnnxEmbedder, answer: str, request_: str, result: str) -> None:
    """The model knows little but English: nothing else is compared."""
    assert types(asked(answer, request_, result, request_, whole=True), embed) == []


async def test_live_and_replay_say_the_same(config: ServerConfig, model: Path) -> None:
    """Types, spans and numbers, through the whole detector."""
    data = traffic.conversation(DISH, RECORDS)
    run = await live(config, model, data)
    again = [f.finding for f in replayed(data, model) if f.finding.rule == "semantic"]

    assert [f.failure_type for f in again] == ["off_topic", "ungrounded"]
    assert semantic(run["findings"]) == sorted((f.failure_type, f.ref.span_id, dict(f.facts)) for f in again)
    assert run["state"] == "DONE"


@pytest.mark.parametrize(("name", "damage"), [("model.onnx", b""), ("model.onnx", b"x"), ("tokenizer.json", b"{}")])
def test_a_damaged_file_is_named(model: Path, tmp_path: Path, name: str, damage: bytes) -> None:
    """With what to do about it."""
    for file in ("model.onnx", "tokenizer.json"):
        shutil.copy(model / file, tmp_path / file)
    (tmp_path / name).write_bytes((model / name).read_bytes()[:1000] + damage if damage != b"{}" else damage)

    with pytest.raises(SemanticError, match=f"{name} cannot be read .*fetch it again"):
        OnnxEmbedder(tmp_path)


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize(
    ("inputs", "outputs", "shape", "said"),
    [
        (("pixels",), ("logits",), (1, 2, 3), "takes pixels, not input_ids, attention_mask"),
        (("input_ids", "attention_mask"), ("logits",), (1, 2, 3), "gives logits, not one of last_hidden_state"),
        (("input_ids", "attention_mask"), ("last_hidden_state",), (1,), "gives shape"),
    ],
)
def test_another_kind_of_model_is_refused(
    model: Path, monkeypatch: pytest.MonkeyPatch, inputs: Any, outputs: Any, shape: Any, said: str
) -> None:
    """By its inputs, outputs and shape, with what to write."""

    class Session:
        def __init__(self, *_: Any, **__: Any) -> None: ...
        def get_inputs(self) -> list[_Named]:
            return [_Named(name) for name in inputs]

        def get_outputs(self) -> list[_Named]:
            return [_Named(name) for name in outputs]

        def run(self, *_: Any) -> list[Any]:
            return [numpy.zeros(shape, numpy.float32)]

    monkeypatch.setattr("onnxruntime.InferenceSession", Session)
    with pytest.raises(SemanticError, match=f"{said}.*write the folder of a sentence encoder"):
        OnnxEmbedder(model)
