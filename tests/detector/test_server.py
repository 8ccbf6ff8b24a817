"""The detector as a process: clean ends, sudden ends, hostile input, frozen peers."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from spanward_detector.config import ServerConfig
from spanward_detector.server import EmbeddedDetector, StartError
from spanward_detector.store import open_for_reading

from tests.detector.service_fakes import (
    EXPORT,
    EXPORT_LOGS,
    RUN,
    Agent,
    FakeJudge,
    eventually,
    get_json,
    http,
    make_span,
    new_ref,
    span_request,
)

pytestmark = pytest.mark.slow

ROOT = str(Path(__file__).resolve().parents[2])
PROTOBUF = "application/x-protobuf"

UP = """
    import sys
    from pathlib import Path
    from spanward_detector.config import ServerConfig
    from spanward_detector.server import run_forever

    run_forever(ServerConfig.from_env(
        grpc_address=sys.argv[1], http_address="127.0.0.1:0", data_dir=Path(sys.argv[2]), tick_s=0.1, settle_s=0.1,
        keepalive_s=1.0, keepalive_timeout_s=1.0,
    ))
"""


@dataclass
class Process:
    """A detector of its own."""

    child: subprocess.Popen[str]
    grpc: str
    port: int

    def rss(self) -> int:
        """Resident memory in bytes."""
        return int(Path(f"/proc/{self.child.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def spawn(data_dir: Path, address: str = "127.0.0.1:0") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(UP), address, str(data_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@asynccontextmanager
async def up(data_dir: Path) -> AsyncIterator[Process]:
    """A running one, killed at the end if it is still there."""
    with spawn(data_dir) as child:
        try:
            assert child.stdout is not None
            lines = [await asyncio.to_thread(child.stdout.readline) for _ in range(3)]
            yield Process(child, lines[0].split()[-1], int(lines[1].rpartition(":")[2]))
        finally:
            child.kill()


def held(run: str = RUN) -> Span:
    """A tool span of ours that failed and waits."""
    facts = {"error__type": "ValueError", "spanward__facts__result__error": "exception"}
    kind = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "search", "spanward__step__kind": "tool"}
    span = make_span(run=run, held=True, **kind, **facts)
    span.status.code = 2
    return span


async def test_sigterm_ends_it_clean(tmp_path: Path) -> None:
    """Exit code 0, agents are asked to come back, everything is stored, and the log is JSON."""
    async with up(tmp_path) as detector, Agent(detector.grpc) as agent:
        await agent.start_run()
        await agent.export(span_request([held()]))
        await agent.next("hold_answer")
        detector.child.send_signal(signal.SIGTERM)
        await agent.next("reconnect")
        _, errors = await asyncio.to_thread(detector.child.communicate, timeout=10)

    with open_for_reading(tmp_path) as reader:
        run = reader.get_run(RUN)
    assert detector.child.returncode == 0
    assert [json.loads(line)["level"] for line in errors.splitlines()]
    assert run is not None
    assert [step["action"] for step in run["steps"]] == ["search"]


async def test_what_was_ordered_survives_sigkill(tmp_path: Path) -> None:
    """The directive that the agent got is in the outbox, and comes again from the next detector."""
    async with up(tmp_path) as detector, Agent(detector.grpc) as agent:
        await agent.start_run()
        await agent.export(span_request([held()]))
        directive = (await agent.next("hold_answer")).directive
        instance = agent.instance
        detector.child.kill()
        await asyncio.to_thread(detector.child.wait)
    async with up(tmp_path) as detector:
        run = await get_json(detector.port, f"/api/runs/{RUN}")
        async with Agent(detector.grpc, instance) as agent:
            await agent.next("welcome")
            await agent.start_run()
            again = await agent.next("directive")

    assert directive.id
    assert [d["id"] for d in run["directives"]] == [directive.id]
    assert again.id == directive.id
    assert again.epoch > directive.epoch


async def test_a_second_one_on_the_same_address_says_why_it_cannot(tmp_path: Path) -> None:
    """One line for a person, exit code 1."""
    async with up(tmp_path / "a") as detector:
        with spawn(tmp_path / "b", detector.grpc) as second:
            out, errors = await asyncio.to_thread(second.communicate, timeout=20)

    assert second.returncode == 1
    assert out == ""
    assert errors.startswith(f"spanward: {detector.grpc} cannot be listened on")
    assert "Traceback" not in errors


FROZEN = """
    import asyncio, sys
    sys.path[:0] = sys.argv[2:]
    from tests.detector.service_fakes import Agent

    async def main():
        async with Agent(sys.argv[1]) as agent:
            await agent.next("welcome")
            print("here", flush=True)
            await asyncio.sleep(60)

    asyncio.run(main())
"""


async def test_a_frozen_agent_is_noticed(tmp_path: Path) -> None:
    """Its connection is open, its process stopped: pings without answer end the stream within seconds."""

    async def connected(detector: Process) -> float:
        text = (await http(detector.port, "/metrics"))[2].decode()
        return float(text.partition("\nspanward_agents_connected ")[2].partition("\n")[0])

    async with up(tmp_path) as detector:
        agent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", textwrap.dedent(FROZEN), detector.grpc, ROOT, stdout=subprocess.PIPE
        )
        try:
            assert agent.stdout is not None
            await agent.stdout.readline()
            before = await connected(detector)
            agent.send_signal(signal.SIGSTOP)
            async with asyncio.timeout(7):
                while await connected(detector):
                    pass
        finally:
            agent.kill()
            await agent.wait()

    assert before == 1


def _field(number: int, value: bytes) -> bytes:
    """A length-delimited field."""
    size, length = len(value), b""
    while size > 127:
        length += bytes([size % 128 + 128])
        size //= 128
    return bytes([number * 8 + 2]) + length + bytes([size]) + value


def corpus() -> Iterator[tuple[str, bytes]]:
    """Requests that nobody should send."""
    rng = random.Random(4)
    legal = span_request([make_span() for _ in range(20)])
    for method in (EXPORT, EXPORT_LOGS):
        for _ in range(40):
            yield method, rng.randbytes(rng.randrange(1, 2_000))
        for _ in range(60):
            broken = bytearray(legal)
            for _ in range(rng.randrange(1, 20)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            yield method, bytes(broken)
        for cut in range(0, len(legal), 97):
            yield method, legal[:cut]
        yield method, bytes(20 * 2**20)
        yield method, b"\x0a" * 2**20
    many = Span(trace_id=b"t" * 16, span_id=b"s" * 8, start_time_unix_nano=2**63 - 1, end_time_unix_nano=2**64 - 1)
    for n in range(10_000):
        many.attributes.add().key = f"key.{n}"
    yield EXPORT, span_request([many])
    for depth in (50, 90, 5_000):
        value = b""
        for _ in range(depth):
            value = _field(5, _field(1, value))
        span = make_span().SerializeToString() + _field(9, _field(1, b"deep") + _field(2, value))
        yield EXPORT, _field(1, _field(2, _field(2, span)))
    odd = make_span(new_ref())
    odd.kind = 99  # type: ignore[assignment]
    odd.status.code = 77  # type: ignore[assignment]
    yield EXPORT, span_request([odd])
    yield EXPORT, span_request([Span(trace_id=b"short", span_id=b""), Span()])
    for size in (2**20, 10 * 2**20):
        yield EXPORT, span_request([make_span(huge="x" * size)])


async def test_hostile_input_neither_crashes_nor_fattens_it(tmp_path: Path) -> None:
    """After the whole corpus, twice, it answers a hold as before and has grown by less than 64 MiB."""
    async with up(tmp_path) as detector, Agent(detector.grpc) as agent:
        await agent.start_run()
        for _ in range(50):
            await agent.export(span_request([make_span() for _ in range(100)]))
        before = detector.rss()
        codes = set()
        for _ in range(2):
            for method, data in corpus():
                try:
                    await agent.export(data, method)
                except grpc.aio.AioRpcError as error:
                    codes.add(error.code())
            for path, body, headers in (
                ("/v1/traces", b"[" * 100_000, {"content-type": "application/json"}),
                ("/v1/traces", b'{"resourceSpans":' + b"[" * 99_999, {"content-type": "application/json"}),
                (
                    "/v1/logs",
                    gzip.compress(bytes(2**26)),
                    {"content-type": "application/json", "content-encoding": "gzip"},
                ),
                ("/v1/traces", bytes(20 * 2**20), {"content-type": "application/x-protobuf"}),
                ("/v1/traces", b"a=1", {"content-type": "application/x-www-form-urlencoded"}),
            ):
                status, _, _ = await http(detector.port, path, body, headers)
                assert status in (400, 413, 415)
        ref = new_ref()
        await agent.export(span_request([make_span(ref, held=True, spanward__step__kind="tool")]))
        answer = await agent.next("hold_answer")
        await eventually(lambda: detector.rss() - before < 64 * 2**20, 3)
        grown = detector.rss() - before

    assert codes == {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert answer.span_id.hex() == ref.span_id
    assert grown < 64 * 2**20


def test_embedded_it_serves_beside_other_code(tmp_path: Path) -> None:
    """In a thread of its own, on free ports, in a folder that goes away with it."""
    with EmbeddedDetector(make_pipeline=FakeJudge) as embedded:
        folder = embedded.config.data_dir
        found = asyncio.run(get_json(embedded.http_port, "/api/runs"))
        assert found == {"runs": []}
        assert folder.is_dir()
        assert embedded.call(lambda: len(embedded.detector.store.list_runs())) == 0

    assert not folder.exists()


def test_embedded_it_says_why_it_cannot_start(tmp_path: Path) -> None:
    """To whoever entered the block."""
    with EmbeddedDetector(make_pipeline=FakeJudge) as first:
        config = ServerConfig(grpc_address=first.grpc_address, http_address="127.0.0.1:0", data_dir=tmp_path)
        with pytest.raises(StartError, match="--grpc-address"), EmbeddedDetector(config):
            pass


async def test_a_policy_that_is_wrong_is_a_reason_not_to_start(tmp_path: Path) -> None:
    """With the file's problem in the message, and nothing left open."""
    path = tmp_path / "policy.yaml"
    path.write_text("nonsense: true\n")
    config = ServerConfig(grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=tmp_path, policy_path=path)
    with pytest.raises(StartError, match="policy"), EmbeddedDetector(config):
        pass
    with contextlib.closing(EmbeddedDetector(config).detector.store) as store:
        store.open()


async def test_the_real_pipeline_closes_the_loop(tmp_path: Path) -> None:
    """A failing tool of ours is fed back, the agent obeys, the next call works, the run is DONE and verified."""
    async with up(tmp_path) as detector, Agent(detector.grpc) as agent:
        await agent.start_run()
        await agent.export(span_request([held()]))
        directive = (await agent.next("hold_answer")).directive
        await agent.status(directive.id, "RECEIVED")
        await agent.status(directive.id, "APPLIED", before_digest="sha256:1", after_digest="sha256:2", apply_ms=2.0)
        good = make_span(
            held=True, gen_ai__operation__name="execute_tool", gen_ai__tool__name="search", spanward__step__kind="tool"
        )
        await agent.export(span_request([good]))
        await agent.next("hold_answer")
        await agent.end_run(steps=2)
        run: dict = {}
        until = time.monotonic() + 10
        while run.get("state") not in ("DONE", "FAILED") and time.monotonic() < until:
            run = await get_json(detector.port, f"/api/runs/{RUN}")

    assert directive.failure_type == "tool_error"
    assert run["state"] == "DONE"
    assert [d["state"] for d in run["directives"]] == ["verified"]
    assert [f["failure_type"] for f in run["findings"]] == ["tool_error"]
