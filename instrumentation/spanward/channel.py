"""gRPC channels as this process needs them: quick to reconnect and to notice a frozen peer, never through a proxy."""

from __future__ import annotations

import ipaddress
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import grpc

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""As the Collector and the detector take it; gRPC's own default is 4 MiB."""

_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    # Not below 10 s: servers answer more pings than they allow with GOAWAY.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # Without it a frozen peer is noticed after a minute, whatever keepalive_timeout_ms says.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # gRPC's own back-off starts at 1 s and ends at 2 min: a restarted detector would wait for us.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # A connection of its own, or a full batch of spans would stand before a hold's answer.
    ("grpc.use_local_subchannel_pool", 1),
)


_opened = False
_unusable = False


def usable() -> bool:
    """False in a child that was forked off after a channel had been open: gRPC hangs or fails there."""
    return not _unusable


def _after_fork() -> None:
    global _unusable
    _unusable = _unusable or _opened


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def open_channel(address: str) -> grpc.Channel:
    """A new channel to ``host:port``; it connects when first used."""
    global _opened
    import grpc  # deferred: it takes 50 ms and nobody may need it

    _opened = True
    options = [*_OPTIONS, ("grpc.enable_http_proxy", 0)] if is_loopback(address) else list(_OPTIONS)
    return grpc.insecure_channel(address, options=options)


def status_code(error: BaseException) -> str:
    """Name of the status of a failed call; "CANCELLED" when it has none because its channel was closed."""
    code = getattr(error, "code", None)
    return str(code().name) if callable(code) else "CANCELLED"


def is_loopback(address: str) -> bool:
    """Whether ``host:port`` is this host."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def enter_own_thread() -> None:
    """Keeps the user's instrumentation of gRPC, if any, from making spans of our calls. For threads of ours only."""
    from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, set_value

    attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
