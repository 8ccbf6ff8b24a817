"""What comes over the wire from peers: the control stream, providers of models, HTTP."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from urllib.parse import unquote

import orjson
from google.protobuf.message import DecodeError
from spanward import feedback
from spanward.adapters import answers, content, openai_chat, openai_events, openai_responses
from spanward.adapters.http import retry_after_ms
from spanward.control_client import codec as gate_codec
from spanward_control.v1 import control_pb2 as pb
from spanward_detector import ingest
from spanward_detector.api import make_app
from spanward_detector.control import codec as detector_codec
from spanward_detector.metrics import Metrics
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy.load import default

from fuzz import seeds
from fuzz.mutate import message_mutator, mutate_json
from fuzz.target import Target, as_text, promise


def _from_agent(data: bytes) -> None:
    message = pb.AgentToDetector.FromString(data)
    update, state, beat = message.run_update, message.full_state, message.heartbeat
    told = [*detector_codec.agent_runs(message.hello.runs), *detector_codec.agent_runs(state.runs)]
    if (one := detector_codec.agent_run(update.run)) is not None:
        told.append(one)
    pipeline = Pipeline(default())
    for run in told:
        pipeline.register(run)
    detector_codec.accepted_kinds(message.hello.accepts)
    detector_codec.progress(beat.runs)
    detector_codec.in_flight([*beat.in_flight, *state.in_flight])
    detector_codec.fail_open(beat.counters)
    for status in (message.directive_status, *state.directives):
        detector_codec.ack(status)


def _from_detector(data: bytes) -> None:
    message = pb.DetectorToAgent.FromString(data)
    for order in (message.directive, message.hold_answer.directive):
        directive = gate_codec.directive(order, 1.0)
        if directive is not None and directive.kind in ("feedback", "ask"):
            slots: Any = directive.payload.get("slots", {})
            feedback.render(str(directive.payload.get("template", "")), slots, {"error": str(slots)})
    gate_codec.policy(message.welcome.policy)
    gate_codec.policy(message.policy)
    gate_codec.phase(message.transition.to)
    gate_codec.breaker_phase(message.breaker.phase)


def _openai(data: bytes) -> None:
    """A request, a reply and the events of a stream, as a server that only resembles OpenAI's may write them."""
    try:
        value = orjson.loads(data)
    except ValueError:
        return
    body = value if isinstance(value, dict) else {"messages": value, "input": value}
    for dialect in (openai_chat, openai_responses):
        dialect.asked(body)
        messages = list(dialect.tool_messages(body))
        dialect.with_results(body, {message.call_id: "x" for message in messages})
        answer = dialect.answer(value)
        content.output_messages(answer)
        dialect.replan(body, value, {call.id: "x" for call in answer.calls}, "no")
        dialect.rewrite(orjson.loads(data), {call.id: "{}" for call in answer.calls})
    content.input_messages(answers.items(value) or [value])
    events = answers.items(value) or [value]
    for collector in (openai_events.ChatCollector(), openai_events.ResponsesCollector()):
        for event in events:
            collector.take(event)
        collector.reply()
        collector.rewrite(events, {"c": "{}"})


class _Intake:
    """Decodes and forgets."""

    def refused(self, reason: str) -> None: ...

    async def traces(self, data: bytes, *, json: bool = False) -> None:
        list((ingest.iter_traces_json if json else ingest.iter_traces)(data))

    async def logs(self, data: bytes, *, json: bool = False) -> None:
        list((ingest.iter_logs_json if json else ingest.iter_logs)(data))


class _Nothing:
    """A store and a view of a detector that has seen nothing."""

    healthy = True

    def list_runs(self, limit: int) -> list[Any]:
        promise(1 <= limit <= 1000, "limits are within limits")
        return []

    def get_run(self, run_id: str) -> None: ...

    def first_cause(self, run_id: str) -> None: ...

    async def fresh(self) -> None: ...


@cache
def _served() -> tuple[Any, asyncio.AbstractEventLoop]:
    nothing: Any = _Nothing()
    intake: Any = _Intake()
    app = make_app(intake, Metrics(), nothing, nothing, host="127.0.0.1", allowed_hosts=(), limit=1 << 20)
    return app, asyncio.new_event_loop()


def _http(data: bytes) -> None:
    head, _, body = data.partition(b"\n\n")
    line, *rest = head.split(b"\n")
    method, _, target = line.decode("latin-1").partition(" ")
    path, _, query = target.removesuffix(" HTTP/1.1").encode("ascii", "ignore").partition(b"?")
    headers = [(name.strip().lower(), value.strip()) for name, _, value in (one.partition(b":") for one in rest)]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method[:20], "scheme": "http",
        "path": unquote(path.decode()), "raw_path": path, "query_string": query, "headers": headers, "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8327),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    app, loop = _served()
    loop.run_until_complete(app(scope, receive, send))
    promise(bool(sent) and sent[0]["status"] not in (500, 503), "no request breaks the server")


def _headers(data: bytes) -> None:
    pairs = (line.partition(":") for line in data.decode("latin-1").split("\n"))
    wait = retry_after_ms({name.strip().lower(): value for name, _, value in pairs}, datetime(2026, 1, 1, tzinfo=UTC))
    promise(wait is None or 0 <= wait <= 86_400_000, "at most a day")


def _requests_of_agents() -> tuple[bytes, ...]:
    run = pb.RunState(run_id="r", agent="a", trace_id=b"1" * 16, phase="RUN_PHASE_RUNNING", steps=3)
    run.tools["t"].side_effect = "write"
    call = pb.CallInFlight(
        run_id="r", trace_id=b"1" * 16, span_id=b"2" * 8, kind="tool", action="t", stack=["a.py:1 f"]
    )
    status = pb.DirectiveStatus(directive_id="d", state="STATE_APPLIED", reason="x", apply_ms=1.5)
    beat = pb.Heartbeat(
        runs=[pb.RunProgress(run_id="r", idle_ms=5, stack=["f"])], in_flight=[call], counters={"holds": 1}
    )
    made = (
        pb.AgentToDetector(
            seq=1,
            hello=pb.Hello(
                instance_id="i", accepts=["DIRECTIVE_KIND_RETRY", "DIRECTIVE_KIND_FEEDBACK"], runs=[run], last_epoch=4
            ),
        ),
        pb.AgentToDetector(seq=2, heartbeat=beat),
        pb.AgentToDetector(seq=3, run_update=pb.RunUpdate(run=run, started=True)),
        pb.AgentToDetector(seq=4, directive_status=status),
        pb.AgentToDetector(seq=5, full_state=pb.FullState(runs=[run], directives=[status], in_flight=[call])),
    )
    return tuple(message.SerializeToString() for message in made)


def _requests_of_detectors() -> tuple[bytes, ...]:
    common: dict[str, Any] = {
        "id": "d",
        "run_id": "r",
        "trace_id": b"1" * 16,
        "span_id": b"2" * 8,
        "expires_in_ms": 5000,
    }
    payloads: tuple[dict[str, Any], ...] = (
        {"kind": 1, "retry": pb.Retry(delay_ms=5, attempt=1)},
        {"kind": 3, "feedback": pb.Feedback(template="tool_error", slots={"status": "500", "error_type": "x"})},
        {"kind": 4, "fallback": pb.Fallback(strategy="STRATEGY_TOOL_FALLBACK", tool="t")},
        {"kind": 6, "pause": pb.Pause(lease_ms=5, reason="x")},
        {"kind": 2, "repair_arguments": pb.RepairArguments(repairs=["fences"])},
    )
    policy = pb.Policy(version="v", fail_closed_tools=["t"])
    policy.tools["t"].timeout_s = 2.5
    made = (
        *(pb.DetectorToAgent(directive=pb.Directive(**common, **payload)) for payload in payloads),
        pb.DetectorToAgent(welcome=pb.Welcome(epoch=1, heartbeat_ms=5, policy=policy)),
        pb.DetectorToAgent(breaker=pb.BreakerState(tool="t", phase="BREAKER_PHASE_OPEN", open_for_ms=5)),
        pb.DetectorToAgent(transition=pb.Transition(run_id="r", to="RUN_PHASE_PAUSED")),
    )
    return tuple(message.SerializeToString() for message in made)


TARGETS: Final = (
    Target("from_agent", _from_agent, _requests_of_agents, message_mutator(pb.AgentToDetector), (DecodeError,)),
    Target(
        "from_detector", _from_detector, _requests_of_detectors, message_mutator(pb.DetectorToAgent), (DecodeError,)
    ),
    Target("openai", _openai, lambda: (*seeds.OPENAI, *seeds.json_texts()), mutate_json),
    Target("http", _http, lambda: seeds.HTTP, as_text),
    Target("headers", _headers, lambda: seeds.HEADERS),
)
