"""Spans of every dialect to steps. A dialect is told by the scope of each span first, by marker attributes second.

Keys of ``Step.extra`` that are made here, each only where it applies:

- ``history``, ``reply``: digests of a request's messages and of its answer (see :meth:`Normalizer.steps`).
- ``sighting``: "message" for a tool step that was read from the next request; ``llm`` is the span of that request.
  "withdrawn" takes such a step back.
- ``revision``: number of log records behind a step; a higher one replaces a lower one.
- ``graph_step``: number of the step in the framework's own count.
- ``pending``, ``pending_kind``: a start marker, with the id of the span that has started and its kind.
- ``refused``, ``approval_of``: the gate did not make the call; digest of the action that waits for approval.
- ``failure_stage``: "validation" when the tool was not run because of its arguments.
- ``bare``, ``validate``, ``agent_stated``: for :meth:`Normalizer.complete`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Final

from spanward_detector.ingest import RawLog, RawSpan
from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.normalize import (
    adk,
    genai,
    http,
    langsmith,
    logs,
    mcp,
    openinference,
    openllmetry,
    pydantic_ai,
    spanward,
    strands,
    vercel,
)
from spanward_detector.normalize.context import MAX_ANCESTORS, MAX_PER_TRACE, Generations, TraceContext
from spanward_detector.normalize.reading import judge_again, mark_root, set_arguments, set_reply, set_request

__all__ = ["DIALECTS", "Normalizer", "dialect_of"]

DIALECTS: Final[tuple[ModuleType, ...]] = (
    openinference, genai, openllmetry, pydantic_ai, langsmith, vercel, strands, adk, mcp,
)  # fmt: skip
"""Modules of foreign dialects. Their ``SCOPES`` are prefixes of scope names; one that ends in NUL is a whole name."""

_SCOPES: Final = tuple((scope, module) for module in DIALECTS for scope in module.SCOPES)
_MARKERS: Final = tuple(
    (key, module)
    for module in (openinference, openllmetry, langsmith, vercel, pydantic_ai, strands, adk, mcp, genai)
    for key in module.MARKERS
)
"""GenAI's marker comes last: most others set it too, with contents in their own form."""
_OUR_MARKER: Final = spanward.MARKERS[0]

MAX_SPANS: Final = 32_768
MAX_TRACES: Final = 4_096
MAX_PENDING: Final = 2_048


@lru_cache(maxsize=512)
def _dialect_of_scope(name: str) -> ModuleType | None:
    whole = f"{name}\0"
    return next((module for scope, module in _SCOPES if whole.startswith(scope)), None)


def dialect_of(span: RawSpan) -> ModuleType | None:
    """The module that reads a foreign span; None when it is no span of an agent."""
    module = _dialect_of_scope(span.scope)
    if module is not None:
        return module
    attrs = span.attrs
    if _OUR_MARKER in attrs:
        return None
    for key, module in _MARKERS:
        if key in attrs:
            return module
    return None


class Normalizer:
    """Turns spans and log records into steps.

    One per detector, used by one thread. Spans may come in any order and more than once: a step says what its own span
    says, at once; what only other spans know (agent of an ancestor, a tool's declaration, content in log records) is
    added by :meth:`complete`, which is cheap and may be called again whenever a step is looked at anew.

    Attributes:
        parents: span -> id of its parent ("" for a root), of every span seen, an agent's or not: for finding the step
            that a span lies in. Bounded; what has not been touched for long is forgotten.
    """

    def __init__(self, *, max_spans: int = MAX_SPANS, max_traces: int = MAX_TRACES) -> None:
        self.parents: Generations[SpanRef, str] = Generations(max_spans)
        self._traces: Generations[str, TraceContext] = Generations(max_traces)
        self._waiting: Generations[SpanRef, Step] = Generations(MAX_PENDING)
        self._content: Generations[SpanRef, logs.LogContent] = Generations(MAX_PENDING)

    def step(self, span: RawSpan) -> Step | None:
        """The step of a span: the first of :meth:`steps`, or None."""
        found = self.steps(span)
        return found[0] if found else None

    def steps(self, span: RawSpan) -> list[Step]:
        """All steps that a span shows: its own, then tool steps that are seen nowhere but in its messages.

        Returns:
            Usually one step; none for spans that are no part of an agent. Further ones are tool calls whose results
            stand at the end of a model's request while no tool of the trace has a span of its own
            (``extra["sighting"] == "message"``, an id made of the trace and the call, times just before the request).
            When a span of the tool turns up after all, :meth:`superseded` says so.

            A model call with recorded messages has ``extra["history"]``, the digests of the request's messages, and
            ``extra["reply"]``, the digest that its answer will have in the next request: a call whose history starts
            with another's history and reply continues that one.
        """
        if span.scope == spanward.DIALECT:
            made = spanward.step(span)
            if made is not None:
                ref = made.ref
                self.parents.put(ref, span.parent_id or "")
                self._trace(ref.trace_id).ours.add(made.kind)
                return [made]
        self.parents.put(SpanRef(span.trace_id, span.span_id), span.parent_id or "")
        module = dialect_of(span)
        if module is None:
            if _OUR_MARKER in span.attrs and (made := spanward.step(span)) is not None:
                self._trace(span.trace_id).ours.add(made.kind)
                return [made]
            return http.steps(span) if http.is_http(span) else []
        ctx = self._trace(span.trace_id)
        found: list[Step] = module.steps(span, ctx)
        if found and found[0].kind is Kind.LLM and "history" not in found[0].extra:
            found = self._with_content(found[0], ctx)
        for made in found:
            self.complete(made)
        return found

    def logs(self, records: Iterable[RawLog]) -> list[Step]:
        """Content of model calls that came as log records.

        Returns:
            Steps anew whose span has come already, each once, with a higher ``extra["revision"]``: they replace the
            step of the same span. Content that comes before its span waits for it.
        """
        touched: dict[SpanRef, logs.LogContent] = {}
        for record in records:
            if not logs.is_content(record):
                continue
            ref = SpanRef(record.trace_id, record.span_id)
            content = self._content.get(ref)
            if content is None:
                content = logs.LogContent()
                self._content.put(ref, content)
            before = content.revision
            logs.add(content, record)
            if content.revision != before:
                touched[ref] = content
        found: list[Step] = []
        for ref in touched:
            step = self._waiting.get(ref)
            if step is not None:
                found.extend(self._with_content(step, self._trace(ref.trace_id)))
        for made in found:
            self.complete(made)
        return found

    def log(self, record: RawLog) -> Step | None:
        """As :meth:`logs` for a single record: the step that it changes, or None."""
        return next(iter(self.logs((record,))), None)

    def complete(self, step: Step, *, settled: bool = False) -> bool:
        """Adds to a foreign step what other spans of its trace have told since. Idempotent, independent of their order.

        Args:
            step: changed in place.
            settled: nothing more is awaited: an agent below a parent that never came is the root of its run.

        Returns:
            True when the step has changed.
        """
        if step.dialect == spanward.DIALECT:
            return False
        ctx = self._traces.get(step.ref.trace_id)
        if ctx is None:
            return False
        agent, outermost = self._agent(step, ctx, settled)
        changed = False
        if agent and agent != step.agent:
            step.agent, changed = agent, True
        if ctx.conversation_id and not step.conversation_id:
            step.conversation_id, changed = ctx.conversation_id, True
        if step.kind is Kind.AGENT and outermost is not None and outermost != step.is_root:
            changed = True
            mark_root(step, outermost)
        if step.kind is Kind.TOOL:
            changed = self._complete_tool(step, ctx) or changed
        elif step.kind is Kind.LLM and step.declared_tools is None and step.calls and ctx.tools:
            changed = judge_again(step, ctx.tools) or changed
        return changed

    def superseded(self, step: Step) -> bool:
        """True for a step that shows what another span shows better, so that it must not count.

        These are tool calls read from messages once a tool of the trace has a span, tool spans inside a span of the
        same tool, and foreign spans of a kind of which our own gate makes spans in the same trace.
        """
        if step.dialect in (spanward.DIALECT, http.DIALECT):
            return False
        ctx = self._traces.get(step.ref.trace_id)
        if ctx is None:
            return False
        if step.kind in ctx.ours:
            return True
        if step.kind is not Kind.TOOL:
            return False
        sighting = step.extra.get("sighting")
        if sighting is not None:
            return sighting == "withdrawn" or bool(ctx.tool_spans)
        return any(ctx.tool_spans.get(span_id) == step.action for span_id in self._ancestors(step))

    def _trace(self, trace_id: str) -> TraceContext:
        ctx = self._traces.get(trace_id)
        if ctx is None:
            ctx = TraceContext()
            self._traces.put(trace_id, ctx)
        return ctx

    def _ancestors(self, step: Step) -> Iterator[str]:
        """Ids of a step's ancestors as far as they are known, the nearest first, then "" when the root was reached."""
        trace_id, span_id = step.ref.trace_id, step.parent_id or ""
        for _ in range(MAX_ANCESTORS):
            yield span_id
            if not span_id:
                return
            known = self.parents.get(SpanRef(trace_id, span_id))
            if known is None:
                return
            span_id = known

    def _agent(self, step: Step, ctx: TraceContext, settled: bool) -> tuple[str, bool | None]:
        """Name of the agent that a step belongs to, and whether no agent's span lies above it (None: not known yet).

        The nearest ancestor that names an agent wins; else the outermost that stands for one, for frameworks mark the
        nodes inside an agent the same way.
        """
        own = ctx.agents.get(step.ref.span_id)
        explicit = own.name if own is not None and own.explicit else ""
        outermost = own.name if own is not None else ""
        top: bool | None = True if settled else None
        for span_id in self._ancestors(step):
            note = ctx.agents.get(span_id)
            if note is not None:
                top = False
                outermost = note.name or outermost
                if note.explicit and not explicit:
                    explicit = note.name
            elif not span_id and top is None:
                top = True
        if own is None and step.extra.get("agent_stated"):
            return step.agent, top
        return explicit or outermost, top

    def _complete_tool(self, step: Step, ctx: TraceContext) -> bool:
        """Names the bare argument of a tool and judges its arguments once the tool's declaration is known."""
        bare = step.extra.get("bare")
        if isinstance(bare, str):
            call = ctx.find_call(step.action, step.call_id, bare)
            if call is None or call.arguments is None or call.arguments == step.arguments:
                return False
            set_arguments(step, call.arguments, ctx.tools.get(step.action))
            return True
        schema = ctx.tools.get(step.action)
        if schema is None or step.arguments is None or step.extra.get("validate") is False:
            return False
        before = step.arguments_facts
        set_arguments(step, step.arguments, schema)
        return step.arguments_facts != before

    def _with_content(self, step: Step, ctx: TraceContext) -> list[Step]:
        """A model call's step with what log records tell of it; it waits for more of them."""
        self._waiting.put(step.ref, step)
        content = self._content.get(step.ref)
        if content is None:
            return [step]
        full = replace(step, extra={**step.extra, "revision": content.revision})
        details = content.details
        if details is not None:
            request, reply = details.request, details.reply
            if details.tools is not None:
                full.declared_tools = details.tools
                ctx.declare(details.tools)
        else:
            request, reply = content.messages() or None, content.reply()
        # Records of one call come one by one: only a reply that is there says anything about what it lacks, and its
        # record is the last to be written.
        set_reply(full, ctx, reply, content=reply is not None and content.recorded())
        whole = details is not None or reply is not None
        seen = {tool.ref: tool for tool in set_request(full, ctx, request, reply, whole=whole)}
        gone = [_withdrawn(tool) for ref, tool in ctx.sightings.get(step.ref.span_id, {}).items() if ref not in seen]
        if len(ctx.sightings) < MAX_PER_TRACE:
            ctx.sightings[step.ref.span_id] = seen
        for tool in (*seen.values(), *gone):
            tool.extra = {**tool.extra, "revision": content.revision}
        return [full, *seen.values(), *gone]


def _withdrawn(step: Step) -> Step:
    """The step of a tool result that did not stand at the end of the request after all: more of it has come since."""
    return replace(
        step, arguments=None, arguments_facts=None, result=None, result_facts=None,
        extra={**step.extra, "sighting": "withdrawn"},
    )  # fmt: skip
