"""HTTP: OTLP, metrics, health, and what is known of runs, as JSON."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar
from urllib.parse import urlsplit

import orjson
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spanward_detector.config import is_loopback
from spanward_detector.ingest import IngestError, gunzip
from spanward_detector.intake import Intake
from spanward_detector.metrics import Metrics
from spanward_detector.store import Store, StoreError
from spanward_detector.store.base import Record
from spanward_detector.views import run_view, whole_run_view

_log = logging.getLogger(__name__)

_PROTOBUF: Final = "application/x-protobuf"
_JSON: Final = "application/json"
_STATUS: Final = {"too_large": 413, "encoding": 415}
_MAX_RUNS: Final = 1_000
_PATIENCE: Final = 4

Found = TypeVar("Found")

_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Views(Protocol):
    """What the API asks of the detector."""

    @property
    def healthy(self) -> bool:
        """Whether spans are judged and directives can be stored."""
        ...

    def first_cause(self, run_id: str) -> Record | None:
        """Which step of which agent broke a failed run, and why; None when it did not fail or has left memory."""
        ...

    async def fresh(self) -> None:
        """Until the store has everything that has happened."""
        ...


def make_app(
    intake: Intake,
    metrics: Metrics,
    store: Store,
    views: Views,
    *,
    host: str,
    allowed_hosts: tuple[str, ...],
    limit: int,
) -> ASGIApp:
    """The application.

    Args:
        intake: takes OTLP.
        metrics: are shown.
        store: has the runs.
        views: what is known besides.
        host: address that it is served on.
        allowed_hosts: names that a request may call us by; empty: loopback names on loopback, any name elsewhere.
        limit: largest body in bytes, before and after decompression.
    """
    routes = _Routes(intake, metrics, store, views, limit)
    app = Starlette(
        routes=[
            Route("/healthz", routes.health),
            Route("/metrics", routes.metrics),
            Route("/api/runs", routes.runs),
            Route("/api/runs/{run_id:path}", routes.run),
            Route("/v1/traces", routes.traces, methods=["POST"]),
            Route("/v1/logs", routes.logs, methods=["POST"]),
        ],
        exception_handlers={404: _not_found, 405: _not_allowed, Exception: _broken},
    )
    return Guard(app, host=host, allowed_hosts=allowed_hosts)


class _Routes:
    def __init__(self, intake: Intake, metrics: Metrics, store: Store, views: Views, limit: int) -> None:
        self._intake = intake
        self._metrics = metrics
        self._store = store
        self._views = views
        self._limit = limit

    async def health(self, _request: Request) -> Response:
        healthy = self._views.healthy
        return _json({"status": "ok" if healthy else "degraded"}, 200 if healthy else 503)

    async def metrics(self, request: Request) -> Response:
        text, content_type = self._metrics.exposition(request.headers.get("accept", ""))
        return Response(text, media_type=None, headers={"content-type": content_type})

    # ----------------------------------------------------------------------------------------------------------- runs

    async def runs(self, request: Request) -> Response:
        limit = request.query_params.get("limit", "200")
        if not limit.isdecimal() or len(limit) > len(str(_MAX_RUNS)) or not 1 <= int(limit) <= _MAX_RUNS:
            return _problem(400, "bad_limit", f"limit must be a whole number from 1 to {_MAX_RUNS}")

        def read() -> list[Record]:
            return self._store.list_runs(int(limit))

        return await self._read(read, lambda found: _json({"runs": [run_view(run) for run in found]}))

    async def run(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]

        def read() -> Record | None:
            return self._store.get_run(run_id)

        def show(found: Record | None) -> Response:
            if found is None:
                return _problem(404, "no_such_run", "no run with this id is known")
            return _json({**whole_run_view(found), "first_cause": self._views.first_cause(run_id)})

        return await self._read(read, show)

    async def _read(self, read: Callable[[], Found], show: Callable[[Found], Response]) -> Response:
        try:
            await self._views.fresh()
            return show(await asyncio.to_thread(read))
        except (StoreError, SQLAlchemyError) as error:
            _log.error("the store cannot be read", extra={"error": str(error)})
            return _problem(503, "store", "the store cannot be read at the moment")

    # ----------------------------------------------------------------------------------------------------------- OTLP

    async def traces(self, request: Request) -> Response:
        return await self._take(request, self._intake.traces)

    async def logs(self, request: Request) -> Response:
        return await self._take(request, self._intake.logs)

    async def _take(self, request: Request, take: _Take) -> Response:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type not in (_PROTOBUF, _JSON):
            self._intake.refused("content_type")
            return _problem(415, "content_type", f"content-type must be {_PROTOBUF} or {_JSON}")
        try:
            data = await self._body(request)
            await take(data, json=content_type == _JSON)
        except IngestError as error:
            return _problem(_STATUS.get(error.reason, 400), error.reason, str(error))
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(b"{}" if content_type == _JSON else b"", media_type=content_type)

    async def _body(self, request: Request) -> bytes:
        """The body, inflated.

        The rest of one that is too large is read and thrown away, within reason: who is still sending does not hear us.
        """
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size <= self._limit:
                parts.append(part)
            elif size > _PATIENCE * self._limit:
                break
        if size > self._limit:
            self._intake.refused("too_large")
            raise IngestError("too_large", "", f"more than {self._limit} bytes")
        if coding not in ("identity", "gzip", ""):
            self._intake.refused("content_encoding")
            raise IngestError("encoding", "", f"content-encoding {coding!r}; gzip and identity are taken")
        data = b"".join(parts)
        if coding != "gzip":
            return data
        try:
            return await asyncio.to_thread(gunzip, data, self._limit)
        except IngestError as error:
            self._intake.refused(error.reason)
            raise


class _Take(Protocol):
    def __call__(self, data: bytes, *, json: bool = False) -> Awaitable[None]: ...


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value, default=str), status, media_type=_JSON)


def _problem(status: int, code: str, message: str) -> Response:
    return _json({"error": {"code": code, "message": message}}, status)


async def _not_found(_request: Request, _error: Exception) -> Response:
    return _problem(404, "not_found", "there is nothing at this path")


async def _not_allowed(_request: Request, _error: Exception) -> Response:
    return _problem(405, "method_not_allowed", "this path does not take that method")


async def _broken(_request: Request, _error: Exception) -> Response:
    return _problem(500, "internal", "a fault of ours; the log says more")


class Guard:
    """Refuses what a browser was lured into sending, and sets strict headers on every answer.

    A page of somebody else that resolves its own name to our address calls us by that name, and says in ``Origin``
    where it comes from.
    """

    def __init__(self, app: ASGIApp, *, host: str, allowed_hosts: tuple[str, ...]) -> None:
        self._app = app
        self._allowed: frozenset[str] | None = frozenset(name.lower() for name in allowed_hosts)
        if not allowed_hosts:
            self._allowed = frozenset({"localhost", "127.0.0.1", "::1", host}) if is_loopback(host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        if (problem := self._problem(headers)) is not None:
            await problem(scope, receive, strict)
        else:
            await self._app(scope, receive, strict)

    def _problem(self, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if self._allowed is not None and _name(host) not in self._allowed:
            return _problem(403, "host", "not served under this name")
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            return _problem(403, "origin", "not served to pages of other origins")
        return None


def _netloc(origin: str) -> str | None:
    """Host and port of an ``Origin`` header; None when it is no URL."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _name(host: str) -> str:
    """Host name of a ``Host`` header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
