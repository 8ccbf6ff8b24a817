"""Settings of the detector service: one frozen object, one environment variable for each."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

import platformdirs

from spanward_detector.store import FILE_NAME, StoreSettings

MIB: Final = 1024 * 1024

SEMANTIC_MODEL: Final = "SPANWARD_SEMANTIC_MODEL"
DEFAULT_GRPC_ADDRESS: Final = "127.0.0.1:4327"
DEFAULT_HTTP_ADDRESS: Final = "127.0.0.1:8327"


class ConfigError(ValueError):
    """A setting is wrong; the message says which one and what to write instead."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How the detector runs. Times in seconds unless the name says otherwise.

    Attributes:
        grpc_address: OTLP, control stream, health and reflection; port 0 = any free one.
        http_address: OTLP/HTTP, metrics, API.
        data_dir: where the store lies.
        policy_path: a policy file; None = the default policy.
        shadow_policy_path: a policy file that is tried beside it and orders nothing; None = none is.
        semantic_model: folder of a model that judges answers by meaning, where the policy names none; "" = none.
        emit_endpoint: host:port of a Collector that gets findings, directives and transitions as spans; "" = nobody.
        allowed_hosts: names by which HTTP clients may call us; empty = loopback names, or any name off loopback.
        heartbeat_s: between two heartbeats of an agent.
        heartbeat_grace: heartbeats that may be missed before their absence is looked at.
        tick_s: between two looks at runs, deadlines and directives that expire.
        stream_age_s: a control stream is ended with ``Reconnect`` at this age, give or take a tenth.
        stream_queue: messages that may wait for one agent.
        instance_gone_s: after this long without its stream a process counts as dead.
        settle_s: a run that ended is judged once no span of it has come for this long.
        foreign_settle_s: the same for runs without a control stream, whose spans come in batches of seconds.
        keepalive_s: between two pings of a quiet connection.
        keepalive_timeout_s: a ping without answer ends the connection after this long.
        max_message_bytes: of one OTLP message, after decompression.
        max_control_bytes: of one message of an agent.
        chunk_spans: spans handled before the event loop gets its turn.
        stop_grace_s: for calls in progress when the detector stops.
        store: limits and times of the store.
    """

    grpc_address: str = DEFAULT_GRPC_ADDRESS
    http_address: str = DEFAULT_HTTP_ADDRESS
    data_dir: Path = field(default_factory=lambda: Path(platformdirs.user_data_dir("spanward")))
    policy_path: Path | None = None
    shadow_policy_path: Path | None = None
    semantic_model: str = ""
    emit_endpoint: str = ""
    allowed_hosts: tuple[str, ...] = ()
    heartbeat_s: float = 1.0
    heartbeat_grace: float = 2.5
    tick_s: float = 1.0
    stream_age_s: float = 600.0
    stream_queue: int = 64
    instance_gone_s: float = 60.0
    settle_s: float = 0.5
    foreign_settle_s: float = 6.0
    keepalive_s: float = 5.0
    keepalive_timeout_s: float = 2.0
    max_message_bytes: int = 16 * MIB
    max_control_bytes: int = MIB
    chunk_spans: int = 128
    stop_grace_s: float = 1.0
    store: StoreSettings = field(default_factory=StoreSettings)

    def __post_init__(self) -> None:
        split_address(self.grpc_address, "grpc_address")
        split_address(self.http_address, "http_address")
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} must be greater than 0, not {getattr(self, name)}")

    @property
    def database(self) -> Path:
        """The store's file."""
        return self.data_dir / FILE_NAME

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: object) -> ServerConfig:
        """Defaults, then ``SPANWARD_*`` variables, then ``overrides`` that are not None.

        Raises:
            ConfigError: a value does not fit; the message names the variable.
        """
        env = os.environ if environ is None else environ
        values: dict[str, object] = {}
        store: dict[str, object] = {}
        for variable, (name, convert) in VARIABLES.items():
            if not (text := env.get(variable, "").strip()):
                continue
            try:
                value = convert(text)
            except ValueError as error:
                raise ConfigError(f"{variable}={text!r} does not fit: {error}") from error
            (store if name in _STORE_FIELDS else values)[name] = value
        values.update({name: value for name, value in overrides.items() if value is not None})
        if store and "store" not in values:
            values["store"] = StoreSettings(**store)  # type: ignore[arg-type]
        return cls(**values)  # type: ignore[arg-type]


_POSITIVE: Final = (
    "heartbeat_s", "heartbeat_grace", "tick_s", "stream_age_s", "instance_gone_s", "settle_s", "foreign_settle_s",
    "keepalive_s", "keepalive_timeout_s", "stream_queue", "max_message_bytes", "max_control_bytes", "chunk_spans",
)  # fmt: skip


def _synchronous(text: str) -> str:
    if text.upper() not in ("NORMAL", "FULL"):
        raise ValueError("write NORMAL or FULL")
    return text.upper()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("write a number") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("write a whole number") from None


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_STORE_FIELDS: Final = frozenset(f.name for f in fields(StoreSettings))

VARIABLES: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "SPANWARD_GRPC_ADDRESS": ("grpc_address", str),
    "SPANWARD_HTTP_ADDRESS": ("http_address", str),
    "SPANWARD_DATA_DIR": ("data_dir", Path),
    "SPANWARD_POLICY": ("policy_path", Path),
    "SPANWARD_SHADOW_POLICY": ("shadow_policy_path", Path),
    SEMANTIC_MODEL: ("semantic_model", str),
    "SPANWARD_EMIT_ENDPOINT": ("emit_endpoint", str),
    "SPANWARD_ALLOWED_HOSTS": ("allowed_hosts", _names),
    "SPANWARD_HEARTBEAT_S": ("heartbeat_s", _number),
    "SPANWARD_HEARTBEAT_GRACE": ("heartbeat_grace", _number),
    "SPANWARD_TICK_S": ("tick_s", _number),
    "SPANWARD_STREAM_AGE_S": ("stream_age_s", _number),
    "SPANWARD_STREAM_QUEUE": ("stream_queue", _whole),
    "SPANWARD_INSTANCE_GONE_S": ("instance_gone_s", _number),
    "SPANWARD_SETTLE_S": ("settle_s", _number),
    "SPANWARD_FOREIGN_SETTLE_S": ("foreign_settle_s", _number),
    "SPANWARD_KEEPALIVE_S": ("keepalive_s", _number),
    "SPANWARD_KEEPALIVE_TIMEOUT_S": ("keepalive_timeout_s", _number),
    "SPANWARD_MAX_MESSAGE_BYTES": ("max_message_bytes", _whole),
    "SPANWARD_MAX_CONTROL_BYTES": ("max_control_bytes", _whole),
    "SPANWARD_CHUNK_SPANS": ("chunk_spans", _whole),
    "SPANWARD_STOP_GRACE_S": ("stop_grace_s", _number),
    "SPANWARD_STORE_SYNCHRONOUS": ("synchronous", _synchronous),
    "SPANWARD_STORE_QUEUE": ("queue_limit", _whole),
    "SPANWARD_STORE_FLUSH_S": ("flush_s", _number),
    "SPANWARD_STORE_BATCH": ("batch", _whole),
    "SPANWARD_STORE_MAX_AGE_DAYS": ("max_age_days", _number),
    "SPANWARD_STORE_MAX_BYTES": ("max_bytes", _whole),
    "SPANWARD_STORE_AUDIT_DAYS": ("audit_days", _number),
    "SPANWARD_STORE_RETENTION_S": ("retention_s", _number),
}
"""Environment variable to setting and how its text is read."""


def split_address(address: str, name: str = "address") -> tuple[str, int]:
    """``HOST:PORT`` or ``[IPV6]:PORT`` as host and port.

    Raises:
        ConfigError: it is not one.
    """
    host, colon, port = address.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f"{name} {address!r} is not HOST:PORT; write for example 127.0.0.1:4327")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
