"""Facts about arguments, results and answers: what may leave the agent's process when the content may not.

One library for both sides. The gate computes facts at the edge, the detector computes them where telemetry carries the
content, and both get the same. Pure.
"""

from spanward.canonical import canonical_json, canonical_of_text, digest, text_of
from spanward.facts.compute import answer_facts, arguments_facts, facts_and_digest, result_facts
from spanward.facts.model import (
    AnswerFacts,
    ArgumentsFacts,
    Facts,
    ResultFacts,
    facts_from_attributes,
    facts_to_attributes,
)
from spanward.facts.signature import error_signature
from spanward.facts.tools import Foreign, foreign_text_of, foreign_text_tool
from spanward.schema import Schema

__all__ = [
    "AnswerFacts",
    "ArgumentsFacts",
    "Facts",
    "Foreign",
    "ResultFacts",
    "Schema",
    "answer_facts",
    "arguments_facts",
    "canonical_json",
    "canonical_of_text",
    "digest",
    "error_signature",
    "facts_and_digest",
    "facts_from_attributes",
    "facts_to_attributes",
    "foreign_text_of",
    "foreign_text_tool",
    "result_facts",
    "text_of",
]
