"""The real detector as a child process on ports of its own. Prints its gRPC and its HTTP port when it is ready."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from pathlib import Path

import uvloop
from spanward_detector.config import ServerConfig
from spanward_detector.server import Detector, tune_process


async def main(folder: str, emit_endpoint: str | None) -> None:
    tune_process()  # as `spanward up` does
    config = ServerConfig.from_env(
        grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", data_dir=Path(folder), emit_endpoint=emit_endpoint
    )
    detector = Detector(config)
    await detector.start()
    gc.freeze()
    print(detector.grpc_port, detector.http_port, flush=True)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await detector.stop()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
