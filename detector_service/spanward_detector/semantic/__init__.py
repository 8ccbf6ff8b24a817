"""Answers held against requests and results by meaning, with a small model on this machine: the extra ``[semantic]``.

Nothing here imports the model's libraries before a question is asked of it. What is found passes neither policy nor the
run's states: it warns, and orders nothing.
"""

from __future__ import annotations

from spanward_detector.semantic.embedder import SemanticError
from spanward_detector.semantic.meaning import Meaning, missing
from spanward_detector.semantic.question import Question, question

__all__ = ["Meaning", "Question", "SemanticError", "missing", "question"]
