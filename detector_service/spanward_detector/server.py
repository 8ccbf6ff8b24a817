"""Ways to run the detector: in a thread of its own beside other code, or as the whole process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any

from spanward_detector import heap, log
from spanward_detector.config import ServerConfig
from spanward_detector.engine import Judge
from spanward_detector.service import Detector, StartError

__all__ = ["Detector", "EmbeddedDetector", "StartError", "run_forever", "tune_process"]

_START_S = 30.0


class EmbeddedDetector:
    """A detector in a thread with its own event loop, for as long as the ``with`` block lasts.

    Without a config it takes free ports and a directory that is deleted at the end.

    Attributes:
        detector: the running one.
        grpc_address: for agents and Collectors.
        http_address: for people.
    """

    def __init__(self, config: ServerConfig | None = None, make_pipeline: Callable[[], Judge] | None = None) -> None:
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        if config is None:
            self._directory = tempfile.TemporaryDirectory(prefix="spanward-", ignore_cleanup_errors=True)
            config = ServerConfig(
                grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=Path(self._directory.name)
            )
        self.config = config
        self.detector = Detector(config, make_pipeline)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="spanward-detector", daemon=True)

    @property
    def grpc_port(self) -> int:
        return self.detector.grpc_port

    @property
    def http_port(self) -> int:
        return self.detector.http_port

    @property
    def grpc_address(self) -> str:
        return _with_port(self.config.grpc_address, self.detector.grpc_port)

    @property
    def http_address(self) -> str:
        return _with_port(self.config.http_address, self.detector.http_port)

    def __enter__(self) -> EmbeddedDetector:
        self._thread.start()
        self._started.wait(_START_S)
        if self._failure is not None:
            self._cleanup()
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_START_S)
        self._cleanup()

    def call(self, function: Callable[[], Any]) -> Any:
        """Run something on the detector's thread and wait for what it returns."""

        async def run() -> Any:
            return function()

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(_START_S)

    def _run(self) -> None:
        _run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            await self.detector.start()
        except BaseException as error:
            self._failure = error
            return
        finally:
            self._started.set()
        await self._stop.wait()
        await self.detector.stop()

    def _cleanup(self) -> None:
        if self._directory is not None:
            self._directory.cleanup()


def tune_process() -> None:
    """For a process that is all the detector's.

    A thread waits for its turn up to the switch interval, and the store's is on the way of every directive; and rarer
    collections make fewer pauses in the middle of a hold.
    """
    sys.setswitchinterval(0.0005)
    gc.set_threshold(20_000, 20, 20)
    heap.few_arenas()


def run_forever(config: ServerConfig) -> None:
    """Serve until SIGTERM or SIGINT, then end clean. Prints the addresses once it serves; logs JSON to stderr.

    Raises:
        SystemExit: with 1 when it could not start; the reason is on stderr.
    """
    log.configure()
    tune_process()
    _run(_until_told(config))


async def _until_told(config: ServerConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # no such thing on Windows
            loop.add_signal_handler(number, stop.set)
    detector = Detector(config)
    try:
        await detector.start()
    except StartError as error:
        sys.stderr.write(f"spanward: {error}\n")
        raise SystemExit(1) from None
    grpc_address = _with_port(config.grpc_address, detector.grpc_port)
    http_address = _with_port(config.http_address, detector.http_port)
    sys.stdout.write(
        f"OTLP and control  {grpc_address}\n"
        f"API and metrics   http://{http_address}\n"
        f"data              {config.data_dir}\n"
    )
    sys.stdout.flush()
    gc.freeze()
    await stop.wait()
    await detector.stop()


def _run(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where there is one: it takes a tenth off every message."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main)


def _with_port(address: str, port: int) -> str:
    return f"{address.rpartition(':')[0]}:{port}"
