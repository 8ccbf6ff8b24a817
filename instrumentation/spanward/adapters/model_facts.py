"""Attributes of a model call's span: what is known of the request, and the facts of the answer. No I/O."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from spanward import semconv
from spanward.adapters import content
from spanward.adapters.answers import Answer, Asked, ToolCall
from spanward.config import Settings
from spanward.facts import ArgumentsFacts, answer_facts, arguments_facts, digest, facts_to_attributes
from spanward.schema import Schema

_WELL_FORMED = frozenset({"ok", "empty"})
_NO_ARGUMENTS = ArgumentsFacts()


class Judged(NamedTuple):
    """A tool call of an answer and what is wrong with it.

    Attributes:
        facts: of its arguments.
        unknown: the tool was not declared.
        digest: of the arguments, ``""`` for tools that take free text.
    """

    call: ToolCall
    facts: ArgumentsFacts
    unknown: bool
    digest: str

    @property
    def misformed(self) -> bool:
        """Its arguments are no object, or none that fits."""
        return self.facts.label not in _WELL_FORMED

    @property
    def flawed(self) -> bool:
        """It should not be made as it is."""
        return self.unknown or self.misformed


def request_attributes(asked: Asked, provider: str, attempt: int, settings: Settings) -> dict[str, Any]:
    """Attributes when the call starts."""
    attributes: dict[str, Any] = {
        semconv.OPERATION_NAME: semconv.OP_CHAT,
        semconv.PROVIDER_NAME: provider,
        semconv.REQUEST_MODEL: asked.model,
        semconv.ATTEMPT: attempt,
        semconv.FACT_TOOLS_DECLARED: len(asked.tools) + len(asked.other_tools),
    }
    if asked.max_tokens is not None:
        attributes[semconv.REQUEST_MAX_TOKENS] = asked.max_tokens
    if settings.capture_content:
        attributes[semconv.INPUT_MESSAGES] = content.input_messages(asked.messages)
        attributes[semconv.TOOL_DEFINITIONS] = content.definitions(asked.definitions)
    return attributes


def schema_of(asked: Asked, name: str) -> Schema | None:
    """Compiled schema of a declared tool's parameters."""
    parameters = asked.tools.get(name)
    return Schema.of(parameters) if isinstance(parameters, Mapping) else None


def judge(asked: Asked, answer: Answer, settings: Settings) -> tuple[Judged, ...]:
    """Looks at every tool call of an answer."""
    declared = bool(asked.tools or asked.other_tools)
    return tuple(
        Judged(
            call,
            _NO_ARGUMENTS
            if call.arguments is None
            else arguments_facts(call.arguments, schema=schema_of(asked, call.name)),
            declared and call.name not in asked.tools and call.name not in asked.other_tools,
            "" if call.arguments is None else digest(call.arguments, settings.digest_key),
        )
        for call in answer.calls
    )


def answer_attributes(
    asked: Asked, answer: Answer, judged: tuple[Judged, ...], settings: Settings
) -> tuple[dict[str, Any], bool]:
    """Attributes when the answer is there.

    Returns:
        The attributes, and whether something looks wrong.
    """
    attributes: dict[str, Any] = {
        key: value
        for key, value in (
            (semconv.RESPONSE_MODEL, answer.model),
            (semconv.RESPONSE_ID, answer.response_id),
            (semconv.FINISH_REASONS, answer.finish_reasons),
            (semconv.INPUT_TOKENS, answer.input_tokens),
            (semconv.OUTPUT_TOKENS, answer.output_tokens),
        )
        if value not in ("", (), None)
    }
    if not answer.whole:
        return attributes, False
    attributes[semconv.FACT_CALLS] = len(judged)
    suspicious = any(one.flawed for one in judged)
    if judged:
        attributes[semconv.FACT_CALLS_NAMES] = [one.call.name for one in judged]
        attributes[semconv.FACT_CALLS_IDS] = [one.call.id for one in judged]
        attributes[semconv.FACT_CALLS_FORM] = [one.facts.label for one in judged]
        if (wrong := next((one for one in judged if one.misformed), None)) is not None:
            attributes.update(facts_to_attributes(arguments=wrong.facts))
        if unknown := [one.call.name for one in judged if one.unknown]:
            attributes[semconv.FACT_CALLS_UNKNOWN] = unknown
    else:
        facts = answer_facts(answer.text, json_expected=asked.json_expected)
        attributes.update(facts_to_attributes(answer=facts))
        suspicious = facts.empty or facts.admits_failure or (facts.json_expected and facts.is_json is False)
    if settings.capture_content:
        attributes[semconv.OUTPUT_MESSAGES] = content.output_messages(answer)
    return attributes, suspicious
