"""What a heartbeat tells: calls in flight with their age, progress of runs, and where they stand once that is long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from spanward_control.v1 import control_pb2 as pb

from spanward.control_client import codec
from spanward.control_client.stacks import stack_of
from spanward.ports import GateSink, InFlightCall

CALL_STACK_AFTER_S: Final = 1.0
RUN_STACK_AFTER_S: Final = 5.0
ENTRIES_MAX: Final = 512
"""Calls and runs in one beat; the oldest are told, for it is they that may hang."""


def heartbeat(gate: GateSink, spans_dropped: int, now: float) -> pb.Heartbeat:
    """The state of this process at ``now`` (``time.monotonic()``)."""
    calls = _calls(gate, now)
    busy = {call.run_id for call in calls}
    runs = sorted(gate.runs_open(), key=lambda run: run.last_activity_at)[:ENTRIES_MAX]
    return pb.Heartbeat(
        in_flight=calls,
        runs=[
            codec.run_progress(
                run,
                now,
                stack_of(run.thread_id, run.task)
                if run.id not in busy and now - run.last_activity_at >= RUN_STACK_AFTER_S
                else (),
            )
            for run in runs
        ],
        counters=codec.counters(gate.counters, spans_dropped),
    )


def full_state(gate: GateSink, now: float) -> pb.FullState:
    """Everything that the detector may have missed."""
    return pb.FullState(
        runs=[codec.run_state(run) for run in gate.runs_open()],
        in_flight=_calls(gate, now),
        directives=[codec.status(outcome) for outcome in gate.outcomes()],
    )


def _calls(gate: GateSink, now: float) -> list[pb.CallInFlight]:
    calls: Iterable[InFlightCall] = sorted(gate.calls_in_flight(), key=lambda call: call.started_at)[:ENTRIES_MAX]
    return [
        codec.call_in_flight(
            call, now, stack_of(call.thread_id, call.task) if now - call.started_at >= CALL_STACK_AFTER_S else ()
        )
        for call in calls
    ]
