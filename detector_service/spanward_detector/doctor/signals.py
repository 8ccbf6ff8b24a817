"""What telemetry can carry, and how to tell from steps whether it does. One row of the table per signal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from spanward_detector.kinship import OURS
from spanward_detector.model import Kind, Step


class Signal(StrEnum):
    """Something that a rule may need. ``..._text`` is the content itself; without it facts or digests may do."""

    TOOL_CALLS = "tool_calls"
    TOOL_SPANS = "tool_spans"
    MODEL_CALLS = "model_calls"
    ARGUMENTS = "arguments"
    ARGUMENT_FORMS = "argument_forms"
    ARGUMENT_TEXT = "argument_text"
    RESULTS = "results"
    RESULT_TEXT = "result_text"
    FAILURES = "failures"
    DEFINITIONS = "definitions"
    SCHEMAS = "schemas"
    CALLS = "calls"
    CALL_IDS = "call_ids"
    FINISH = "finish_reasons"
    TOKENS = "tokens"
    ANSWERS = "answers"
    ANSWER_TEXT = "answer_text"
    MESSAGES = "messages"
    HTTP = "http"
    GATE = "gate"
    LIMIT = "limit"


class Presence(StrEnum):
    """Whether a signal is there."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    UNKNOWN = "unknown"


MOSTLY: Final = 0.9
"""Share of the steps that have to carry a signal for it to count as there; below it is there in part."""


def _always(_step: Step) -> bool:
    return True


def _worked(step: Step) -> bool:
    return not step.failed and not step.extra.get("refused")


def _asks(step: Step) -> bool:
    """The model asked for tool calls, as far as anybody says so."""
    return bool(step.n_calls or step.calls) or step.finish_reason == "tool_calls"


def _answers(step: Step) -> bool:
    return _worked(step) and not _asks(step)


def _has_form(step: Step) -> bool:
    return step.arguments_facts is not None or any(call.form for call in step.calls)


@dataclass(frozen=True, slots=True)
class Sign:
    """How a signal shows.

    Attributes:
        text: the signal for a person, as it stands in "there are no ...".
        kinds: of steps that may carry it.
        due: at which of them it is to be expected.
        there: that the step carries it.
        one_is_enough: a single step that carries it tells that the telemetry does; else most of them have to.
    """

    text: str
    kinds: frozenset[Kind]
    there: Callable[[Step], bool]
    due: Callable[[Step], bool] = _always
    one_is_enough: bool = False


_TOOL: Final = frozenset({Kind.TOOL})
_LLM: Final = frozenset({Kind.LLM})
_BOTH: Final = _TOOL | _LLM
_ANY: Final = frozenset(Kind)

SIGNS: Final[Mapping[Signal, Sign]] = {
    Signal.TOOL_CALLS: Sign("tool calls", _TOOL, _always, one_is_enough=True),
    Signal.TOOL_SPANS: Sign("spans of tools", _TOOL, lambda s: "sighting" not in s.extra, one_is_enough=True),
    Signal.MODEL_CALLS: Sign("model calls", _LLM, _always, one_is_enough=True),
    Signal.ARGUMENTS: Sign(
        "arguments or digests", _TOOL, lambda s: s.arguments is not None or bool(s.arguments_digest)
    ),
    Signal.ARGUMENT_FORMS: Sign(
        "arguments as written",
        _BOTH,
        _has_form,
        lambda s: s.kind is Kind.TOOL or _asks(s),
    ),
    Signal.ARGUMENT_TEXT: Sign("texts of arguments", _TOOL, lambda s: s.arguments is not None),
    Signal.RESULTS: Sign("results or facts", _TOOL, lambda s: s.result_facts is not None, _worked),
    Signal.RESULT_TEXT: Sign("texts of results", _TOOL, lambda s: s.result is not None, _worked),
    Signal.FAILURES: Sign("error statuses", _TOOL, lambda s: s.failed, one_is_enough=True),
    Signal.DEFINITIONS: Sign(
        "tool definitions",
        _LLM | {Kind.AGENT},
        lambda s: bool(s.declared_tools) or s.dialect == OURS,
        one_is_enough=True,
    ),
    Signal.SCHEMAS: Sign(
        "JSON Schemas",
        _LLM | {Kind.AGENT},
        lambda s: s.dialect == OURS or any(schema is not None for schema in (s.declared_tools or {}).values()),
        one_is_enough=True,
    ),
    Signal.CALLS: Sign("calls asked for", _LLM, lambda s: s.n_calls is not None, lambda s: _worked(s) and _asks(s)),
    Signal.CALL_IDS: Sign("call ids", _TOOL, lambda s: bool(s.call_id)),
    Signal.FINISH: Sign("finish reasons", _LLM, lambda s: bool(s.finish_reason), _worked),
    Signal.TOKENS: Sign("token counts", _LLM, lambda s: bool(s.input_tokens or s.output_tokens), _worked),
    Signal.ANSWERS: Sign("answers or facts", _LLM, lambda s: s.answer_facts is not None, _answers),
    Signal.ANSWER_TEXT: Sign("texts of answers", _LLM, lambda s: s.answer is not None, _answers),
    Signal.MESSAGES: Sign(
        "messages sent",
        _LLM,
        lambda s: bool(s.user_input) or any(content for _, content in s.tool_messages),
    ),
    Signal.HTTP: Sign("HTTP requests", _BOTH, lambda s: bool(s.http), one_is_enough=True),
    Signal.GATE: Sign(
        "gate",
        _ANY,
        lambda s: s.dialect == OURS,
        one_is_enough=True,
    ),
    Signal.LIMIT: Sign(
        "limit of tokens",
        _LLM | {Kind.AGENT},
        lambda s: s.stated_max_tokens > 0,
        one_is_enough=True,
    ),
}
"""Every signal."""

OF_TOOLS: Final = (
    Signal.TOOL_CALLS, Signal.TOOL_SPANS, Signal.ARGUMENTS, Signal.ARGUMENT_TEXT, Signal.RESULTS, Signal.RESULT_TEXT,
    Signal.FAILURES, Signal.CALL_IDS,
)  # fmt: skip
"""Signals that only tool calls carry."""
OF_MODELS: Final = (
    Signal.MODEL_CALLS, Signal.CALLS, Signal.FINISH, Signal.TOKENS, Signal.ANSWERS, Signal.ANSWER_TEXT, Signal.MESSAGES,
)  # fmt: skip
"""Signals that only model calls carry."""


class Tally(NamedTuple):
    """A signal in some telemetry.

    Attributes:
        presence: whether it is there.
        seen: steps that carry it.
        due: steps that could.
    """

    presence: Presence
    seen: int
    due: int


def tally(steps: Iterable[Step], unknowable: frozenset[Signal] = frozenset()) -> dict[Signal, Tally]:
    """Count every signal.

    Args:
        steps: final ones, without those that another one shows better.
        unknowable: signals that the source of the steps cannot tell of.
    """
    due: dict[Signal, int] = dict.fromkeys(SIGNS, 0)
    seen: dict[Signal, int] = dict.fromkeys(SIGNS, 0)
    counts: Counter[str] = Counter()
    for step in steps:
        kind = step.kind
        counts["tools"] += kind is Kind.TOOL
        counts["models"] += kind is Kind.LLM
        counts["asked"] += kind is Kind.LLM and _asks(step)
        counts["signs"] += not step.failed and step.result_facts is not None and bool(step.result_facts.error)
        for signal, sign in SIGNS.items():
            if kind in sign.kinds and sign.due(step):
                due[signal] += 1
                seen[signal] += sign.there(step)
    found: dict[Signal, Tally] = {}
    for signal, sign in SIGNS.items():
        presence = _presence(sign, seen[signal], due[signal])
        if signal in unknowable and not seen[signal]:
            presence = Presence.UNKNOWN
        found[signal] = Tally(presence, seen[signal], due[signal])
    _of_what_is_not_there(found, counts)
    return found


def _of_what_is_not_there(found: dict[Signal, Tally], counts: Counter[str]) -> None:
    """Where no step could carry a signal: that is a gap only if there must have been such steps."""
    if not counts["tools"] and counts["asked"]:
        found.update(dict.fromkeys(OF_TOOLS, Tally(Presence.NO, 0, counts["asked"])))
    if counts["tools"] and not counts["models"]:
        found.update(dict.fromkeys(OF_MODELS, Tally(Presence.NO, 0, counts["tools"])))
    failures = found[Signal.FAILURES]
    if failures.presence is Presence.NO and not counts["signs"] and found[Signal.TOOL_SPANS].presence is Presence.YES:
        # Nothing failed, as far as one can see: that no status says so proves nothing.
        found[Signal.FAILURES] = failures._replace(presence=Presence.UNKNOWN)
    if found[Signal.HTTP].presence is Presence.NO and found[Signal.GATE].presence is Presence.YES:
        found[Signal.HTTP] = found[Signal.HTTP]._replace(presence=Presence.UNKNOWN)  # the gate would have told of any


def _presence(sign: Sign, seen: int, due: int) -> Presence:
    if not due:
        return Presence.UNKNOWN
    if not seen:
        return Presence.NO
    return Presence.YES if sign.one_is_enough or seen >= MOSTLY * due else Presence.PARTLY
