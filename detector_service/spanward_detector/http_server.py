"""The HTTP server, on the event loop of the rest."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from spanward_detector.config import split_address

_MAX_REQUESTS = 256


class HttpServer(uvicorn.Server):
    """Leaves signals to whoever owns the process, and says when it is up.

    Attributes:
        up: set once it serves.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
                limit_concurrency=_MAX_REQUESTS,
            )
        )
        self.up = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They belong to the process that embeds us."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self.up.set()


def listen(address: str) -> socket.socket:
    """A listening socket.

    Raises:
        OSError: it cannot be bound.
    """
    host, port = split_address(address, "http_address")
    family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # a port in TIME_WAIT is free; there it would mean sharing it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(128)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
