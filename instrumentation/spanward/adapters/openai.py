"""The openai SDK: requests for chat completions and for responses all go through one method, and that one is wrapped.

``create``, ``parse``, ``stream``, ``with_raw_response``, ``with_streaming_response`` and ``client.post`` all end in
``OpenAI.request`` or ``AsyncOpenAI.request``, each exactly once (measured with SDK 3.57; Azure, Bedrock and the
module-level client inherit it), and clients made before the wrapping look it up as late as the others. The SDK's own
retries happen inside of it.
"""

import copy
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanward.adapters import openai_chat, openai_responses
from spanward.adapters.answers import Body, Dialect, pick
from spanward.adapters.model_flow import Decision, Exchange, requested, settled
from spanward.adapters.openai_events import ChatCollector, Collector, ResponsesCollector
from spanward.adapters.openai_raw import ParsedReply, Rawness, RawReply, Reply, rawness
from spanward.adapters.openai_stream import Live, opened, supervise, supervise_async
from spanward.adapters.patching import Undo, all_of, wrap
from spanward.gate import Flow, OpenStep, adrive, current_run, drive, implicit_run, runtime

if TYPE_CHECKING:
    from spanward.runtime import Runtime


class Api(NamedTuple):
    """One API of the SDK: how it writes, and how it streams."""

    dialect: Dialect
    collector: Callable[..., Collector]


APIS: Final[Mapping[str, Api]] = {
    openai_chat.PATH: Api(openai_chat, ChatCollector),
    openai_responses.PATH: Api(openai_responses, ResponsesCollector),
}
"""What is supervised, by the path of the request."""

_AZURE: Final = "azure.ai.openai"
_PROVIDER: Final = "openai"


def install(runtime: "Runtime", library: ModuleType) -> Undo:
    """Wraps both clients.

    Args:
        runtime: that the calls go through.
        library: the ``openai`` module.
    """
    seam = _Seam(runtime, library.NOT_GIVEN)
    return all_of(
        wrap(library.OpenAI, "request", seam.sync),
        wrap(library.AsyncOpenAI, "request", seam.asynchronous),
    )


class _Request(NamedTuple):
    """A request as it reached the wrapped method.

    Attributes:
        options: the SDK's own; its second argument.
        args, kwargs: as the method was called.
        body: as the user wrote it.
        raw: what kind of answer is asked for.
        streams: the answer is a stream of events.
    """

    exchange: Exchange
    api: Api
    options: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    body: Body
    raw: Rawness
    streams: bool

    def call(self, wrapped: Callable[..., Any], body: Body, not_given: object) -> Any:
        """Makes the request. The parser of a ``parse`` is left out: it is for answers that have passed the gate."""
        options = copy.copy(self.options)
        if not self.raw:
            options.post_parser = not_given
        if body is not self.body:
            options.json_data, options.extra_json = body, None
            # With the key of another request the server would repeat its answer to that one.
            options.idempotency_key = None
        return wrapped(self.args[0], options, *self.args[2:], **self.kwargs)

    def reply(self, value: Any) -> Reply:
        """The whole answer in ``value``."""
        return RawReply(value) if self.raw else ParsedReply(value, self.options.post_parser)


class _Seam:
    """The two wrappers."""

    def __init__(self, runtime: "Runtime", not_given: object) -> None:
        self._runtime = runtime
        self._not_given = not_given

    def sync(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = self._read(instance, args, kwargs)
        if request is None:
            return wrapped(*args, **kwargs)

        def invoke(body: Body) -> Any:
            return request.call(wrapped, body, self._not_given)

        def invoke_whole(body: Body) -> Reply:
            value = invoke(body)
            if request.raw == "stream":
                value.read()
            return request.reply(value)

        def invoke_again(body: Body) -> Any:
            return _stream_in(request, invoke(body))

        if not request.streams:
            return drive(_answered(request), invoke_whole)
        step, value = drive(opened(request.exchange), invoke)
        self._supervise(request, step, value, invoke_again, supervise)
        return value

    async def asynchronous(
        self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        request = self._read(instance, args, kwargs)
        if request is None:
            return await wrapped(*args, **kwargs)

        async def invoke(body: Body) -> Any:
            return await request.call(wrapped, body, self._not_given)

        async def invoke_whole(body: Body) -> Reply:
            value = await invoke(body)
            if request.raw == "stream":
                await value.read()
            return request.reply(value)

        async def invoke_again(body: Body) -> Any:
            return _stream_in(request, await invoke(body))

        if not request.streams:
            return await adrive(_answered(request), invoke_whole)
        step, value = await adrive(opened(request.exchange), invoke)
        self._supervise(request, step, value, invoke_again, supervise_async)
        return value

    def _read(self, client: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Request | None:
        """The request, or ``None`` when it is none that is supervised."""
        if runtime() is not self._runtime:  # a forked child inherits the wrappers, but nothing that they speak to
            return None
        try:
            options = args[1] if len(args) > 1 else None
            api = APIS.get(pick(options, "url") or "")
            given = pick(options, "json_data")
            if api is None or pick(options, "method") != "post" or not isinstance(given, Mapping):
                return None
            extra = pick(options, "extra_json")
            body = {**given, **extra} if isinstance(extra, Mapping) else given
            provider = _AZURE if "Azure" in type(client).__name__ else _PROVIDER
            run = current_run() or implicit_run(self._runtime)
            exchange = Exchange(run, api.dialect, provider, body)
            return _Request(exchange, api, options, args, kwargs, body, rawness(options), bool(kwargs.get("stream")))
        except Exception:
            self._runtime.internal_error("reading a model request")
            return None

    def _supervise(
        self,
        request: _Request,
        step: OpenStep | None,
        value: Any,
        invoke: Callable[[Body], Any],
        put_into: Callable[[Any, Live], None],
    ) -> None:
        if step is None:
            return
        live = Live(request.exchange, request.api.collector, step, invoke)
        try:
            if request.raw == "stream":
                # The user reads the bytes as they come: there is no place to stand between.
                live.abandon()
            else:
                put_into(_stream_in(request, value), live)
        except Exception:
            self._runtime.internal_error("supervising a stream")
            live.abandon()


def _stream_in(request: _Request, value: Any) -> Any:
    """The stream in what the SDK gave; a raw response makes one, and keeps it for whoever asks again."""
    return value.parse() if request.raw else value


def _answered(request: _Request) -> Flow:
    """Takes a request to the answer that the user gets."""
    exchange = request.exchange
    while True:
        step, outcome = yield from requested(exchange)
        reply: Reply | None = outcome.value
        decision = yield from settled(exchange, step, outcome, reply.data if reply is not None else None)
        if decision.again is not None:
            continue
        if outcome.error is not None:
            raise outcome.error
        if reply is not None:
            _apply(exchange, reply, decision)
            return reply.give()


def _apply(exchange: Exchange, reply: Reply, decision: Decision) -> None:
    try:
        if decision.arguments:
            exchange.dialect.rewrite(reply.data, decision.arguments)
        elif decision.degraded:
            exchange.dialect.degrade(reply.data, decision.degraded)
        else:
            return
        reply.changed()
    except Exception:
        exchange.runtime.internal_error("changing a model's answer")
