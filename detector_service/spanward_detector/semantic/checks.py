"""What the vectors of an answer say beside those of its request and of what tools returned. Pure functions.

Both checks read until the answer is cleared, and give up where there is more to read than the policy allows: what was
not looked at may be what the answer rests on. Only English is compared, since the model at hand knows little else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from spanward_detector.model import Finding
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic.embedder import Embedder
from spanward_detector.semantic.question import Question
from spanward_detector.text.answers import matter
from spanward_detector.text.passages import passages, sentences
from spanward_detector.text.words import language

RULE: Final = "semantic"
SIZE: Final = 400
"""Characters of a passage."""
_OF_ANSWER: Final = 8
"""Passages of an answer that are held against the request: an answer may wander, but not from its beginning on."""
_ENGLISH: Final = "en"
_LETTERS: Final = 2_000
_FOREIGN: Final = 0.2


def findings(question: Question, policy: SemanticPolicy, embed: Embedder) -> list[Finding]:
    """Everything there is to say of an answer: at most one finding of each kind."""
    if not question.answer:
        return []
    return [f for check in (off_topic, ungrounded) if (f := check(question, policy, embed)) is not None]


def off_topic(question: Question, policy: SemanticPolicy, embed: Embedder) -> Finding | None:
    """A long answer that is near neither to the request nor to anything that the agent was given."""
    if not policy.topic or "off_topic" in question.known:
        return None
    about = matter(question.request, question.answer, policy.request_words, policy.answer_words)
    if about is None or about.language != _ENGLISH or _foreign(question.heard):
        return None
    own = embed(list(_first(passages(question.answer, SIZE), _OF_ANSWER)))
    nearest, read = -1.0, _Reading((question.request, *question.heard, *question.system), policy.max_chars)
    for passage in read:
        nearest = max(nearest, float((own @ embed([passage])[0]).max()))
        if nearest >= policy.topic:
            return None
    if read.partial:
        return None
    facts = {"similarity": round(nearest, 2), "count": read.count}
    return _finding(question, "off_topic", "the answer is about something else than the request, by its meaning", facts)


def ungrounded(question: Question, policy: SemanticPolicy, embed: Embedder) -> Finding | None:
    """Most sentences of an answer are near to nothing that was asked or returned. Only where all of that is known."""
    if not policy.grounded or "ungrounded" in question.known or not question.whole:
        return None
    if language(question.answer) != _ENGLISH or _foreign(question.heard):
        return None
    stated = sentences(question.answer, policy.max_sentences)
    enough = max(policy.sentences, math.ceil(policy.share * len(stated)), 1)
    if len(stated) < enough:
        return None
    own = embed(stated)
    nearest, read = [-1.0] * len(stated), _Reading(question.heard, policy.max_chars)
    for passage in read:
        nearest = [max(a, float(b)) for a, b in zip(nearest, own @ embed([passage])[0], strict=True)]
        if sum(n < policy.grounded for n in nearest) < enough:
            return None
    if read.partial:
        return None
    alone = sum(n < policy.grounded for n in nearest)
    facts = {"sentences": len(stated), "count": alone, "similarity": round(max(nearest), 2)}
    said = f"{alone} of {len(stated)} sentences of the answer are near to nothing that was asked or returned"
    return _finding(question, "ungrounded", said, facts)


class _Reading:
    """Passages of some texts, each once, up to a number of characters.

    Attributes:
        count: passages read so far.
        partial: there was more to read.
    """

    def __init__(self, texts: Iterable[str], most: int) -> None:
        self._texts = texts
        self._left = most
        self.count = 0
        self.partial = False

    def __iter__(self) -> Iterator[str]:
        seen: set[str] = set()
        for text in self._texts:
            for passage in passages(text, SIZE):
                if passage in seen:
                    continue
                seen.add(passage)
                self._left -= len(passage)
                if self._left < 0:
                    self.partial = True
                    return
                self.count += 1
                yield passage


def _first(pieces: Iterable[str], most: int) -> Iterator[str]:
    for _, piece in zip(range(most), pieces, strict=False):
        yield piece


def _foreign(texts: Iterable[str]) -> bool:
    """Whether one of the texts is in another language: an English answer that rests on it would look like new."""
    return any(language(text) not in ("", _ENGLISH) or _script(text) for text in texts)


def _script(text: str) -> bool:
    letters = [c for c in text[:_LETTERS] if c.isalpha()]
    return sum(not c.isascii() for c in letters) > _FOREIGN * len(letters)


def _finding(question: Question, failure_type: str, message: str, facts: dict[str, int | float]) -> Finding:
    return Finding(
        rule=RULE,
        failure_type=failure_type,
        severity="warning",
        mode="observe",  # whatever the policy says of the type: a model orders nothing
        message=message,
        ref=question.ref,
        step=question.step,
        agent=question.agent,
        action=question.action,
        evidence=(question.ref.span_id,),
        facts=facts,
    )
