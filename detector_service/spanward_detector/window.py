"""The steps of a run that a late one can still come before: ordered, with snapshots of memory in between."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from spanward_detector.memory import Memory
from spanward_detector.model import Finding, Step

SIZE: Final = 512
"""Steps that are kept at least; the window holds up to twice as many."""
SNAPSHOT_EVERY: Final = 32
"""Steps between two snapshots: what a late step costs at most on top of the steps after it."""
CONTENT: Final = 8 * 2**20
"""Characters of arguments, results and messages that are kept; when there are more, the oldest steps go early."""
_SNAPSHOT_CONTENT: Final = CONTENT // (2 * SNAPSHOT_EVERY)
"""As many characters bring the next snapshot as near as one step does, for steps go from snapshot to snapshot."""

Order = tuple[int, str]


class Node:
    """A step and what its run knows of it.

    Attributes:
        step: itself.
        order: (start, span id); steps are told in this order.
        keyed: its span named the run; it did not just share the trace.
        stated: number that the agent gave it; 0 = none.
        lane: of the agent that did it; "" is the run's own.
        nested: an agent's span below another agent or tool: a sub-agent.
        rank: how good a sighting of its call this is: 0 in a message, 1 a span, 2 our own gate's span.
        shadow: another step tells the same call better; not told.
        findings: at the last telling.
        directed: a directive came of it.
        asked: it was a final answer at the last telling.
        snapshot: memory before it, at every few dozenth step.
        content: characters of content that the step holds.
    """

    __slots__ = (
        "asked", "content", "directed", "findings", "keyed", "lane", "nested", "order", "rank", "shadow", "snapshot",
        "stated", "step",
    )  # fmt: skip

    def __init__(self, step: Step, keyed: bool) -> None:
        self.step = step
        self.order: Order = (step.start_ns, step.ref.span_id)
        self.keyed = keyed
        self.stated = step.index
        self.lane = ""
        self.nested = False
        self.rank = 0
        self.shadow = False
        self.findings: tuple[Finding, ...] = ()
        self.directed = False
        self.asked = False
        self.snapshot: Memory | None = None
        self.content = step.content()

    def __lt__(self, other: Node) -> bool:
        return self.order < other.order


class Window:
    """Nodes in order. A node that comes in order is due by itself; one that does not makes all after it due again.

    Attributes:
        nodes: oldest first. The first one always has a snapshot.
        horizon: order of the last node that has left; None while none has.
        content: characters of content that the steps hold.
    """

    __slots__ = ("_due", "_since", "_told", "content", "horizon", "nodes")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.horizon: Order | None = None
        self.content = 0
        self._told = 0  # nodes that memory has taken in
        self._due = 0  # first node to be told
        self._since = SNAPSHOT_EVERY  # nodes since the last snapshot

    def insert(self, node: Node) -> list[Node]:
        """Put a node where it belongs.

        Returns:
            Nodes that left to make room.
        """
        nodes = self.nodes
        self.content += node.content
        if not nodes or nodes[-1].order < node.order:
            nodes.append(node)
            if len(nodes) == 1 and node.snapshot is None:
                node.snapshot = Memory()
            full = len(nodes) >= 2 * SIZE or self.content > CONTENT
            return self._trim() if full and self._due >= len(nodes) - 1 else []
        insort(nodes, node)
        if nodes[0] is node:
            after = nodes[1].snapshot
            node.snapshot = after if self.horizon is not None and after is not None else Memory()
        self.mark(node)
        return []

    def mark(self, node: Node) -> None:
        """This node and those after it have to be told again."""
        at = bisect_left(self.nodes, node)
        if at < self._due and at < len(self.nodes):
            self._due = at

    def mark_all(self) -> None:
        """Everything has to be told again."""
        self._due = 0

    def replace(self, node: Node, step: Step) -> None:
        """Have a node tell another step."""
        node.step = step
        self.content -= node.content
        node.content = step.content()
        self.content += node.content
        self.mark(node)

    def remove(self, leaving: set[int]) -> None:
        """Take nodes out, by ``id()``."""
        base = self.nodes[0].snapshot if self.nodes and self.horizon is not None else None
        self.nodes = [node for node in self.nodes if id(node) not in leaving]
        if self.nodes:
            self.nodes[0].snapshot = base or Memory()
        self.content = sum(node.content for node in self.nodes)
        self._due = self._told = 0

    def next_in_order(self, memory: Memory) -> Node | None:
        """The one node that has to be told, when it is the last and memory is of all before it; else None."""
        last = len(self.nodes) - 1
        if self._due != last or self._told != last or last < 0 or (last == 0 and memory.steps):
            return None  # memory of what has been taken away is not memory of nothing
        self._due = self._told = last + 1
        node = self.nodes[last]
        if self._since >= SNAPSHOT_EVERY:
            node.snapshot = node.snapshot or memory.copy()
            self._since = 0
        self._since += 1 + node.content // _SNAPSHOT_CONTENT
        return node

    def tell(self, memory: Memory) -> Iterator[tuple[Node, Memory, bool, bool]]:
        """The nodes that have to be told, in order, each with the memory of all before it.

        Args:
            memory: of the last telling.

        Yields:
            Node; memory before it; whether it was told before; whether it is due, and not just on the way there.
        """
        nodes = self.nodes
        told, due = self._told, self._due
        at = told
        if due < told or told == 0:
            at = due
            while (snapshot := nodes[at].snapshot) is None:
                at -= 1
            memory = snapshot.copy()
        self._told = self._due = len(nodes)
        for position in range(at, len(nodes)):
            node = nodes[position]
            if node.snapshot is not None or self._since >= SNAPSHOT_EVERY:
                node.snapshot = memory.copy()
                self._since = 0
            self._since += 1 + node.content // _SNAPSHOT_CONTENT
            yield node, memory, position < told, position >= due

    @property
    def waits(self) -> bool:
        """There is something to be told."""
        return self._due < len(self.nodes)

    def _trim(self) -> list[Node]:
        """Half of what may be kept stays, or a little more: the first that stays has a snapshot."""
        nodes = self.nodes
        first, left = len(nodes) - 1, self.content
        for first, node in enumerate(nodes[:-1]):
            if len(nodes) - first <= SIZE and left <= CONTENT // 2:
                break
            left -= node.content
        cut = next((n for n in range(first, 0, -1) if nodes[n].snapshot is not None), 0)
        leaving = nodes[:cut]
        if leaving:
            self.horizon = leaving[-1].order
            self.content -= sum(node.content for node in leaving)
            del nodes[:cut]
            self._told -= cut
            self._due -= cut
        return leaving
