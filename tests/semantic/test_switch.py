"""Switching the semantic checks on: policy, environment, and clear words for what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from spanward_detector.config import ServerConfig
from spanward_detector.policy import PolicyError, default, load
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic import meaning
from spanward_detector.semantic.embedder import SemanticError, files
from spanward_detector.service import Detector, StartError

from tests.detector.conftest import config as config  # the fixture of the service's tests


def test_it_is_off_by_default_and_costs_no_import() -> None:
    """A detector without a model's folder needs none of the libraries."""
    code = (
        "import sys, spanward_detector.service, spanward_detector.replay, spanward_detector.pipeline; "
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
    assert default().semantic == SemanticPolicy()
    assert default().semantic.model == ""


def test_the_folder_counts_from_the_policy_file_on(tmp_path: Path) -> None:
    """A policy and its model move together; an absolute folder and one in a policy from a text stay as they are."""
    file = tmp_path / "policy.yaml"
    file.write_text("semantic: {model: models/minilm, topic: 0.2}\n")
    absolute = tmp_path / "absolute.yaml"
    absolute.write_text(f"semantic: {{model: {tmp_path}/m}}\n")

    assert load(file).semantic == SemanticPolicy(model=str(tmp_path / "models/minilm"), topic=0.2)
    assert load(absolute).semantic.model == f"{tmp_path}/m"
    assert load("semantic: {model: m}\n").semantic.model == "m"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param("semantic:\n  modle: m\n", 2, "did you mean 'model'?", id="unknown key"),
        pytest.param("semantic: {topic: 30}\n", 1, "write 0 to 1", id="percent"),
        pytest.param("semantic:\n  grounded: -1\n", 2, "0 or more", id="negative"),
        pytest.param("semantic:\n  share: half\n", 2, "a number", id="text for a number"),
        pytest.param("semantic: {sentences: 0}\n", 1, "write 1 or more", id="no sentence"),
        pytest.param("semantic: {max_chars: 10}\n", 1, "write 1000 or more", id="nothing read"),
        pytest.param("semantic: m\n", 1, "write key: value", id="no mapping"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line_and_what_to_write(text: str, line: int, said: str) -> None:
    """As in every section of a policy."""
    with pytest.raises(PolicyError) as caught:
        load(text)

    assert any(p.line == line and said in str(p) for p in caught.value.problems), str(caught.value)


def test_the_environment_names_a_model_where_the_policy_names_none() -> None:
    """The policy's own word counts more."""
    config = ServerConfig.from_env({"SPANWARD_SEMANTIC_MODEL": "m"})

    assert config.semantic_model == "m"
    assert default().with_model("m").semantic.model == "m"
    assert load("semantic: {model: own}").with_model("m").semantic.model == "own"
    assert default().with_model("") is default()


def test_a_folder_is_taken_in_both_layouts(tmp_path: Path) -> None:
    """``model.onnx`` beside the tokenizer or in ``onnx/``; what is missing is named with what to write."""
    with pytest.raises(SemanticError, match=r"has no model\.onnx: write the folder of"):
        files(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx/model.onnx").touch()
    with pytest.raises(SemanticError, match=r"has no tokenizer\.json"):
        files(tmp_path)
    (tmp_path / "tokenizer.json").touch()

    assert files(tmp_path)[0] == tmp_path / "onnx/model.onnx"
    (tmp_path / "model.onnx").touch()
    assert files(tmp_path)[0] == tmp_path / "model.onnx"


def test_without_the_extra_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is loaded."""
    monkeypatch.setattr(meaning, "find_spec", lambda _: None)

    assert "pip install 'spanward[detector,semantic]'" in meaning.missing(SemanticPolicy(model="m"))
    assert meaning.missing(SemanticPolicy()) == ""


async def test_a_detector_with_a_folder_that_is_none_does_not_start(tmp_path: Path, config: ServerConfig) -> None:
    """Whoever switches it on is told at once, and not by its silence."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("semantic: {model: nowhere}\n")
    values = {name: getattr(config, name) for name in ("grpc_address", "http_address", "data_dir")}

    with pytest.raises(StartError, match=r"nowhere has no model\.onnx"):
        await Detector(ServerConfig(**values, policy_path=policy)).start()
    with pytest.raises(StartError, match=r"elsewhere has no model\.onnx"):
        await Detector(ServerConfig(**values, semantic_model="elsewhere")).start()
