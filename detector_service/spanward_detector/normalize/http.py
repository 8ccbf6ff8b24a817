"""HTTP client spans of any instrumentation: attempts below a step, with what the server said about trying again."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Final

from spanward.semconv import (
    HTTP_METHOD,
    HTTP_METHOD_OLD,
    HTTP_RETRY_AFTER,
    HTTP_STATUS,
    HTTP_STATUS_OLD,
    RETRY_AFTER_MS,
    RUN_ID,
)

from spanward_detector.ingest import Attrs, RawSpan
from spanward_detector.model import HttpAttempt, Kind, SpanRef, Step
from spanward_detector.normalize.reading import TIMEOUTS, class_name, outcome

DIALECT: Final = "http"
CLIENT: Final = 3
_ERROR_FROM: Final = 400
_MAX_RETRY_AFTER_MS: Final = 7 * 86_400_000


def is_http(span: RawSpan) -> bool:
    """True for an HTTP request that this process made."""
    return span.kind == CLIENT and (HTTP_METHOD in span.attrs or HTTP_METHOD_OLD in span.attrs)


def retry_after_ms(attrs: Attrs, now_ns: int) -> int | None:
    """What Retry-After asks for, in milliseconds from ``now_ns``; None when it is absent or unreadable."""
    stated = attrs.int(RETRY_AFTER_MS)
    if stated is not None:
        return min(max(stated, 0), _MAX_RETRY_AFTER_MS)
    header = next(iter(attrs.strings(HTTP_RETRY_AFTER)), "").strip()
    if header.isdecimal() and len(header) < 10:
        return min(int(header) * 1000, _MAX_RETRY_AFTER_MS)
    try:
        at_ns = int(parsedate_to_datetime(header).timestamp() * 1e9)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0, (at_ns - now_ns) // 1_000_000), _MAX_RETRY_AFTER_MS)


def steps(span: RawSpan) -> list[Step]:
    """The step of an HTTP client span."""
    attrs = span.attrs
    status = attrs.int(HTTP_STATUS)
    if status is None:
        status = attrs.int(HTTP_STATUS_OLD) or 0
    failed, error_type, error_text = outcome(span)
    failed = failed or status >= _ERROR_FROM
    ref = SpanRef(span.trace_id, span.span_id)
    error = (error_type or error_text or str(status)) if failed else None
    attempt = HttpAttempt(status, retry_after_ms(attrs, span.end_ns), span.span_id, span.start_ns, error)
    return [
        Step(
            kind=Kind.HTTP,
            ref=ref,
            parent_id=span.parent_id,
            run_id=attrs.text(RUN_ID) or span.trace_id,
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            dialect=DIALECT,
            scope=span.scope,
            name=span.name,
            service=span.service,
            action=attrs.text(HTTP_METHOD) or attrs.text(HTTP_METHOD_OLD) or "",
            failed=failed,
            error_type=error_type,
            error_text=error_text,
            timed_out=class_name(error_type) in TIMEOUTS,
            http=(attempt,),
        )
    ]
