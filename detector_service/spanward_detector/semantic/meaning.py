"""Answers questions with the model of a policy: loaded at the first one, with the vectors of texts remembered."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spanward_detector.model import Finding
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic import checks
from spanward_detector.semantic.embedder import INSTALL, Embedder, OnnxEmbedder, SemanticError, files
from spanward_detector.semantic.question import Question

if TYPE_CHECKING:
    from spanward_detector.semantic.embedder import Matrix

REMEMBERED: Final = 4_096
"""Vectors that are kept, those used last: some 1.5 kB each."""
_PACKAGES: Final = ("onnxruntime", "tokenizers")


def missing(policy: SemanticPolicy) -> str:
    """What keeps the model of a policy from being used, as far as it can be told without loading it; "" = nothing."""
    if not policy.model:
        return ""
    lacking = [name for name in _PACKAGES if find_spec(name) is None]
    if lacking:
        return f"the semantic checks need {' and '.join(lacking)}: {INSTALL}"
    try:
        files(Path(policy.model))
    except SemanticError as error:
        return str(error)
    return ""


class Meaning:
    """Judges answers. One thread uses it.

    Args:
        load: makes the embedder of a folder; raises SemanticError.
    """

    def __init__(self, load: Callable[[Path], Embedder] = OnnxEmbedder) -> None:
        self._load = load
        self._model = ""
        self._embed: Embedder | None = None
        self._failure = ""

    def findings(self, question: Question, policy: SemanticPolicy) -> list[Finding]:
        """What there is to say of an answer; the same for equal questions, whatever was asked before.

        Raises:
            SemanticError: the model cannot be used; loading is tried once, and not again until the policy has another.
        """
        if not policy.model:
            return []
        if self._model != policy.model:
            self._open(policy.model)
        if self._embed is None:
            raise SemanticError(self._failure)
        return checks.findings(question, policy, self._embed)

    def _open(self, model: str) -> None:
        self._model, self._embed, self._failure = model, None, ""
        try:
            self._embed = Remembering(self._load(Path(model)))
        except SemanticError as error:
            self._failure = str(error)


class Remembering:
    """An embedder that keeps the vectors of the texts used last, by digest: no text is held.

    Args:
        embed: makes the vectors.
        size: vectors kept.
    """

    def __init__(self, embed: Embedder, size: int = REMEMBERED) -> None:
        self._embed = embed
        self._size = size
        self._known: OrderedDict[bytes, Any] = OrderedDict()

    def __call__(self, texts: Sequence[str]) -> Matrix:
        """See :class:`spanward_detector.semantic.embedder.Embedder`."""
        import numpy

        return numpy.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Any:
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if (row := self._known.get(key)) is not None:
            self._known.move_to_end(key)
            return row
        self._known[key] = row = self._embed([text])[0]
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        return row
