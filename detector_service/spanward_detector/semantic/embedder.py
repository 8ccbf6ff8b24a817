"""Sentence vectors from an ONNX model on this machine.

Reads the folder that exports of sentence-transformers have: ``model.onnx`` (or ``onnx/model.onnx``) and
``tokenizer.json``. A vector is the mean over the tokens, of length 1, as all-MiniLM-L6-v2 wants it.

Texts go through the model one at a time. Models in int8 scale by what is in the batch, so that a text has another
vector in other company, up to 0.02 in cosine, and what is found would depend on chance. On one thread a batch saves
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

TOKENS: Final = 256
"""Tokens of one text that are read."""
INSTALL: Final = "pip install 'spanward[detector,semantic]'"
EXPORT: Final = "optimum-cli export onnx --model sentence-transformers/all-MiniLM-L6-v2 FOLDER"
_ENCODER: Final = f"write the folder of a sentence encoder, e.g. the one that `{EXPORT}` makes"
_MODELS: Final = ("model.onnx", "onnx/model.onnx")
_TOKENIZER: Final = "tokenizer.json"
_NEEDED: Final = ("input_ids", "attention_mask")
_OPTIONAL: Final = "token_type_ids"
_OUTPUTS: Final = ("last_hidden_state", "token_embeddings", "sentence_embedding")
_POOLED: Final = 2
_TOKENWISE: Final = 3
"""Axes of an output."""


class SemanticError(ValueError):
    """The model cannot be used; the message says what to do about it."""


class Embedder(Protocol):
    """Makes vectors of texts."""

    def __call__(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text, shape (texts, dimensions); equal texts have equal rows."""


def files(folder: Path) -> tuple[Path, Path]:
    """The model and the tokenizer in a folder.

    Raises:
        SemanticError: one of them is not there.
    """
    model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
    tokenizer = folder / _TOKENIZER
    if model is None or not tokenizer.is_file():
        lacking = _TOKENIZER if model is not None else _MODELS[0]
        raise SemanticError(f"{folder} has no {lacking}: {_ENCODER}")
    return model, tokenizer


class OnnxEmbedder:
    """A model in memory. One thread uses it.

    Args:
        folder: with its files.

    Attributes:
        dimensions: of a vector.

    Raises:
        SemanticError: the extra is not installed, a file is missing or damaged, or it is another kind of model.
    """

    def __init__(self, folder: Path) -> None:
        model, tokenizer = files(folder)
        self._model = model
        try:
            import numpy
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise SemanticError(f"the semantic checks need {error.name or 'more packages'}: {INSTALL}") from error
        self._np = numpy
        self._tokenizer: Any = _opened(tokenizer, lambda: Tokenizer.from_file(str(tokenizer)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        cpu = ["CPUExecutionProvider"]
        self._session: Any = _opened(model, lambda: onnxruntime.InferenceSession(str(model), options, providers=cpu))
        self._types = self._inputs(model)
        self._output = self._outputs(model)
        self.dimensions = self._pooled(model)

    def __call__(self, texts: Sequence[str]) -> Matrix:
        """See :class:`Embedder`."""
        rows = self._np.zeros((len(texts), self.dimensions), self._np.float32)
        for row, text in enumerate(texts):
            rows[row] = self._vector(text)
        return rows

    def _vector(self, text: str) -> Any:
        hidden = _opened(self._model, lambda: self._run(text))
        # A single text has no padding: the mean over the attention mask is the mean over all tokens.
        pooled = hidden[0].mean(axis=0) if hidden.ndim == _TOKENWISE else hidden[0]
        return pooled / max(float(self._np.linalg.norm(pooled)), 1e-12)

    def _run(self, text: str) -> Any:
        # The tokenizer takes UTF-8 only, and half a surrogate pair is none.
        ids = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        given = self._np.array([ids], self._np.int64)
        feed = {"input_ids": given, "attention_mask": self._np.ones_like(given)}
        if self._types:
            feed[_OPTIONAL] = self._np.zeros_like(given)
        return self._session.run([self._output], feed)[0]

    def _inputs(self, model: Path) -> bool:
        """Whether the model wants token types."""
        names = [given.name for given in self._session.get_inputs()]
        lacking = [name for name in _NEEDED if name not in names]
        odd = [name for name in names if name not in (*_NEEDED, _OPTIONAL)]
        if lacking or odd:
            raise SemanticError(f"{model} takes {', '.join(names)}, not {', '.join(_NEEDED)}: {_ENCODER}")
        return _OPTIONAL in names

    def _outputs(self, model: Path) -> str:
        """Name of the output that vectors are made of."""
        names = [given.name for given in self._session.get_outputs()]
        known = next((name for name in _OUTPUTS if name in names), None)
        if known is None:
            raise SemanticError(f"{model} gives {', '.join(names)}, not one of {', '.join(_OUTPUTS)}: {_ENCODER}")
        return known

    def _pooled(self, model: Path) -> int:
        """Dimensions of a vector, from a trial."""
        hidden = _opened(model, lambda: self._run("trial"))
        if hidden.ndim not in (_POOLED, _TOKENWISE) or hidden.shape[0] != 1 or hidden.dtype.kind != "f":
            raise SemanticError(f"{model} gives shape {hidden.shape}, not (1, tokens, dimensions): {_ENCODER}")
        return int(hidden.shape[-1])


def _opened(file: Path, make: Any) -> Any:
    """What ``make`` makes of a file. The libraries raise classes of their own for damaged files."""
    try:
        return make()
    except Exception as error:
        first = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise SemanticError(f"{file} cannot be read ({first}): fetch it again, e.g. by `{EXPORT}`") from error
