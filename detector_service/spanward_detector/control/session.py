"""One control stream: what its agent said of itself, and what waits to be said to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from spanward_detector.control.codec import AgentRun
from spanward_detector.control.outgoing import Outgoing
from spanward_detector.model import InFlight


@dataclass(slots=True)
class Session:
    """A live stream.

    Attributes:
        instance_id: of the agent's process.
        accepts: kinds of directives that it can carry out; others are never sent.
        outgoing: messages that wait to be written.
        runs: that it registered, as it told them last.
        in_flight: calls that have started and not ended, by run, as of the last heartbeat.
        heard_at: monotonic seconds of its last message.
        told: its own counters as of the last heartbeat.
        said_goodbye: why it ends the stream on purpose; "" = it does not.
        seq: of its last message.
    """

    instance_id: str
    service: str
    accepts: frozenset[str]
    outgoing: Outgoing
    heard_at: float
    runs: dict[str, AgentRun] = field(default_factory=dict)
    in_flight: dict[str, tuple[InFlight, ...]] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    said_goodbye: str = ""
    seq: int = 1


class Sessions:
    """All live streams, by process and by run. A run belongs to one stream: its spans can order nothing elsewhere."""

    def __init__(self) -> None:
        self._by_instance: dict[str, Session] = {}
        self._by_run: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._by_instance)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._by_instance.values()))

    def add(self, session: Session) -> bool:
        """False when the same process has a live stream already: this one is somebody else, or too early."""
        if session.instance_id in self._by_instance:
            return False
        self._by_instance[session.instance_id] = session
        return True

    def remove(self, session: Session) -> None:
        """Forget a stream that has ended, and whom its runs belonged to."""
        if self._by_instance.get(session.instance_id) is session:
            del self._by_instance[session.instance_id]
        for run_id in session.runs:
            if self._by_run.get(run_id) is session:
                del self._by_run[run_id]

    def claim(self, session: Session, run: AgentRun) -> bool:
        """Register a run. False when it is another live stream's: nobody can take over somebody else's run."""
        owner = self._by_run.setdefault(run.run_id, session)
        if owner is not session:
            return False
        session.runs[run.run_id] = run
        return True

    def release(self, session: Session, run_id: str) -> None:
        """The run has ended."""
        session.runs.pop(run_id, None)
        session.in_flight.pop(run_id, None)
        if self._by_run.get(run_id) is session:
            del self._by_run[run_id]

    def of_run(self, run_id: str) -> Session | None:
        """The stream that a run belongs to."""
        return self._by_run.get(run_id)

    def of_instance(self, instance_id: str) -> Session | None:
        """The live stream of a process."""
        return self._by_instance.get(instance_id)
