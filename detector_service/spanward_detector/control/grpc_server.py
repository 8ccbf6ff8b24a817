"""The gRPC server: OTLP, control stream, health and reflection on one port."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from spanward_control.v1 import control_pb2

from spanward_detector.config import MIB, ServerConfig
from spanward_detector.http_server import listen

_SLACK: Final = MIB
"""Over the largest OTLP message: our own limit is the one that answers, with a reason."""

SERVICES: Final = (
    trace_service_pb2.DESCRIPTOR.services_by_name["TraceService"].full_name,
    logs_service_pb2.DESCRIPTOR.services_by_name["LogsService"].full_name,
    control_pb2.DESCRIPTOR.services_by_name["ControlService"].full_name,
)


class AddressTakenError(OSError):
    """Somebody else listens there, or it is not ours to listen on."""


class GrpcServer:
    """Bound when it is made, so that a taken address is noticed before anything else is begun; serves once started.

    Attributes:
        port: that it is bound to.

    Raises:
        AddressTakenError: it cannot be bound.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._grace_s = config.stop_grace_s
        self._health: health.aio.HealthServicer | None = None
        try:
            listen(config.grpc_address).close()  # gRPC would say it in its own words, on stderr
            self._server = grpc.aio.server(options=_options(config))
            self.port: int = self._server.add_insecure_port(config.grpc_address)
        except (OSError, RuntimeError) as error:
            raise AddressTakenError(config.grpc_address) from error

    async def start(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Serve these handlers."""
        self._server.add_generic_rpc_handlers(tuple(handlers))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for service in ("", *SERVICES):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server)
        await self._server.start()

    async def drain(self) -> None:
        """Say NOT_SERVING, so that nobody new comes."""
        if self._health is not None:
            await self._health.enter_graceful_shutdown()

    async def stop(self) -> None:
        """Let calls in progress end, for a moment, then close."""
        await self._server.stop(self._grace_s if self._health is not None else None)


def _options(config: ServerConfig) -> list[tuple[str, int]]:
    timeout_ms = int(config.keepalive_timeout_s * 1000)
    return [
        ("grpc.max_receive_message_length", config.max_message_bytes + _SLACK),
        ("grpc.max_send_message_length", config.max_message_bytes),
        # two detectors on one port would share its traffic by chance
        ("grpc.so_reuseport", 0),
        ("grpc.keepalive_time_ms", int(config.keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", timeout_ms),
        # without this one a frozen peer is noticed after a minute only
        ("grpc.http2.ping_timeout_ms", timeout_ms),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 1_000),
        ("grpc.http2.max_ping_strikes", 0),
    ]
