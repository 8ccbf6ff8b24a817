"""One run: its steps in order, what is remembered of them, and what was found at each.

Spans come child first, twice, shuffled and late. The window orders them; a late step rewinds memory to the nearest
snapshot, and the steps from there on are told again. So whatever the order of arrival, a settled run has the same
findings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal

from spanward_detector.breakers import NO_FLEET, Fleet
from spanward_detector.directives import RepairLedger
from spanward_detector.kinship import NOBODY, OURS, REMEMBERED, Kinship, Outside
from spanward_detector.memory import TOOLS, Lane, Memory
from spanward_detector.model import NUMBERED, Finding, Kind, SpanRef, Step
from spanward_detector.outcome import PLAIN, WORKED, Outcome, classify
from spanward_detector.states import State
from spanward_detector.tracks import Track
from spanward_detector.window import Node, Window

TRACES: Final = 4096
"""Traces of one run that are listed."""

Taken = Literal["taken", "duplicate", "late"]

_Key = tuple[str, str, SpanRef]


class Run:
    """One task of one agent.

    While a step is told, ``lane``, ``track``, ``outcome`` and ``memory`` are as of it and include it.

    Attributes:
        id: run id, or the trace id where no span names a run.
        agent: name of the outermost agent known.
        agent_id: its id.
        conversation_id: links runs; "" when nobody said.
        trace_ids: traces that its spans came from, in order of arrival.
        service: service that it runs in.
        state: where it is in its life.
        spans: that are held in memory.
        started_ns: earliest start seen.
        last_ns: latest end seen.
        ended: how the run's own span says that it ended: "completed" or a class name; "" while it did not.
        max_steps: limit that the run stated; 0 = none.
        max_tokens: limit that the run stated; 0 = none.
        deadlines: seconds after which a tool's call is overdue, where the policy says so.
        fleet: what has failed in a row over all runs.
        repair: directives issued and what became of them.
        declared: tools that any request of the run declared, name → JSON Schema or None.
        memory: of the steps so far.
        lane: of the agent of the step at hand.
        track: that the step at hand is the last act of; None when it is no act.
        outcome: of the step at hand.
        late: steps that came too late to be told.
        late_ref: the last of them.
    """

    def __init__(
        self,
        run_id: str,
        deadlines: Mapping[str, float] | None = None,
        outside: Outside = NOBODY,
        fleet: Fleet = NO_FLEET,
    ) -> None:
        self.id = run_id
        self.agent = ""
        self.agent_id = ""
        self.conversation_id = ""
        self.trace_ids: dict[str, None] = {}
        self.service = ""
        self.state: State = State.RUNNING
        self.spans = 0
        self.started_ns = 0
        self.last_ns = 0
        self.ended = ""
        self.max_steps = 0
        self.max_tokens = 0
        self.deadlines: Mapping[str, float] = deadlines if deadlines is not None else {}
        self.fleet = fleet
        self.repair = RepairLedger()
        self.declared: dict[str, object] = {}
        self.memory = Memory()
        self.lane: Lane = self.memory.lane("")
        self.track: Track | None = None
        self.outcome: Outcome = WORKED
        self.late = 0
        self.late_ref: SpanRef | None = None
        self._withdrawn: list[Finding] = []
        self._outside = outside
        self._window = Window()
        self._kin = Kinship(outside, self._window.mark)
        self._outermost: tuple[int, bool] | None = None  # start of the span that ``agent`` is from; it has a parent
        self._at: Node | None = None  # being told; None for time
        self._tick: Step | None = None
        self._open = True  # the last tick says that the run goes on
        self._clocked: dict[_Key, Finding] = {}  # found by time, not at a step
        self._closing: dict[_Key, Finding] = {}  # found at the end, until it is looked at again

    # ------------------------------------------------------------------------------------------------ for readers

    @property
    def steps(self) -> int:
        """Number of the last step."""
        return self.memory.steps

    @property
    def content(self) -> int:
        """Characters of content that its steps hold."""
        return self._window.content

    @property
    def recent(self) -> Sequence[Step]:
        """The last steps in order, oldest first."""
        return [node.step for node in self._window.nodes if not node.shadow]

    @property
    def agents(self) -> Sequence[Step]:
        """Spans of agents that are in memory, the run's own among them."""
        return [node.step for node in self._kin.nodes.values() if node.step.kind is Kind.AGENT]

    def findings(self) -> list[Finding]:
        """Everything found and not withdrawn, at steps in the window in their order, then what time told."""
        found = [f for node in self._window.nodes for f in node.findings]
        return [*found, *self._clocked.values(), *self._closing.values()]

    def last_ref(self) -> SpanRef:
        """The latest step, else an agent's span, else a trace: where a finding about time belongs."""
        if self._window.nodes:
            return self._window.nodes[-1].step.ref
        agents = sorted((step.start_ns, step.ref) for step in self.agents)
        return agents[0][1] if agents else SpanRef(next(iter(self.trace_ids), ""), "")

    def knows(self, span_id: str) -> bool:
        """True for a span that has been here."""
        return span_id in self._kin

    # ------------------------------------------------------------------------------------------------- a step comes

    def add(self, step: Step, keyed: bool) -> Taken:
        """Take one step in: ordered, joined to its parents and children, ready to be told by :meth:`due`.

        Args:
            step: of this run.
            keyed: its span names the run.

        Returns:
            What became of it; what was not taken changes nothing.
        """
        kind = step.kind
        if kind is Kind.TICK:
            self._tick = step
            return "taken"
        kin, window = self._kin, self._window
        if step.ref.span_id in kin:
            return "duplicate"
        node = Node(step, keyed)
        numbered = kind in NUMBERED
        if numbered and window.horizon is not None and node.order < window.horizon:
            self.late += 1
            self.late_ref = step.ref
            return "late"
        self._account(step)
        if step.declared_tools:
            self._declare(step.declared_tools)
        if numbered:
            left = window.insert(node)
            if left:
                kin.forget(left, window.nodes[0].step.start_ns)
        elif kind is Kind.AGENT:
            self._of_agent(step)
        kin.add(node)
        self.spans = len(kin.nodes)
        return "taken"

    def revise(self, step: Step) -> bool:
        """Put a fuller telling of a span in place of the one before; False when the span is not here (any more)."""
        node = self._kin.nodes.get(step.ref.span_id)
        if node is None or node.step.kind is not step.kind:
            return False
        before = node.step
        step.http = step.http or before.http
        step.agent, step.agent_id = step.agent or before.agent, step.agent_id or before.agent_id
        if step.start_ns != before.start_ns:
            self._move(node, step)
            return True
        if step.declared_tools:
            self._declare(step.declared_tools)
        if step.kind in NUMBERED:
            self._window.replace(node, step)
        else:
            node.step = step
        return True

    def only(self, model_call: str, sightings: Collection[str]) -> None:
        """Of the tool calls that the messages of a model call show, only these are real; others were misread."""
        self._kin.only(model_call, sightings)

    def _move(self, node: Node, step: Step) -> None:
        """A step has its place elsewhere than was thought."""
        self._kin.remove((node,))
        self._window.remove({id(node)})
        self.add(step, node.keyed)
        if (moved := self._kin.nodes.get(step.ref.span_id)) is not None:
            moved.findings, moved.directed, moved.asked = node.findings, node.directed, node.asked

    def take_away(self, trace_id: str | None = None) -> list[tuple[Step, bool]]:
        """Remove the steps that did not name this run (those of one trace), or all, and hand them over."""
        leaving = [
            node
            for node in self._kin.nodes.values()
            if trace_id is None or (not node.keyed and node.step.ref.trace_id == trace_id)
        ]
        self._kin.remove(leaving)
        self.spans = len(self._kin.nodes)
        self._window.remove({id(node) for node in leaving})
        for node in leaving:
            node.step.index = node.stated
        return [(node.step, node.keyed) for node in leaving]

    def limit(self, max_steps: int, max_tokens: int) -> None:
        """Set the limits that the run stated; steps are told again where that changes them."""
        if (max_steps, max_tokens) != (self.max_steps, self.max_tokens):
            self.max_steps, self.max_tokens = max_steps, max_tokens
            self._window.mark_all()

    def refresh(self) -> None:
        """Once more ask what other spans have told of the steps in the window; those that change are told again."""
        self._kin.again()
        for node in self._window.nodes:
            if self._outside.complete(node.step):
                self._window.mark(node)
        for agent in self.agents:
            if self._outside.complete(agent):
                self._of_agent(agent)

    def _account(self, step: Step) -> None:
        if step.ref.trace_id not in self.trace_ids and len(self.trace_ids) < TRACES:
            self.trace_ids[step.ref.trace_id] = None
        if not self.started_ns or step.start_ns < self.started_ns:
            self.started_ns = step.start_ns
        if step.end_ns > self.last_ns:
            self.last_ns = step.end_ns
        if not self.service:
            self.service = step.service
        if not self.conversation_id:
            self.conversation_id = step.conversation_id
        if not self.agent and step.agent:
            self.agent, self.agent_id = step.agent, step.agent_id

    def _of_agent(self, step: Step) -> None:
        outer = (step.start_ns, step.parent_id is not None)
        if step.agent and (self._outermost is None or outer <= self._outermost):
            self._outermost, self.agent, self.agent_id = outer, step.agent, step.agent_id
        if step.run_ended:
            self.ended = step.run_ended
        # What other frameworks call a step is a turn: a model call with all the tool calls that follow from it.
        max_steps = step.stated_max_steps if step.dialect == OURS else 0
        self.limit(max(self.max_steps, max_steps), max(self.max_tokens, step.stated_max_tokens))

    def _declare(self, tools: Mapping[str, object]) -> None:
        known = self.declared
        for name, schema in tools.items():
            if (name not in known or (known[name] is None and schema is not None)) and len(known) < TOOLS:
                known[name] = schema
                self._window.mark_all()

    # ----------------------------------------------------------------------------------------------------- telling

    def due(self) -> Iterator[Step]:
        """The steps that have to be looked at now, in order, with the run as of each.

        One that comes in order is just itself; after a late one, it and all that follow.
        """
        if self._tick is not None:
            tick, self._tick, self._at = self._tick, None, None
            self._open = tick.tick is None or tick.tick.run_open
            self.lane, self.track, self.outcome = self.memory.lane(""), None, WORKED
            yield tick
            return
        window = self._window
        if (node := window.next_in_order(self.memory)) is not None:
            self._at = node
            if self._tell(node):
                yield node.step
            return
        if not window.waits:
            return
        noted = bool(self.memory.notes)  # whoever keeps notes has to see the steps on the way again
        for node, memory, before, due in window.tell(self.memory):
            self.memory, self._at = memory, node
            if before:
                self._outside.complete(node.step)
            if self._tell(node) and (due or noted):
                yield node.step

    def _tell(self, node: Node) -> bool:
        """Take one node into memory; False for one that another one tells better."""
        if node.shadow:
            self._withdrawn.extend(node.findings)
            node.findings = ()
            return False
        step, memory = node.step, self.memory
        self.outcome = outcome = classify(step)
        self.lane = lane = memory.lanes.get(node.lane) or memory.lane(node.lane)
        self.track = memory.take(step, lane, outcome, node.stated)
        if outcome is PLAIN and memory.strayed:
            self.outcome = WORKED
        return True

    def record(self, found: Sequence[Finding]) -> list[Finding]:
        """Enter what was found at the step at hand; what is no longer found there goes to :meth:`take_withdrawn`.

        Returns:
            The findings that are new, or of another severity than before.
        """
        node = self._at
        if node is None:
            return self._record_time(found)
        before = node.findings
        if not before and not found:
            return []
        node.findings = tuple(found)
        keys = {f.key for f in found}
        self._withdrawn.extend(f for f in before if f.key not in keys)
        known = {f.key: f.severity for f in before}
        return [f for f in found if known.get(f.key) != f.severity]

    def take_withdrawn(self) -> tuple[Finding, ...]:
        """Findings that do not hold any more, each handed over once."""
        if not self._withdrawn:
            return ()
        taken, self._withdrawn = tuple(self._withdrawn), []
        return taken

    @property
    def directed(self) -> bool:
        """A directive came of the step at hand already."""
        return self._at is not None and self._at.directed

    @directed.setter
    def directed(self, value: bool) -> None:
        if self._at is not None:
            self._at.directed = value

    @property
    def asked(self) -> bool:
        """The step at hand was a final answer when it was last told."""
        return self._at is not None and self._at.asked

    @asked.setter
    def asked(self, value: bool) -> None:
        if self._at is not None:
            self._at.asked = value

    def _record_time(self, found: Sequence[Finding]) -> list[Finding]:
        """Time tells the same again and again: only the first time, and what has become worse, is new."""
        store = self._clocked if self._open else self._closing
        new = [f for f in found if (old := store.get(f.key)) is None or old.severity != f.severity]
        if not self._open:
            keys = {f.key for f in found}
            self._withdrawn.extend(f for key, f in store.items() if key not in keys)
            store.clear()
        store.update((f.key, f) for f in found)
        while len(store) > REMEMBERED:
            del store[next(iter(store))]
        return new
