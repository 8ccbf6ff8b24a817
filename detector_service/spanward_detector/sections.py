"""Sections of a policy that single rules are made of, as frozen data. Every field is a key of the policy file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from spanward_detector.failures import Mode, Severity

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
SECTION: Final = MappingProxyType({"section": True})
"""Metadata of a field of a detector that the policy fills from a section of its own, not from ``rules``."""
CustomType = Literal["custom", "unsafe_action"]


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of a ladder: a directive kind and how often it is tried before the next rung."""

    kind: str
    times: int = 1

    def __str__(self) -> str:
        return self.kind if self.times == 1 else f"{self.kind} x{self.times}"


Ladder = tuple[Rung, ...]


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """What is known of a model. A name also stands for the dated names that begin with it.

    Attributes:
        input: price of a million input tokens; 0 = not known.
        output: price of a million output tokens.
        context: tokens that it can read at once; 0 = not known.
    """

    input: float = 0.0
    output: float = 0.0
    context: int = 0


@dataclass(frozen=True, slots=True)
class OrderRule:
    """One tool has to have worked before another one is called.

    Attributes:
        before: the tool that comes first.
        after: the tool that needs it.
    """

    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class ScopePolicy:
    """What every run may touch; None = no limit of that kind. A run's own scope narrows it."""

    paths: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None

    def stated(self) -> dict[str, tuple[str, ...]]:
        """The limits that are there."""
        named = {"paths": self.paths, "hosts": self.hosts, "tables": self.tables}
        return {aspect: values for aspect, values in named.items() if values is not None}


@dataclass(frozen=True, slots=True)
class CustomRule:
    """A rule in CEL.

    Attributes:
        name: of the rule, in facts and messages.
        when: CEL expression over ``step`` and ``run`` that is true where the rule is broken.
        kinds: of steps that it looks at.
        severity: of its findings.
        mode: observe or act.
        message: for a person; default: the rule's name.
        failure_type: custom, or unsafe_action for what must not be.
        ladder: of this rule alone; empty = that of its failure type.
    """

    name: str = ""
    when: str = ""
    kinds: tuple[str, ...] = ("tool",)
    severity: Severity = "warning"
    mode: Mode = "observe"
    message: str = ""
    failure_type: CustomType = "custom"
    ladder: Ladder = ()


@dataclass(frozen=True, slots=True)
class JudgePolicy:
    """A model that is asked for its opinion. It may warn, and nothing else.

    Attributes:
        endpoint: base URL of an OpenAI-compatible API, as in ``https://host/v1``; "" = nobody is asked.
        model: its name there.
        api_key_env: environment variable of the detector that holds the key; "" = none is sent.
        ask_on: failure types that make it worth asking.
        calls_per_run: questions about one run at most.
        calls_per_hour: questions at most.
        timeout_s: for one answer.
    """

    endpoint: str = ""
    model: str = ""
    api_key_env: str = ""
    ask_on: tuple[str, ...] = ("ungrounded_argument", "off_topic", "ungrounded", "premature_done", "no_progress")
    calls_per_run: int = 3
    calls_per_hour: int = 120
    timeout_s: float = 20.0


@dataclass(frozen=True, slots=True)
class SemanticPolicy:
    """A model on this machine that holds answers against requests and results by meaning. It may warn, nothing else.

    Similarities are cosines, 0 to 1; 0 switches a check off.

    Attributes:
        model: folder with ``model.onnx`` and ``tokenizer.json``, from the policy file's folder on; "" = off.
        topic: an answer that is less near than this to the request and to all that was given is off topic.
        request_words: words that carry a subject which the request has at least.
        answer_words: the same for the answer.
        grounded: a sentence that is less near than this to everything that was asked or returned rests on nothing.
        sentences: such sentences from which on an answer is ungrounded.
        share: and the share of the answer's sentences that they are at least.
        max_sentences: sentences of an answer that are looked at.
        max_chars: characters of requests and results read for one answer; where there are more, nothing is said.
    """

    model: str = ""
    topic: float = 0.3
    request_words: int = 6
    answer_words: int = 25
    grounded: float = 0.3
    sentences: int = 3
    share: float = 0.75
    max_sentences: int = 16
    max_chars: int = 65_536


def known_model(models: Mapping[str, ModelPolicy], name: str) -> ModelPolicy | None:
    """What is known of a model: by its name, without the provider, else by the longest name that it begins with."""
    if (exact := models.get(name)) is not None:
        return exact
    bare = name.rpartition("/")[2]
    if (found := models.get(bare)) is not None:
        return found
    stems = [stem for stem in models if bare.startswith(stem) and not bare[len(stem) : len(stem) + 1].isalnum()]
    return models[max(stems, key=len)] if stems else None
