"""One Collector, Jaeger and fake detector for all tests that only send and look; each on ports of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real import stack

HERE = Path(__file__).resolve().parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs real components."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs and data of the shared components."""
    return tmp_path_factory.mktemp("components")


@pytest.fixture(scope="session")
def sink() -> Iterator[stack.Sink]:
    """A fake detector: takes what the Collector sends and remembers it."""
    with stack.sink() as running:
        yield running


@pytest.fixture(scope="session")
def prometheus(workdir: Path) -> Iterator[stack.Prometheus]:
    """A real Prometheus that takes the Collector's remote writes and scrapes nothing."""
    with stack.prometheus(workdir=workdir) as running:
        yield running


@pytest.fixture(scope="session")
def jaeger(workdir: Path, prometheus: stack.Prometheus) -> Iterator[stack.Jaeger]:
    """A real Jaeger with its store in memory."""
    with stack.jaeger(prometheus.url, workdir=workdir) as running:
        yield running


@pytest.fixture(scope="session")
def collector(
    workdir: Path, sink: stack.Sink, jaeger: stack.Jaeger, prometheus: stack.Prometheus
) -> Iterator[stack.Collector]:
    """A real Collector between the tests, the fake detector, Jaeger and Prometheus."""
    with stack.collector(sink.address, jaeger.otlp_grpc, prometheus.remote_write, workdir=workdir) as running:
        yield running
