"""HTTP calls inside a run become child spans of the step that makes them: httpx and httpx2, sync and async.

The spans are made by opentelemetry-instrumentation-httpx, through a tracer that leaves out what is content. A URL may
hold an argument in its path or query and an exception's message may quote it, so without content capture only method,
host, port, status and times leave the process. Nothing is done outside runs, nor where the user has instrumented the
library or the client.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from opentelemetry import context as otel_context
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, Span, Status, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanward import semconv
from spanward.adapters.patching import Undo, all_of, wrap
from spanward.context import current_run

if TYPE_CHECKING:
    from spanward.runtime import Runtime

SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
URL_FULL: Final = "url.full"
RESEND_HEADER: Final = "x-stainless-retry-count"
"""In which the SDKs of model providers say that a request is a repetition."""
MAX_RETRY_AFTER_MS: Final = 86_400_000

_KEPT: Final[Mapping[str, str]] = {
    semconv.HTTP_METHOD: semconv.HTTP_METHOD,
    semconv.HTTP_METHOD_OLD: semconv.HTTP_METHOD,
    semconv.HTTP_STATUS: semconv.HTTP_STATUS,
    semconv.HTTP_STATUS_OLD: semconv.HTTP_STATUS,
    semconv.ERROR_TYPE: semconv.ERROR_TYPE,
    SERVER_ADDRESS: SERVER_ADDRESS,
    SERVER_PORT: SERVER_PORT,
}
"""Attributes of either generation of the conventions that carry no content, and what they are called now."""
_URLS: Final = (URL_FULL, "http.url")
_CLASSES: Final[Mapping[str, tuple[str, str, str]]] = {
    "httpx": ("HTTPXClientInstrumentor", "SyncOpenTelemetryTransport", "AsyncOpenTelemetryTransport"),
    "httpx2": ("HTTPX2ClientInstrumentor", "SyncOpenTelemetryTransportHttpx2", "AsyncOpenTelemetryTransportHttpx2"),
}


def install(runtime: "Runtime", library: ModuleType) -> Undo:
    """Instruments a library's transports.

    Args:
        runtime: gets the spans; ``settings.http`` turns all of this off.
        library: httpx or httpx2.
    """
    if not runtime.settings.http:
        return lambda: None
    seam = _Seam(runtime, library.__name__)
    return all_of(
        wrap(library.HTTPTransport, "handle_request", seam.sync),
        wrap(library.AsyncHTTPTransport, "handle_async_request", seam.asynchronous),
    )


def retry_after_ms(headers: Mapping[str, str], now: datetime) -> int | None:
    """How long the server asks to be left alone, in milliseconds.

    Args:
        headers: of the response. A date is counted from the server's own ``Date``, for clocks differ.
        now: stands in where there is no ``Date``; aware.

    Returns:
        0 to a day; ``None`` when the server says nothing that can be understood.
    """
    for header, unit in (("retry-after-ms", 1.0), ("retry-after", 1000.0)):
        text = headers.get(header, "").strip()
        wait: float | None
        try:
            wait = float(text) * unit
        except ValueError:
            wait = _until(text, headers.get("date", ""), now) if unit > 1 else None
        if wait is not None and wait == wait:
            return int(min(max(wait, 0.0), MAX_RETRY_AFTER_MS))
    return None


def _until(text: str, served: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter for numbers that no date has
        return None
    with suppress(ValueError, OverflowError):
        now = parsedate_to_datetime(served)
    try:
        return (then - now).total_seconds() * 1000
    except TypeError:  # one of the two names no time zone
        return None


class _Inner:
    """What the instrumented transport calls on: the method that was wrapped."""

    def __init__(self, wrapped: Callable[..., Any]) -> None:
        self.handle_request = self.handle_async_request = wrapped


class _Seam:
    """The two wrappers of one library."""

    def __init__(self, runtime: "Runtime", library: str) -> None:
        self._runtime = runtime
        self._library = library
        self._tracers = _Tracers(runtime)
        self._meters = NoOpMeterProvider()  # their metrics are the user's to switch on
        self._module: Any = None

    def sync(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if (transport := self._transport(1, wrapped, instance, "handle_request", _responded)) is None:
            return wrapped(*args, **kwargs)
        return transport.handle_request(*args, **kwargs)

    def asynchronous(
        self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if (transport := self._transport(2, wrapped, instance, "handle_async_request", _aresponded)) is None:
            return wrapped(*args, **kwargs)
        return transport.handle_async_request(*args, **kwargs)

    def _transport(
        self, number: int, wrapped: Callable[..., Any], instance: object, method: str, hook: Callable[..., Any]
    ) -> Any:
        """The instrumented transport for one request, or ``None`` where it is none of our business."""
        # A client that the user has instrumented carries the method on its own transport.
        if current_run() is None or method in vars(instance):
            return None
        try:
            names = _CLASSES[self._library]
            if self._module is None:
                from opentelemetry.instrumentation import httpx

                self._module = httpx
            # Asked every time: the user may switch theirs on after us.
            if getattr(self._module, names[0])().is_instrumented_by_opentelemetry:
                return None
            return getattr(self._module, names[number])(
                _Inner(wrapped), tracer_provider=self._tracers, meter_provider=self._meters, response_hook=hook
            )
        except Exception:
            self._runtime.internal_error(f"the {self._library} adapter")
            return None


class _Tracers:
    """A tracer provider of one tracer."""

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime

    def get_tracer(self, *_args: object, **_kwargs: object) -> "_Tracers":
        return self

    @contextmanager
    def start_as_current_span(
        self, name: str, attributes: Mapping[str, AttributeValue] | None = None, **_kwargs: object
    ) -> Iterator[Span]:
        """A client span of our own, current while the request is made."""
        span = self._start(name, attributes or {})
        if span is INVALID_SPAN:
            yield span
            return
        token = otel_context.attach(set_span_in_context(span))
        try:
            yield _WithoutContent(span)
        except BaseException as error:
            span.set_attribute(semconv.ERROR_TYPE, type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            otel_context.detach(token)
            self._runtime.spans.end(span, urgent=False)

    def _start(self, name: str, attributes: Mapping[str, AttributeValue]) -> Span:
        run = current_run()
        url = next((str(attributes[key]) for key in _URLS if key in attributes), "")
        kept: dict[str, object] = {_KEPT[key]: value for key, value in attributes.items() if key in _KEPT}
        if run is not None:
            kept[semconv.RUN_ID] = run.id
        try:
            parts = urlsplit(url)
            kept.setdefault(SERVER_ADDRESS, parts.hostname or "")
            if parts.port:
                kept.setdefault(SERVER_PORT, parts.port)
            if self._runtime.settings.capture_content:
                kept[URL_FULL] = url
            return self._runtime.spans.start(name, "client", kept)
        except Exception:
            self._runtime.internal_error("the http adapter")
            return INVALID_SPAN


class _WithoutContent(NonRecordingSpan):
    """A span as the instrumentation sees it: of what it sets, only :data:`_KEPT` gets through."""

    def __init__(self, span: Span) -> None:
        super().__init__(span.get_span_context())
        self.span = span

    def is_recording(self) -> bool:
        return self.span.is_recording()

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        if key in _KEPT:
            self.span.set_attribute(_KEPT[key], value)

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:  # noqa: ARG002
        code = status.status_code if isinstance(status, Status) else status
        self.span.set_status(Status(code))


def _responded(span: Span, request: Any, response: Any) -> None:
    """Response hook: what only the headers say."""
    real = span.span if isinstance(span, _WithoutContent) else span
    again = (request.headers or {}).get(RESEND_HEADER, "")
    if again.isdigit() and int(again):
        real.set_attribute(semconv.HTTP_RESEND_COUNT, int(again))
    if response.status_code >= 400:
        real.set_attribute(semconv.ERROR_TYPE, str(response.status_code))
        wait = retry_after_ms(response.headers or {}, datetime.now().astimezone())
        if wait is not None:
            real.set_attribute(semconv.RETRY_AFTER_MS, wait)


async def _aresponded(span: Span, request: Any, response: Any) -> None:
    _responded(span, request, response)
