"""One control stream, from ``Hello`` to its end."""

from __future__ import annotations

import importlib.metadata
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import grpc
from opentelemetry import trace
from spanward_control.v1 import control_pb2 as pb

from spanward.channel import open_channel, status_code
from spanward.control_client import codec
from spanward.control_client.carried import Carried
from spanward.control_client.heartbeat import full_state, heartbeat
from spanward.control_client.outbox import RunChange

if TYPE_CHECKING:
    from spanward.control_client.client import ControlClient
    from spanward.control_client.outbox import Item

log = logging.getLogger("spanward")

METHOD: Final = "/spanward_control.v1.ControlService/Connect"
HANDSHAKE_S: Final = 5.0
HEARTBEAT_S: Final = 1.0
HEARTBEAT_BOUNDS_MS: Final = (50, 60_000)
GOODBYE_S: Final = 1.0
EARLY_BEAT_S: Final = 0.005
"""A call with effects that is over sooner needs no beat of its own: its span tells of it."""
STALLED_S: Final = 0.05
"""A stream that has not come for spans within this time is stuck; they go by calls until it moves again."""
OVERDUE_S: Final = 2.0
"""Spans that the detector has not taken within this time are sent again by a call."""


class RefusedError(Exception):
    """The detector does not want this stream.

    Attributes:
        reason: its code.
        retry_after_s: as it asks; 0 = it does not say.
        transient: trying again soon makes sense.
    """

    def __init__(self, reason: str, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.transient = reason in ("duplicate_instance", "overloaded")


class Stream:
    """Used once. :meth:`run` on the control thread, :meth:`_messages` on gRPC's, the rest on any.

    Attributes:
        welcomed: the detector took us.
        asked_to_reconnect: it ended the stream on purpose.
    """

    def __init__(self, client: ControlClient) -> None:
        self.welcomed = False
        self.asked_to_reconnect = False
        self._client = client
        self._outbox = client.outbox
        self._changed = client.outbox.changed
        self._call: Any = None
        self._closed = False
        self._goodbye = ""
        self._refused: RefusedError | None = None
        self._sent = 0
        self._received = 0
        self._heartbeat_s = HEARTBEAT_S
        self._last_beat = 0.0
        self._next_beat = 0.0
        self._early_beat = 0.0  # 0: none asked for
        self._state_asked = False
        self._replies: list[pb.AgentToDetector] = []
        self._carried = Carried(client.spans)
        self._carries = False  # the detector takes them
        self._asked_at = 0.0  # since when spans wait to be fetched; 0: none do
        self._carried_last = False

    # -------------------------------------------------------------------------------------------- any thread

    def beat_soon(self) -> None:
        """A heartbeat within milliseconds, unless the call that asked for it is over by then."""
        if self._early_beat or not self.welcomed:
            return
        with self._changed:
            self._early_beat = time.monotonic() + EARLY_BEAT_S
            self._changed.notify_all()

    def fetch_soon(self) -> bool:
        """Takes what the sender has queued; False when spans cannot go this way now."""
        now = time.monotonic()
        with self._changed:
            if not self._carries or self._closed or self._goodbye:
                return False
            if self._asked_at and now - self._asked_at > STALLED_S:
                return False
            self._asked_at = self._asked_at or now
            self._changed.notify_all()
        return True

    def recall(self) -> None:
        """Gives back the spans that the detector has not taken yet."""
        self._carried.recall(float("inf"))

    def say_goodbye(self, reason: str) -> None:
        """Sends what is left, then ends the stream from our side."""
        with self._changed:
            self._goodbye = reason
            self._changed.notify_all()

    def cancel(self) -> None:
        """Ends it now."""
        if self._call is not None:
            self._call.cancel()

    # ---------------------------------------------------------------------------------------- the control thread

    def run(self) -> str:
        """Reads until the stream ends; returns why, as a code.

        Raises:
            RefusedError: the detector answered so.
        """
        client = self._client
        hello = codec.hello(
            client.instance_id,
            client.settings.service_name or _service_name(),
            _sdk_version(),
            client.settings.allowed_directives,
            client.policy_version,
            client.gate.runs_open(),
            client.epoch,
        )
        with open_channel(client.settings.endpoint) as channel:
            call = self._call = channel.stream_stream(
                METHOD,
                request_serializer=pb.AgentToDetector.SerializeToString,
                response_deserializer=pb.DetectorToAgent.FromString,
            )(self._messages(hello))
            try:
                for message in call:
                    self._receive(message)
                    if self._refused is not None:
                        raise self._refused
                return "ended"
            except grpc.RpcError as error:
                return status_code(error)
            finally:
                with self._changed:
                    self._closed = True
                    self._changed.notify_all()
                call.cancel()
                self._carried.end()

    def _receive(self, message: pb.DetectorToAgent) -> None:
        if message.seq != self._received + 1:
            self._ask_for_state()
        self._received = max(self._received, message.seq)
        self._carried.taken(message.taken)
        name = message.WhichOneof("message")
        handler = _HANDLERS.get(name or "")
        if handler is None:
            return  # a newer detector's: it must not cost us the stream
        try:
            handler(self, getattr(message, name or ""))
        except Exception:
            log.debug("message %s", name, exc_info=True)

    def _ask_for_state(self) -> None:
        with self._changed:
            self._state_asked = True
            self._changed.notify_all()

    def _on_welcome(self, message: pb.Welcome) -> None:
        client = self._client
        if message.epoch < client.epoch:
            # Another detector has taken over since: this one has lost its lease and must not steer.
            self._refused = RefusedError("stale_epoch")
            return
        low, high = HEARTBEAT_BOUNDS_MS
        if message.heartbeat_ms:
            self._heartbeat_s = min(high, max(low, message.heartbeat_ms)) / 1000
        if message.policy.version:
            self._on_policy(message.policy)
        with self._changed:
            self.welcomed = True
            self._carries = message.takes_spans
            self._next_beat = time.monotonic() + self._heartbeat_s
            self._early_beat = time.monotonic() + EARLY_BEAT_S  # for calls with effects that began meanwhile
            self._changed.notify_all()
        client.welcomed(message.epoch)

    def _on_refused(self, message: pb.Refused) -> None:
        self._refused = RefusedError(message.reason or "unspecified", message.retry_after_ms / 1000)

    def _on_hold_answer(self, message: pb.HoldAnswer) -> None:
        directive = None
        if message.HasField("directive"):
            directive = codec.directive(message.directive, time.monotonic())
            if directive is None:
                self._refuse_unknown(message.directive)
        answered = self._client.holds.answer(message.trace_id.hex(), message.span_id.hex(), directive)
        if directive is not None and not answered:
            self._client.gate.deliver(directive)

    def _on_directive(self, message: pb.Directive) -> None:
        directive = codec.directive(message, time.monotonic())
        if directive is None:
            self._refuse_unknown(message)
        elif not (
            directive.answers_hold and self._client.holds.answer(directive.trace_id, directive.span_id, directive)
        ):
            self._client.gate.deliver(directive)

    def _refuse_unknown(self, message: pb.Directive) -> None:
        self._client.status(message.id, "rejected", "unsupported")

    def _on_breaker(self, message: pb.BreakerState) -> None:
        phase = codec.breaker_phase(message.phase)
        if phase is not None:
            self._client.gate.set_breaker(message.tool, phase, message.open_for_ms / 1000)

    def _on_policy(self, message: pb.Policy) -> None:
        status = pb.PolicyStatus(version=message.version, state=pb.PolicyStatus.STATE_APPLIED)
        try:
            self._client.gate.set_policy(codec.policy(message))
            self._client.policy_version = message.version
        except Exception as error:  # the last good policy stays in force
            status = pb.PolicyStatus(
                version=message.version, state=pb.PolicyStatus.STATE_FAILED, error=type(error).__name__
            )
        self._reply(pb.AgentToDetector(policy_status=status))

    def _on_transition(self, message: pb.Transition) -> None:
        phase = codec.phase(message.to)
        if phase is not None:
            self._client.gate.transition(message.run_id, phase, message.reason)

    def _on_full_state_request(self, _message: pb.RequestFullState) -> None:
        self._ask_for_state()

    def _on_reconnect(self, _message: pb.Reconnect) -> None:
        self.asked_to_reconnect = True
        self.say_goodbye("reconnect")
        # Verdicts that are on their way are still read; a detector that does not end the stream is not waited for.
        alarm = threading.Timer(GOODBYE_S, self.cancel)
        alarm.daemon = True
        alarm.start()

    def _on_scene_request(self, message: pb.SceneRequest) -> None:
        scene = pb.Scene(request_id=message.request_id, run_id=message.run_id, error="unsupported")
        self._reply(pb.AgentToDetector(scene=scene))

    def _on_ask_model(self, message: pb.AskModel) -> None:
        answer = pb.ModelAnswer(request_id=message.request_id, error="unsupported")
        self._reply(pb.AgentToDetector(model_answer=answer))

    def _on_run_tool(self, message: pb.RunTool) -> None:
        result = pb.ToolResult(request_id=message.request_id, error="unsupported")
        self._reply(pb.AgentToDetector(tool_result=result))

    def _reply(self, message: pb.AgentToDetector) -> None:
        with self._changed:
            self._replies.append(message)
            self._changed.notify_all()

    # ------------------------------------------------------------------------------------------ gRPC's thread

    def _messages(self, hello: pb.Hello) -> Iterator[pb.AgentToDetector]:
        """What we say, in order, numbered. gRPC takes the next one when the last is on its way, and so throttles us."""
        yield self._numbered(pb.AgentToDetector(hello=hello))
        if not self._await_welcome():
            return
        while (message := self._next()) is not None:
            yield self._numbered(message)

    def _numbered(self, message: pb.AgentToDetector) -> pb.AgentToDetector:
        self._sent += 1
        message.seq = self._sent
        return message

    def _await_welcome(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self.welcomed or self._closed or self._goodbye, HANDSHAKE_S)
            if self.welcomed:
                return True
        self.cancel()
        return False

    def _next(self) -> pb.AgentToDetector | None:
        """Waits for something to say; None when the stream is over."""
        while True:
            try:
                with self._changed:
                    self._changed.wait_for(self._has_something, self._until_beat_s())
                    if self._closed:
                        return None
                    replies = self._replies.pop(0) if self._replies else None
                    goodbye = self._goodbye
                if replies is not None:
                    return replies
                # By turns: an agent whose threads always wait for something must not silence itself otherwise.
                carries, self._carried_last = self._asked_at and not self._carried_last, False
                if carries and (spans := self._fetch()) is not None:
                    self._carried_last = True
                    return spans
                if (item := self._outbox.take()) is not None:
                    return _encode(item)
                if goodbye:
                    with self._changed:
                        self._closed = True
                    return pb.AgentToDetector(goodbye=pb.Goodbye(reason=goodbye))
                if (message := self._timely()) is not None:
                    return message
            except Exception:  # one thing that cannot be said must not silence the rest
                log.debug("control message", exc_info=True)

    def _has_something(self) -> bool:
        waiting = self._closed or self._replies or self._asked_at or len(self._outbox) or self._goodbye
        return bool(waiting or self._state_asked) or self._until_beat_s() <= 0

    def _fetch(self) -> pb.AgentToDetector | None:
        """Spans that somebody waits for, after what is to be said of runs: one message is there sooner than two."""
        self._asked_at = 0.0  # before they are taken: what is queued from here on asks again
        spans = self._carried.take(self._sent + 1, time.monotonic())
        if spans is None:
            return None
        runs = [_run_update(change) for change in self._outbox.take_open_runs()]
        return pb.AgentToDetector(spans=pb.Spans(request=spans, runs=runs))

    def _until_beat_s(self) -> float:
        due = min(self._next_beat, self._early_beat or self._next_beat)
        return max(0.0, due - time.monotonic())

    def _timely(self) -> pb.AgentToDetector | None:
        gate, now = self._client.gate, time.monotonic()
        if self._state_asked:
            self._state_asked = False
            return pb.AgentToDetector(full_state=full_state(gate, now))
        early = 0.0 < self._early_beat <= now
        if early:
            self._early_beat = 0.0
            early = any(call.effects and call.started_at > self._last_beat for call in gate.calls_in_flight())
        if not early and now < self._next_beat:
            return None
        self._last_beat, self._next_beat = now, now + self._heartbeat_s
        self._carried.recall(now - OVERDUE_S)
        return pb.AgentToDetector(heartbeat=heartbeat(gate, self._client.spans_dropped(), now))


def _service_name() -> str:
    """Of the user's own resource, when there is one."""
    resource = getattr(trace.get_tracer_provider(), "resource", None)
    return str(getattr(resource, "attributes", {}).get("service.name", ""))


def _sdk_version() -> str:
    try:
        return importlib.metadata.version("spanward")
    except importlib.metadata.PackageNotFoundError:  # runs from a checkout
        return ""


def _encode(item: Item) -> pb.AgentToDetector:
    if isinstance(item, RunChange):
        return pb.AgentToDetector(run_update=_run_update(item))
    return pb.AgentToDetector(directive_status=codec.status(item))


def _run_update(change: RunChange) -> pb.RunUpdate:
    return codec.run_update(change.run, started=change.started, ended=change.ended, reason=change.reason)


_HANDLERS: Final[Mapping[str, Callable[[Stream, Any], None]]] = {
    "welcome": Stream._on_welcome,
    "refused": Stream._on_refused,
    "hold_answer": Stream._on_hold_answer,
    "directive": Stream._on_directive,
    "breaker": Stream._on_breaker,
    "policy": Stream._on_policy,
    "request_full_state": Stream._on_full_state_request,
    "scene_request": Stream._on_scene_request,
    "ask_model": Stream._on_ask_model,
    "run_tool": Stream._on_run_tool,
    "transition": Stream._on_transition,
    "reconnect": Stream._on_reconnect,
}
