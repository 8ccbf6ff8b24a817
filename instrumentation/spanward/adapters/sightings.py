"""Tools that we do not wrap are seen by their results, in the next request to the model: one step for each call.

The function itself is out of reach, so a verdict can change what the model is shown and nothing else.
"""

import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from spanward import semconv
from spanward.adapters.answers import ToolMessage
from spanward.facts import digest, facts_to_attributes, foreign_text_tool, result_facts
from spanward.feedback import degraded, render
from spanward.gate import OBEYED, Flow, GateDirective, ToolRecord, Verdict, Wait, close_step, obey, open_step
from spanward.pending import PendingCall
from spanward.runs import Run

REMEMBERED: Final = 256
"""Replaced results per run, so that later requests show the model the same."""

Sighting = tuple[ToolMessage, PendingCall]

_shown: "weakref.WeakKeyDictionary[Run, dict[str, str]]" = weakref.WeakKeyDictionary()


def see_results(run: Run, messages: Iterable[ToolMessage]) -> Flow:
    """Makes a step of every result whose call nobody claimed, and takes the verdicts.

    Args:
        run: that the request belongs to.
        messages: all tool results of the request.

    Returns:
        Texts to show instead of results, by call id; those replaced in earlier requests included.
    """
    shown = _shown.setdefault(run, {})
    fresh: list[Sighting] = []
    texts: dict[str, str] = {}
    for message in messages:
        if (late := run.take_replacement(message.call_id)) is not None:
            shown[message.call_id] = late[1]
            run.runtime.settle(late[0], "applied", before=_digest(run, message.text), after=_digest(run, late[1]))
        if message.call_id in shown:
            texts[message.call_id] = shown[message.call_id]
        elif (pending := run.pending.unclaimed(message.call_id)) is not None:
            fresh.append((message, pending))
    if fresh:
        replaced = yield from _side_by_side(run, fresh)
        texts.update(replaced)
        shown.update(replaced)
        while len(shown) > REMEMBERED:
            del shown[next(iter(shown))]
    return texts


def rendered(directive: GateDirective, local: Mapping[str, str]) -> str:
    """The text of a feedback, from its template and slots and what is known here."""
    slots = directive.payload.get("slots")
    template = str(directive.payload.get("template") or directive.failure_type)
    return render(template, slots if isinstance(slots, Mapping) else {}, local)


def _side_by_side(run: Run, fresh: list[Sighting]) -> Flow:
    """All spans go out before the first verdict is waited for, so that no call waits for another's."""
    flows = [(sighting, _step(run, *sighting)) for sighting in fresh]
    begun = [(sighting, flow, _advance(flow)) for sighting, flow in flows]
    began = time.monotonic()
    texts: dict[str, str] = {}
    for (message, call), flow, op in begun:
        while isinstance(op, Wait):
            left = max(0.0, op.timeout_s - (time.monotonic() - began))
            op = _advance(flow, (yield op._replace(timeout_s=left)))
        directive = op.directive if isinstance(op, Verdict) else None
        if directive is None or not run.runtime.accept(directive, run, _digests(run, message, call)):
            continue
        if text := (yield from _replacement(run, directive, message, call)):
            texts[message.call_id] = text
    return texts


def _step(run: Run, message: ToolMessage, call: PendingCall) -> Flow:
    capture = run.runtime.settings.capture_content
    facts = result_facts(message.text, foreign_text=foreign_text_tool(call.name, call.raw))
    attributes: dict[str, Any] = {
        semconv.OPERATION_NAME: semconv.OP_EXECUTE_TOOL,
        semconv.TOOL_NAME: call.name,
        semconv.TOOL_CALL_ID: call.call_id,
        semconv.FACT_ARGUMENTS_FORM: call.form,
    }
    if call.arguments_digest:
        attributes[semconv.PAYLOAD_DIGEST] = call.arguments_digest
    if capture and call.raw is not None:
        attributes[semconv.TOOL_ARGUMENTS] = call.raw
    name = f"{semconv.OP_EXECUTE_TOOL} {call.name}"
    step = open_step(run, name, attributes, kind="tool", action=call.name, call_id=call.call_id)
    ending = {semconv.RESULT_DIGEST: _digest(run, message.text), **facts_to_attributes(result=facts)}
    if capture:
        ending[semconv.TOOL_RESULT] = message.text
    local = _local(message, call)
    record = ToolRecord(
        step.span_id, call.call_id, call.name, _digests(run, message, call), lambda order: rendered(order, local)
    )
    run.remember(record)
    suspicious = bool(facts.error)
    for completion in run.completions:
        completion.saw(call.name, call.raw, not suspicious)
    return (yield from close_step(step, ending, suspicious=suspicious, defer=lambda hold: record._replace(hold=hold)))


def _replacement(run: Run, directive: GateDirective, message: ToolMessage, call: PendingCall) -> Flow:
    """Executes an accepted directive. Returns the text in place of the result, or ``""``."""
    if directive.kind in OBEYED:
        yield from obey(run, directive)
        return ""
    maker = _MAKERS.get(directive.kind)
    if maker is None:
        run.runtime.settle(directive, "rejected", "unsupported")
        return ""
    try:
        text: str = maker(directive, message, call)
    except Exception:
        run.runtime.internal_error(f"applying {directive.kind}")
        run.runtime.settle(directive, "failed", "internal")
        return ""
    run.runtime.settle(directive, "applied", before=_digest(run, message.text), after=_digest(run, text))
    return text


_MAKERS: Final[Mapping[str, Callable[[GateDirective, ToolMessage, PendingCall], str]]] = {
    "feedback": lambda directive, message, call: rendered(directive, _local(message, call)),
    "fallback": lambda _directive, _message, call: degraded(call.name),
}


def _local(message: ToolMessage, call: PendingCall) -> dict[str, str]:
    return {"tool": call.name, "arguments": call.raw or "", "result": message.text, "error": message.text}


def _digests(run: Run, message: ToolMessage, call: PendingCall) -> tuple[str, ...]:
    return (call.arguments_digest, _digest(run, message.text))


def _digest(run: Run, text: str) -> str:
    return digest(text, run.runtime.settings.digest_key)


def _advance(flow: Flow, answer: object = None) -> object:
    """The flow's next operation, or its value when it is done."""
    try:
        return flow.send(answer)
    except StopIteration as stop:
        return stop.value
