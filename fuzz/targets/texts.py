"""What agents say, call and get: facts, repairs, schemas, messages."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from functools import cache
from typing import Final

import orjson
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext
from spanward import canonical, feedback, relaxed, span_codec
from spanward.facts import (
    answer_facts,
    arguments_facts,
    digest,
    error_signature,
    facts_to_attributes,
    foreign_text_tool,
    result_facts,
)
from spanward.facts.commands import in_command, in_sql
from spanward.facts.model import facts_from_attributes
from spanward.facts.reach import touched
from spanward.facts.scope import Scope
from spanward.repair import repair_arguments
from spanward.schema import Schema
from spanward_detector import codeact, naming, sameness, statements
from spanward_detector.normalize import messages as messages_of_models
from spanward_detector.ranges import Ranges
from spanward_detector.text import numbers, wishes, words

from fuzz import seeds
from fuzz.mutate import mutate_json
from fuzz.pythonic import python_value
from fuzz.target import Target, as_text, host_text, in_two, pairs, promise, text_of


def _messages(data: bytes) -> None:
    text = text_of(data)
    found = messages_of_models.from_value(text) or []
    for message in found:
        messages_of_models.digest(message)
        messages_of_models.finish_reason(message.finish)
    messages_of_models.user_input(found)
    messages_of_models.said(found)
    messages_of_models.tool_messages(found)
    messages_of_models.unwrap_text(text)
    for schema in (messages_of_models.declared(text) or {}).values():
        if isinstance(schema, dict):
            Schema.of(schema).first_violation({"a": 1})


def _facts(data: bytes) -> None:
    text = host_text(data)
    for foreign in (False, True, "by_name", "program"):
        result = result_facts(text, foreign_text=foreign)
    for facts in (result, result_facts(None, error=text), result_facts(text, is_error=True, media_type=text[:40])):
        told = facts_to_attributes(result=facts, arguments=arguments_facts(text), answer=answer_facts(text))
        promise(facts_from_attributes(told.get).result == facts, "facts survive the way through attributes")
    error_signature(text)
    foreign_text_tool(text[:40], text)


def _dangers(data: bytes) -> None:
    text = host_text(data)
    in_command(text[:8192])
    in_sql(text[:8192])
    naming.is_unsettled(text)
    sameness.command_of(text)
    sameness.without_fresh_ids(text)
    sameness.message_of(text)
    sameness.same_but_for_clocks(text[: len(text) // 2], text[len(text) // 2 :])
    wishes.wants_gone([text])
    wishes.wants_all([text])
    wishes.names([text], text[:40])
    wishes.asks_back(text)
    wishes.tells_to_wait(text)
    reach = touched({"path": text, "url": text, "host": text, "table": text, "command": text, "sql": text, "x": [text]})
    Scope.of({"paths": ["/srv"], "hosts": ["example.org"], "tables": ["t"]}).first_outside(reach)
    with suppress(ValueError):
        touched(orjson.loads(text))


def _python(data: bytes) -> None:
    value = python_value(data)
    text = canonical.text_of(value)
    promise(isinstance(text, str), "there is always a text")
    promise(digest(value) == digest(value), "digests do not change")
    result_facts(value)
    if isinstance(value, dict):
        arguments_facts(value)
        touched(value)
    context = SpanContext(1, 1, is_remote=False)
    keys = {f"k{n}": item for n, item in enumerate(value)} if isinstance(value, list) else {"k": value, text[:9]: text}
    try:
        attributes = BoundedAttributes(attributes=keys, immutable=False)
    except Exception:  # the SDK's own, in the host's code
        return
    span_codec.encode_span(ReadableSpan(text[:99], context=context, attributes=attributes, start_time=1, end_time=2))


def _canonical(data: bytes) -> None:
    text = host_text(data)
    written = canonical.canonical_of_text(text)
    if written is not None:
        promise(canonical.canonical_of_text(written.decode()) == written, "what is canonical stays as it is")
    digest(text)
    digest(text, b"key")


def _repair(data: bytes) -> None:
    text = host_text(data)
    with suppress(relaxed.UnreadableError):
        relaxed.read(text)
    schema = (None, *_schemas())[len(data) % 4]
    repaired = repair_arguments(text, schema=schema, writes=len(data) % 3 == 0)
    if repaired is not None and schema is not None:
        promise(schema.first_violation(orjson.loads(repaired.text)) == "", "what is repaired fits")


@cache
def _schemas() -> tuple[Schema, ...]:
    return tuple(Schema.of(orjson.loads(source)) for source in seeds.SCHEMAS[:3])


def _schema(data: bytes) -> None:
    source, _, arguments = data.partition(b"\n")
    try:
        declared = orjson.loads(source)
    except ValueError:
        return
    if not isinstance(declared, dict):
        return
    schema = Schema.of(declared)
    text = text_of(arguments)
    arguments_facts(text, schema=schema)
    repair_arguments(text, schema=schema)
    with suppress(ValueError):
        value = orjson.loads(text)
        schema.first_violation(value)
        schema.undeclared(value)
    list(schema.resolve(declared))
    schema.types(declared)


def _render(data: bytes) -> None:
    text = host_text(data)
    slots: dict[str, str | int | float] = {
        "error_type": text[:40],
        "status": 500,
        "count": 1e308,
        "times": text,
        "retry_after_ms": text,
        text[:9]: text,
    }
    local = {"tool": text, "error": text, "result": text, "arguments": text, "tools": text, "expected": text}
    for template in feedback.TEMPLATES:
        said = feedback.render(template, slots, local)
        hidden = [char for char in said if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}]
        promise(said.startswith(feedback.MARK) and not hidden, "feedback is one visible paragraph")
    feedback.render(text, {}, {})
    feedback.user_message(text, text[:12])
    feedback.degraded(text, seconds=1e9, locale=text[:5])


def _prose(data: bytes) -> None:
    text = text_of(data)
    known = statements.Known()
    known.add(text[::-1])
    known.judge(text)
    codeact.read(text)
    codeact.named(text, ("web_search", text[:20]))
    words.covered(words.subject(text), text)
    words.language(text)
    for number in re.findall(r"-?\d[\d.,]*", text[:4096])[:8]:
        list(numbers.spellings(number))
        numbers.cut_short(number, text)
        with suppress(ValueError):  # its caller gives it only what JSON takes for a number
            orjson.loads(number)
            numbers.follows_from(number, (text,))
    if (page := Ranges.of(text)) is not None:
        Ranges().add("t", page)
    naming.words(text)
    naming.is_pending(text)


TARGETS: Final = (
    Target("messages", _messages, seeds.json_texts, mutate_json),
    Target("facts", _facts, seeds.texts, as_text),
    Target("dangers", _dangers, seeds.texts, as_text),
    Target("python", _python, lambda: seeds.PYTHON, mutate_json),
    Target("canonical", _canonical, seeds.json_texts, mutate_json),
    Target("repair", _repair, lambda: (*seeds.ARGUMENTS, *seeds.json_texts()[:200]), as_text),
    Target(
        "schema", _schema, lambda: pairs(seeds.SCHEMAS, seeds.ARGUMENTS, b"\n"), in_two(b"\n", mutate_json, as_text)
    ),
    Target("feedback", _render, seeds.texts, as_text),
    Target("prose", _prose, seeds.texts, as_text),
)
