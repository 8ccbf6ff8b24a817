"""The gate at the model's boundary, for any SDK: before a request goes out, and after its answer is there.

It works on loops that we know nothing of: their tools are seen through the messages, and an answer can be corrected
before the loop gets to see it. Generators over the operations of :mod:`spanward.gate`. Everything but a termination is
kept from the host: where something fails in here, request and answer pass as they are, and it is counted.
"""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from opentelemetry import context as otel_context

from spanward import semconv
from spanward.adapters.answers import Answer, Asked, Body, Dialect
from spanward.adapters.model_facts import Judged, answer_attributes, judge, request_attributes, schema_of
from spanward.adapters.sightings import rendered, see_results
from spanward.errors import AgentTerminated, HardExit
from spanward.facts import digest
from spanward.feedback import user_message
from spanward.gate import (
    OBEYED,
    Flow,
    GateDirective,
    Hold,
    Invoke,
    OpenStep,
    Outcome,
    Runtime,
    Sleep,
    ToolRecord,
    close_step,
    end_step,
    obey,
    open_step,
    safe_point,
)
from spanward.ports import StatusState
from spanward.repair import REPAIRS, repair_arguments
from spanward.runs import Run

T = TypeVar("T")

MAX_AGAIN: Final = 4
"""How often one call of the user may become another request in here, whatever the detector orders."""
NOT_MADE: Final = (
    "This call was not made, because another call of the same reply has to be corrected first. "
    "Make it again if it is still needed."
)


@dataclass(slots=True)
class Exchange:
    """One call of the user to the model, with all the requests that it takes.

    Attributes:
        run: that it belongs to.
        dialect: how requests and replies are written.
        provider: name for the span.
        body: the request that goes out next; never changed in place.
        attempt: 1-based number of this same request.
        again: requests made beyond the first.
    """

    run: Run
    dialect: Dialect
    provider: str
    body: Body
    attempt: int = 1
    again: int = 0
    asked: Asked = field(init=False)

    def __post_init__(self) -> None:
        self.asked = self.dialect.asked(self.body)

    @property
    def runtime(self) -> Runtime:
        """Of the run."""
        return self.run.runtime

    def send(self, body: Body) -> None:
        """Sends another body next."""
        self.body = body
        self.asked = self.dialect.asked(body)


class Decision(NamedTuple):
    """What becomes of an answer. By default the user gets it as it is.

    Attributes:
        again: the user does not get it; this request is made instead.
        arguments: texts that take the place of the model's own, by call id.
        degraded: words that take the place of the whole answer.
        delay_s: to wait before ``again``.
        state, reason, before, after: how the directive ended, and digests of what it changed.
    """

    again: Body | None = None
    arguments: Mapping[str, str] = {}
    degraded: str = ""
    delay_s: float = 0.0
    state: StatusState = "applied"
    reason: str = ""
    before: str = ""
    after: str = ""


class Given(NamedTuple):
    """An answer and what it is judged by.

    ``resumable``: another answer can still take its place; ``replaceable``: plain words can.
    """

    asked: Asked
    reply: object
    answer: Answer
    judged: tuple[Judged, ...]
    resumable: bool
    replaceable: bool


AS_IT_IS: Final = Decision()
_UNSUPPORTED: Final = Decision(state="rejected", reason="unsupported")


def guarded(run: Run, where: str, flow: Generator[Any, Any, T], otherwise: T) -> Generator[Any, Any, T]:
    """Runs a part of a flow; its failure is counted and gives ``otherwise``. A termination passes."""
    try:
        return (yield from flow)
    except (AgentTerminated, HardExit):
        raise
    except Exception:
        run.runtime.internal_error(where)
        return otherwise


def before(exchange: Exchange) -> Flow:
    """To be driven before the request goes out: safe point, and tool results that nobody has seen yet.

    Raises:
        AgentTerminated: the run is over.
    """
    run = exchange.run
    yield from safe_point(run)
    texts = yield from guarded(run, "tool results", see_results(run, exchange.dialect.tool_messages(exchange.body)), {})
    if texts:
        exchange.send(exchange.dialect.with_results(exchange.body, texts))


def requested(exchange: Exchange) -> Flow:
    """Makes the next request of an exchange.

    Returns:
        The open step, ``None`` where it could not be started, and the :class:`Outcome`.

    Raises:
        AgentTerminated: the run is over.
    """
    yield from guarded(exchange.run, "before a model call", before(exchange), None)
    step = _open(exchange)
    try:
        outcome = yield Invoke(exchange.body, exchange.attempt, label="model")
    except BaseException as error:
        if step is not None:
            end_step(step, {}, error)
        raise
    return step, outcome


def _open(exchange: Exchange) -> OpenStep | None:
    try:
        model = exchange.asked.model or "unknown"
        attributes = request_attributes(exchange.asked, exchange.provider, exchange.attempt, exchange.runtime.settings)
        name = f"{semconv.OP_CHAT} {model}"
        return open_step(exchange.run, name, attributes, kind="llm", action=model, span_kind="client")
    except Exception:
        exchange.runtime.internal_error("start of a model call")
        return None


def settled(
    exchange: Exchange,
    step: OpenStep | None,
    outcome: Outcome,
    reply: object,
    *,
    resumable: bool = True,
    replaceable: bool = True,
) -> Flow:
    """:func:`after`, kept from the host when it fails."""
    if step is None:
        return AS_IT_IS
    flow = after(exchange, step, outcome, reply, resumable=resumable, replaceable=replaceable)
    return (yield from guarded(exchange.run, "after a model call", flow, AS_IT_IS))


def after(
    exchange: Exchange, step: OpenStep, outcome: Outcome, reply: object, *, resumable: bool, replaceable: bool
) -> Flow:
    """To be driven when the answer is there: span, hold, verdict.

    Args:
        exchange: the call.
        step: from :func:`requested`.
        outcome: of the request, for its error and time.
        reply: whole answer in a form that the dialect reads; ``None`` when there is none.
        resumable: another answer can still take its place.
        replaceable: plain words can.

    Returns:
        The :class:`Decision`. Its directive is settled; a delay has been waited.

    Raises:
        AgentTerminated: the run is over.
    """
    run, settings = exchange.run, exchange.runtime.settings
    answer, suspicious = Answer(), False
    judged: tuple[Judged, ...] = ()
    attributes: dict[str, Any] = {}
    try:
        if reply is not None:
            answer = exchange.dialect.answer(reply)
            judged = judge(exchange.asked, answer, settings)
            attributes, suspicious = answer_attributes(exchange.asked, answer, judged, settings)
            run.add_tokens((answer.input_tokens or 0) + (answer.output_tokens or 0))
            if run.completion is not None and answer.text and not answer.calls:
                run.answer = answer.text
    except Exception:
        exchange.runtime.internal_error("reading a model's answer")
    given = Given(exchange.asked, reply, answer, judged, resumable, replaceable)
    digests = tuple(one.digest for one in judged if one.digest)

    def record(hold: Hold) -> ToolRecord:
        model = exchange.asked.model
        return ToolRecord(step.span_id, "", model, digests, lambda order: _words(order, given, None), hold)

    verdict = yield from close_step(step, attributes, outcome.error, suspicious=suspicious, defer=record)
    decision = AS_IT_IS
    if verdict.directive is not None and exchange.runtime.accept(verdict.directive, run, digests):
        decision = yield from _execute(exchange, verdict.directive, given, outcome)
    if decision.again is None and not decision.degraded:
        _expect(exchange, judged, decision)
    return decision


def _execute(exchange: Exchange, directive: GateDirective, given: Given, outcome: Outcome) -> Flow:
    runtime = exchange.runtime
    if directive.kind in OBEYED:
        yield from obey(exchange.run, directive, outcome.returned_at)
        return AS_IT_IS
    apply = _APPLY.get(directive.kind)
    try:
        decision = apply(exchange, directive, given) if apply is not None else _UNSUPPORTED
    except Exception:
        runtime.internal_error(f"applying {directive.kind}")
        decision = Decision(state="failed", reason="internal")
    if decision.again is not None:
        exchange.again += 1
        exchange.attempt = exchange.attempt + 1 if directive.kind == "retry" else 1
        exchange.send(decision.again)
    runtime.settle(
        directive,
        decision.state,
        decision.reason,
        before=decision.before,
        after=decision.after,
        since=outcome.returned_at,
    )
    if decision.delay_s:
        yield Sleep(exchange.run, decision.delay_s)
    return decision


def _refusal(exchange: Exchange, given: Given) -> Decision | None:
    """Why this answer cannot give way to another one."""
    if given.reply is None:
        return _UNSUPPORTED
    if exchange.again >= MAX_AGAIN:
        return Decision(state="rejected", reason="too_often")
    return None if given.resumable else Decision(state="rejected", reason="streamed")


def _retry(exchange: Exchange, directive: GateDirective, given: Given) -> Decision:
    if given.reply is not None and (refusal := _refusal(exchange, given)):
        return refusal
    delay = directive.payload.get("delay_ms")
    return Decision(again=exchange.body, delay_s=delay / 1000 if isinstance(delay, int | float) else 0.0)


def _repair(exchange: Exchange, directive: GateDirective, given: Given) -> Decision:
    """Rewrites every call of the answer whose arguments are wrong in form, or none."""
    named = directive.payload.get("repairs")
    allowed = tuple(named) if isinstance(named, tuple | list) and named else REPAIRS
    key = exchange.runtime.settings.digest_key
    texts: dict[str, str] = {}
    changed: list[tuple[str, str]] = []
    for one in given.judged:
        if one.call.arguments is None or not one.misformed:
            continue
        repaired = repair_arguments(
            one.call.arguments,
            schema=schema_of(exchange.asked, one.call.name),
            allowed=allowed,
            writes=_writes(exchange.run, one.call.name),
        )
        if repaired is None:
            return Decision(state="failed", reason="not_repairable", before=one.digest)
        texts[one.call.id] = repaired.text
        changed.append((one.digest, digest(repaired.arguments, key)))
    if not texts:
        return Decision(state="rejected", reason="nothing_to_repair")
    return Decision(arguments=texts, before=changed[0][0], after=changed[0][1])


def _feedback(exchange: Exchange, directive: GateDirective, given: Given) -> Decision:
    """Tells the model, and lets it answer once more; a batch of calls is answered as a whole, as every API demands."""
    if refusal := _refusal(exchange, given):
        return refusal
    wrong = [one for one in given.judged if one.flawed] or list(given.judged)
    results = {one.call.id: _words(directive, given, one) if one in wrong else NOT_MADE for one in given.judged}
    notice = _words(directive, given, None)
    return Decision(
        again=exchange.dialect.replan(exchange.body, given.reply, results, notice),
        before=wrong[0].digest if wrong else digest(given.answer.text, exchange.runtime.settings.digest_key),
    )


def _fallback(exchange: Exchange, _directive: GateDirective, given: Given) -> Decision:
    if refusal := _refusal(exchange, given):
        return refusal
    if not given.replaceable:
        return Decision(state="rejected", reason="streamed")
    return Decision(degraded=user_message("degraded", exchange.runtime.settings.locale))


_APPLY: Final[Mapping[str, Callable[[Exchange, GateDirective, Given], Decision]]] = {
    "retry": _retry,
    "repair_arguments": _repair,
    "feedback": _feedback,
    "fallback": _fallback,
}
"""What can be done about an answer; pause and terminate are obeyed alike at every gate."""


def _words(directive: GateDirective, given: Given, about: Judged | None) -> str:
    local = {"tools": ", ".join(sorted(given.asked.tools)), "result": given.answer.text}
    if about is not None:
        expected = given.asked.tools.get(about.call.name)
        local |= {
            "tool": about.call.name,
            "arguments": about.call.arguments or "",
            "expected": json.dumps(expected, ensure_ascii=False) if expected else "",
        }
    return rendered(directive, local)


def _writes(run: Run, tool: str) -> bool:
    facts = run.tools.get(tool)
    return facts is None or facts.side_effect not in {"read", "scratch"}


def _expect(exchange: Exchange, judged: tuple[Judged, ...], decision: Decision) -> None:
    """The user will make these calls: whoever sees one first claims it."""
    key = exchange.runtime.settings.digest_key
    for one in judged:
        text = decision.arguments.get(one.call.id, one.call.arguments)
        repaired = one.call.id in decision.arguments
        form = "ok" if repaired else one.facts.form
        said = digest(text, key) if repaired and text is not None else one.digest
        if one.call.id:
            exchange.run.pending.add(one.call.id, one.call.name, said, form, text)


def suspended(step: OpenStep) -> OpenStep:
    """The step with its span no longer current: a stream is read long after the request was made, or never."""
    otel_context.detach(step.token)
    return step


def resumed(step: OpenStep) -> OpenStep:
    """A suspended step that can be closed, wherever that is."""
    return step._replace(token=otel_context.attach(otel_context.get_current()))
