"""Real Collector, Jaeger and Prometheus as processes: for tests and benchmarks on free ports, for people on the usual.

``python scripts/stack.py`` runs all three in the foreground without Docker, until Ctrl-C. In code::

    with jaeger() as store, collector("127.0.0.1:4327", store.otlp_grpc) as otel:
        ...  # send to otel.otlp_grpc or otel.otlp_steps, read back with store.spans(trace_id)

Each context manager returns once the process answers its health check, keeps its log in ``workdir`` and raises
:class:`ComponentError` with the log's end when the process does not come up.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
NOBODY = "127.0.0.1:1"
"""Where no process listens."""
READY_S = 30.0
"""How long a component may take to start, in seconds; Jaeger and the Collector need one or two."""
T = TypeVar("T")


class ComponentError(RuntimeError):
    """A component is missing, did not start, or did not do in time what was waited for."""


def binary(name: str) -> Path:
    """Path of a component: from ``PATH``, else from ``.components/bin``.

    Raises:
        ComponentError: neither has it.
    """
    cached = Path(os.environ.get("SPANWARD_COMPONENTS", ROOT / ".components")) / "bin" / name
    found = shutil.which(name) or shutil.which(str(cached))
    if found is None:
        raise ComponentError(f"{name} is not here: run `make components`")
    return Path(found)


def free_ports(count: int) -> list[int]:
    """TCP ports on loopback that were free a moment ago, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


def wait_until(probe: Callable[[], T | None], what: str, timeout_s: float = READY_S) -> T:
    """Call ``probe`` until it returns something true, and return that.

    Raises:
        ComponentError: it did not within ``timeout_s`` seconds; the text names ``what`` was waited for.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        if answer := probe():
            return answer
        if time.monotonic() > deadline:
            raise ComponentError(f"waited {timeout_s:g} s in vain for {what}")
        time.sleep(0.02)


def get(url: str, timeout_s: float = 5.0) -> bytes | None:
    """Body of a 200 answer; None for any other answer and while nobody listens."""
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310  (http on loopback, written here)
            return bytes(answer.read())
    except (urllib.error.URLError, OSError):
        return None


@contextmanager
def process(
    command: Sequence[str | Path], log: Path, env: Mapping[str, str], health: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``command`` in a process group of its own until the block ends.

    Args:
        command: program and arguments.
        log: file that takes its output.
        env: added to the environment.
        health: URL that answers 200 once it is ready.

    Raises:
        ComponentError: it ended or was not ready in time.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        child = subprocess.Popen(  # noqa: S603  (the command is ours)
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **env},
            cwd=ROOT,
            start_new_session=True,
        )
    try:
        try:
            wait_until(lambda: child.poll() is not None or get(health), f"{command[0]} to answer {health}")
            if child.poll() is not None:
                raise ComponentError(f"{command[0]} ended with {child.returncode}")
        except ComponentError as error:
            tail = log.read_text(errors="replace")[-4000:]
            raise ComponentError(f"{error}\n--- end of {log}\n{tail}") from None
        yield child
    finally:
        stop(child)


def stop(child: subprocess.Popen[bytes], grace_s: float = 3.0) -> None:
    """End a process and its group: SIGTERM, then SIGKILL after ``grace_s`` seconds.

    A Collector whose Prometheus is gone would try to the last to get rid of its metrics.
    """
    for sent in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            os.killpg(child.pid, sent)
            try:
                child.wait(grace_s)
            except subprocess.TimeoutExpired:
                continue
    child.wait()


def _home(workdir: Path | None, stack: ExitStack) -> Path:
    if workdir is not None:
        return workdir
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spanward-", ignore_cleanup_errors=True)))


def started(start: Callable[[], Any], stack: ExitStack, tries: int = 3) -> Any:
    """Enter the context manager that ``start`` makes; again with other ports where somebody took one meanwhile."""
    for attempt in range(1, tries + 1):
        try:
            return stack.enter_context(start())
        except ComponentError as error:
            if "address already in use" not in str(error) or attempt == tries:
                raise
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class Collector:
    """A running Collector. All addresses are ``host:port``; its own metrics are at ``/metrics``."""

    otlp_grpc: str
    otlp_steps: str
    otlp_http: str
    metrics: str
    log: Path
    child: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Jaeger:
    """A running Jaeger: ``otlp_grpc`` is ``host:port``, ``url`` the base of its API and UI."""

    otlp_grpc: str
    url: str
    log: Path
    child: subprocess.Popen[bytes]

    def json(self, path: str) -> Any:
        """What the API answers to ``path``, its ``data`` field; None for an error."""
        body = get(f"{self.url}{path}")
        return None if body is None else json.loads(body)["data"]

    def trace(self, trace_id: str) -> dict[str, Any] | None:
        """The trace as the API gives it, or None while Jaeger does not know it."""
        traces = self.json(f"/api/traces/{trace_id}")
        return traces[0] if traces else None

    def spans(self, trace_id: str, at_least: int = 1, timeout_s: float = READY_S) -> list[dict[str, Any]]:
        """The trace's spans once ``at_least`` of them are stored; each with ``tags`` as a plain dict.

        Raises:
            ComponentError: they were not within ``timeout_s`` seconds.
        """

        def probe() -> list[dict[str, Any]] | None:
            trace = self.trace(trace_id)
            return trace["spans"] if trace and len(trace["spans"]) >= at_least else None

        found = wait_until(probe, f"{at_least} spans of trace {trace_id} in Jaeger", timeout_s)
        return [{**span, "tags": {tag["key"]: tag["value"] for tag in span["tags"]}} for span in found]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus: ``url`` is the base of its API, ``remote_write`` where the Collector pushes."""

    url: str
    remote_write: str
    log: Path
    child: subprocess.Popen[bytes]

    def query(self, expr: str) -> list[dict[str, Any]]:
        """Result of an instant query.

        Raises:
            ComponentError: Prometheus refuses the expression.
        """
        body = get(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expr})}")
        if body is None:
            raise ComponentError(f"Prometheus refuses the query {expr}")
        data = json.loads(body)["data"]
        return [data] if data["resultType"] == "scalar" else list(data["result"])

    def wait_for(self, expr: str, timeout_s: float = READY_S) -> list[dict[str, Any]]:
        """Result of an instant query once it has one.

        Raises:
            ComponentError: it had none within ``timeout_s`` seconds.
        """
        return wait_until(lambda: self.query(expr), f"data for {expr}", timeout_s)


@contextmanager
def _collector(workdir: Path, ports: Sequence[int], queue: Path | None, env: Mapping[str, str]) -> Iterator[Collector]:
    grpc, http, steps, health, pprof, metrics = ports
    ours = {
        "OTLP_GRPC": f"127.0.0.1:{grpc}",
        "OTLP_HTTP": f"127.0.0.1:{http}",
        "OTLP_STEPS": f"127.0.0.1:{steps}",
        "OTELCOL_HEALTH": f"127.0.0.1:{health}",
        "OTELCOL_PPROF": f"127.0.0.1:{pprof}",
        "OTELCOL_METRICS_PORT": str(metrics),
        "OTELCOL_QUEUE_DIR": str(queue or workdir / f"queue-{grpc}"),
    }
    command = (binary("otelcol-agents"), f"--config={ROOT / 'otel-collector.yaml'}")
    log = workdir / f"collector-{grpc}.log"
    with process(command, log, ours | dict(env), f"http://127.0.0.1:{health}/") as child:
        yield Collector(
            otlp_grpc=ours["OTLP_GRPC"],
            otlp_steps=ours["OTLP_STEPS"],
            otlp_http=ours["OTLP_HTTP"],
            metrics=f"127.0.0.1:{metrics}",
            log=log,
            child=child,
        )


@contextmanager
def collector(
    detector_grpc: str = NOBODY,
    jaeger_otlp: str = NOBODY,
    prom_rw: str = f"http://{NOBODY}/api/v1/write",
    *,
    workdir: Path | None = None,
    queue: Path | None = None,
    ports: Sequence[int] | None = None,
) -> Iterator[Collector]:
    """Run the Collector with the repository's own file; what is not named is sent to where nobody listens.

    Args:
        detector_grpc: ``host:port`` of the detector's OTLP/gRPC.
        jaeger_otlp: ``host:port`` of Jaeger's OTLP/gRPC.
        prom_rw: URL of Prometheus' remote write.
        workdir: for its log and queue; a temporary one when not given.
        queue: directory of the queue to Jaeger; a new one when not given.
        ports: OTLP/gRPC, OTLP/HTTP, steps, health, pprof, metrics; free ones when not given.
    """
    env = {"DETECTOR_ENDPOINT": detector_grpc, "JAEGER_OTLP": jaeger_otlp, "PROM_RW": prom_rw}
    if ports is None:
        env["SPAN_METRICS_FLUSH"] = "500ms"  # who reads back at once need not wait for a busy service's interval
    with ExitStack() as stack:
        home = _home(workdir, stack)
        yield started(lambda: _collector(home, ports or free_ports(6), queue, env), stack)


@contextmanager
def _jaeger(workdir: Path, ports: Sequence[int], prometheus_url: str) -> Iterator[Jaeger]:
    otlp, http, grpc, health, metrics = ports
    env = {
        "JAEGER_OTLP_LISTEN": f"127.0.0.1:{otlp}",
        "JAEGER_HTTP": f"127.0.0.1:{http}",
        "JAEGER_GRPC": f"127.0.0.1:{grpc}",
        "JAEGER_HEALTH": f"127.0.0.1:{health}",
        "JAEGER_METRICS_PORT": str(metrics),
        "JAEGER_UI_CONFIG": str(ROOT / "deploy/jaeger-ui.json"),
        "PROMETHEUS_URL": prometheus_url,
        "OTEL_TRACES_SAMPLER": "always_off",
    }
    log = workdir / f"jaeger-{http}.log"
    command = (binary("jaeger"), f"--config={ROOT / 'deploy/jaeger.yaml'}")
    with process(command, log, env, f"http://127.0.0.1:{health}/status") as child:
        url = f"http://127.0.0.1:{http}"
        wait_until(lambda: get(f"{url}/api/services"), "Jaeger's API")
        yield Jaeger(otlp_grpc=f"127.0.0.1:{otlp}", url=url, log=log, child=child)


@contextmanager
def jaeger(
    prometheus_url: str = f"http://{NOBODY}", *, workdir: Path | None = None, ports: Sequence[int] | None = None
) -> Iterator[Jaeger]:
    """Run Jaeger with its store in memory.

    Args:
        prometheus_url: where its Monitor tab reads metrics.
        workdir: for its log; a temporary one when not given.
        ports: OTLP/gRPC, API and UI, query gRPC, health, metrics; free ones when not given.
    """
    with ExitStack() as stack:
        home = _home(workdir, stack)
        yield started(lambda: _jaeger(home, ports or free_ports(5), prometheus_url), stack)


@contextmanager
def _prometheus(
    workdir: Path, port: int, targets: Mapping[str, Sequence[str]], interval: str | None
) -> Iterator[Prometheus]:
    home = workdir / f"prometheus-{port}"
    home.mkdir(parents=True)
    config = (ROOT / "deploy/prometheus.yml").read_text()
    if interval:
        config = config.replace("_interval: 5s", f"_interval: {interval}")
    (home / "prometheus.yml").write_text(config)
    shutil.copy(ROOT / "deploy/rules.yml", home)
    groups = [{"targets": list(hosts), "labels": {"job": job}} for job, hosts in targets.items()]
    (home / "targets.yml").write_text(json.dumps(groups))
    command = (
        binary("prometheus"),
        f"--config.file={home / 'prometheus.yml'}",
        f"--storage.tsdb.path={home / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
        "--enable-feature=exemplar-storage",
    )
    url = f"http://127.0.0.1:{port}"
    with process(command, home / "log", {}, f"{url}/-/ready") as child:
        yield Prometheus(url=url, remote_write=f"{url}/api/v1/write", log=home / "log", child=child)


@contextmanager
def prometheus(
    targets: Mapping[str, Sequence[str]] = {}, *, workdir: Path | None = None, port: int | None = None
) -> Iterator[Prometheus]:
    """Run Prometheus with the repository's own configuration and rules.

    Args:
        targets: job (``detector``, ``otelcol``) to the ``host:port`` that it scrapes.
        workdir: for its log and data; a temporary one when not given.
        port: a free one when not given; then it scrapes and evaluates each second.
    """
    with ExitStack() as stack:
        interval = None if port else "1s"
        home = _home(workdir, stack)
        yield started(lambda: _prometheus(home, port or free_ports(1)[0], targets, interval), stack)


def main() -> None:
    """Run the three on their usual ports until Ctrl-C, with their logs and data under ``.otelcol/``."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    home = ROOT / ".otelcol" / time.strftime("%Y%m%d-%H%M%S")
    with ExitStack() as stack:
        scraped = {"detector": ["127.0.0.1:8327"], "otelcol": ["127.0.0.1:8888"]}
        metrics = stack.enter_context(prometheus(scraped, workdir=home, port=9090))
        store = stack.enter_context(jaeger(metrics.url, workdir=home, ports=(14317, 16686, 16685, 13134, 18888)))
        otel = stack.enter_context(
            collector(
                os.environ.get("DETECTOR_ENDPOINT", "127.0.0.1:4327"),
                store.otlp_grpc,
                metrics.remote_write,
                workdir=home,
                ports=(4317, 4318, 4319, 13133, 1777, 8888),
            )
        )
        print(f"Collector   OTLP {otel.otlp_grpc}, steps {otel.otlp_steps}")
        print(f"Jaeger      {store.url}\nPrometheus  {metrics.url}")
        print(f"Logs        {home}\nNow run `spanward up`. Ctrl-C ends all three.", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    try:
        main()
    except ComponentError as problem:
        sys.exit(str(problem))
