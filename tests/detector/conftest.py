"""A detector on free ports, with a pipeline that does what a span says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from spanward_detector.config import ServerConfig
from spanward_detector.service import Detector

from tests.detector.service_fakes import FakeJudge


@pytest.fixture
def config(tmp_path: Path) -> ServerConfig:
    """Quick times, and a folder of its own."""
    return ServerConfig(
        grpc_address="127.0.0.1:0",
        http_address="127.0.0.1:0",
        data_dir=tmp_path,
        heartbeat_s=0.2,
        tick_s=0.05,
        settle_s=0.05,
        foreign_settle_s=0.05,
        instance_gone_s=0.4,
        stop_grace_s=0.2,
    )


@pytest.fixture
async def judge() -> FakeJudge:
    """The pipeline of ``detector``."""
    return FakeJudge()


@pytest.fixture
async def detector(config: ServerConfig, judge: FakeJudge) -> AsyncIterator[Detector]:
    """A running one."""
    running = Detector(config, lambda: judge)
    await running.start()
    yield running
    await running.stop()


@pytest.fixture
def address(detector: Detector) -> str:
    """Of its gRPC server."""
    return f"127.0.0.1:{detector.grpc_port}"
