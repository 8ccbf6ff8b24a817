"""Who is whose child in a run: agents of steps, requests of calls, two spans of one call. Parents may come later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, Protocol

from spanward_detector.model import NUMBERED, HttpAttempt, Kind, SpanRef, Step
from spanward_detector.window import Node

DEPTH: Final = 64
"""Ancestors that are looked at; deeper nesting counts as not nested."""
REMEMBERED: Final = 8192
"""Ids of spans that have left and are still known to be duplicates when they come again."""
MAX_NODES: Final = 4096
"""Spans of one run that are held, steps and structure together."""
OURS: Final = "spanward"
"""Dialect of the spans that our own gate makes."""

_CARRIERS: Final = frozenset({Kind.TOOL, Kind.LLM})


class Outside(Protocol):
    """What a run asks of those who see the spans of all runs: the normalizer, or nobody."""

    def complete(self, step: Step, /) -> bool:
        """Add what other spans have told of a step since; True when it has changed."""

    def parent_of(self, ref: SpanRef, /) -> str | None:
        """Parent of a span that is no step; None when it is unknown or has none."""


class _Nobody:
    def complete(self, _step: Step, /) -> bool:
        return False

    def parent_of(self, _ref: SpanRef, /) -> str | None:
        return None


NOBODY: Final[Outside] = _Nobody()


class Kinship:
    """All spans of a run that are in memory, by id, and what follows from who lies in whom.

    Args:
        outside: knows the parents of spans that are no steps.
        changed: told of each node that has to be told again.
    """

    __slots__ = ("_best", "_changed", "_gone", "_outside", "_requests", "_structure", "_waiting", "nodes")

    def __init__(self, outside: Outside, changed: Callable[[Node], None]) -> None:
        self.nodes: dict[str, Node] = {}
        self._outside = outside
        self._changed = changed
        self._waiting: dict[str, list[Node]] = {}  # id of a parent that is not here yet → nodes that look for it
        self._requests: dict[str, list[Node]] = {}  # the same for HTTP requests
        self._best: dict[tuple[str, Kind], int] = {}  # per trace and kind, the best rank of a sighting
        self._structure: dict[str, Node] = {}  # those that are no steps
        self._gone: dict[str, None] = {}

    def __contains__(self, span_id: str) -> bool:
        """True for a span that has been here."""
        return span_id in self.nodes or span_id in self._gone

    def add(self, node: Node) -> None:
        """Enter a node and join it to the parents and children that are here."""
        step = node.step
        span_id = step.ref.span_id
        self.nodes[span_id] = node
        if len(self.nodes) > MAX_NODES:
            self._thin()
        if step.kind in NUMBERED:
            self._rank(node)
        else:
            self._structure[span_id] = node
        if step.parent_id is not None:
            self._climb(node)
        if self._waiting and (children := self._waiting.pop(span_id, None)) is not None:
            for child in children:
                self._climb(child)
        if self._requests and step.kind is not Kind.HTTP:
            self._answer(span_id, step.ref.trace_id)

    def again(self) -> None:
        """Once more look for the parents that were not here."""
        waiting = [*self._waiting.values(), *self._requests.values()]
        self._waiting, self._requests = {}, {}
        for nodes in waiting:
            for node in nodes:
                self._climb(node)

    def forget(self, leaving: Iterable[Node], oldest_ns: int) -> None:
        """Steps have left the window: forget them, and structure that ended before what is kept."""
        for node in leaving:
            self._leave(node.step.ref.span_id)
        for span_id in [span_id for span_id, node in self._structure.items() if node.step.end_ns < oldest_ns]:
            self._leave(span_id)
        self._prune()

    def _leave(self, span_id: str) -> None:
        self.nodes.pop(span_id, None)
        self._structure.pop(span_id, None)
        self._gone[span_id] = None
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _thin(self) -> None:
        """Too many spans that are no steps: the ones that came first go."""
        for span_id in list(self._structure)[: len(self._structure) // 2]:
            self._leave(span_id)
        self._prune()

    def remove(self, leaving: Iterable[Node]) -> None:
        """Take nodes out that belong to another run."""
        for node in leaving:
            del self.nodes[node.step.ref.span_id]
            self._structure.pop(node.step.ref.span_id, None)
        self._prune()

    def _prune(self) -> None:
        self._waiting, self._requests = self._still_here(self._waiting), self._still_here(self._requests)

    def _still_here(self, waiting: dict[str, list[Node]]) -> dict[str, list[Node]]:
        here = self.nodes
        return {
            parent: kept
            for parent, nodes in waiting.items()
            if (kept := [node for node in nodes if node.step.ref.span_id in here])
        }

    def _rank(self, node: Node) -> None:
        """One step per call, however many spans show it: ours before foreign ones, a tool's span before a message."""
        step = node.step
        rank = 2 if step.dialect == OURS else 0 if step.extra and step.extra.get("sighting") else 1
        key = (step.ref.trace_id, step.kind)
        best = self._best.get(key, 0)
        node.rank = rank
        if rank < best or (not rank and step.extra.get("misread")):
            node.shadow = True
        elif rank > best:
            self._best[key] = rank
            while len(self._best) > REMEMBERED:
                del self._best[next(iter(self._best))]
            for other in self.nodes.values():
                if other.rank < rank and (other.step.ref.trace_id, other.step.kind) == key:
                    self._hide(other)

    def only(self, model_call: str, sightings: Collection[str]) -> None:
        """Hide the tool calls that messages of a model call seemed to show and do not, and show the others again."""
        for span_id, node in self.nodes.items():
            step = node.step
            if node.rank or step.kind is not Kind.TOOL or step.extra.get("llm") != model_call:
                continue
            misread = span_id not in sightings
            step.extra = {**step.extra, "misread": misread}
            shadow = misread or self._best.get((step.ref.trace_id, step.kind), 0) > 0
            if shadow != node.shadow:
                node.shadow = shadow
                self._changed(node)

    def _hide(self, node: Node) -> None:
        if not node.shadow:
            node.shadow = True
            self._changed(node)

    def _climb(self, node: Node) -> None:
        """Up to the nearest agent. On the way a request joins its call, and a call inside the same call is hidden."""
        step, nodes = node.step, self.nodes
        kind, parent_id = step.kind, step.parent_id
        for _ in range(DEPTH):
            if parent_id is None:
                return
            above = nodes.get(parent_id)
            if above is None:
                if kind is not Kind.HTTP and (others := self._waiting.get(parent_id)) is not None:
                    others.append(node)
                    return
                further = self._outside.parent_of(SpanRef(step.ref.trace_id, parent_id))
                if further:
                    parent_id = further
                    continue
                waiting = self._waiting if kind is not Kind.HTTP else self._requests
                waiting.setdefault(parent_id, []).append(node)
                return
            over = above.step.kind
            if over is Kind.AGENT:
                if kind is Kind.AGENT:
                    self._nest(node)
                elif kind is not Kind.HTTP:
                    self._assign(node, above)
                return
            if over in _CARRIERS:
                if kind is Kind.HTTP:
                    self._attach(above, step)
                    self._leave(step.ref.span_id)
                    return
                if kind is Kind.AGENT:
                    self._nest(node)
                    return
                if over is kind and not above.shadow and (kind is Kind.LLM or above.step.action == step.action):
                    self._hide(node)
            parent_id = above.step.parent_id

    def _answer(self, span_id: str, trace_id: str) -> None:
        """Let requests go on that waited for this span, or for one below it that is no step and is known by now."""
        known = self._outside.parent_of
        for missing in list(self._requests)[:DEPTH]:
            if missing == span_id or known(SpanRef(trace_id, missing)):
                for child in self._requests.pop(missing, ()):
                    self._climb(child)

    def _attach(self, call: Node, request: Step) -> None:
        attempts = {a.span_id: a for a in (*call.step.http, *request.http)}
        if not request.http:
            ref = request.ref
            attempts[ref.span_id] = HttpAttempt(0, None, ref.span_id, request.start_ns, request.error_type or None)
        if len(attempts) > len(call.step.http):
            call.step.http = tuple(sorted(attempts.values(), key=lambda a: (a.start_ns, a.span_id))[-DEPTH:])
            self._changed(call)

    def _nest(self, agent: Node) -> None:
        if agent.nested:
            return
        agent.nested = True
        for node in self.nodes.values():
            if not node.lane and node.step.parent_id is not None and node.step.kind in NUMBERED:
                self._relane(node)

    def _relane(self, node: Node) -> None:
        parent_id = node.step.parent_id
        for _ in range(DEPTH):
            above = self.nodes.get(parent_id) if parent_id else None
            if above is None:
                return
            if above.step.kind is Kind.AGENT:
                self._assign(node, above)
                return
            parent_id = above.step.parent_id

    def _assign(self, node: Node, agent: Node) -> None:
        step = node.step
        if not step.agent:
            step.agent, step.agent_id = agent.step.agent, agent.step.agent_id
        lane = agent.step.ref.span_id if agent.nested else ""
        if node.lane != lane:
            node.lane = lane
            self._changed(node)
