"""Records every byte that a process sends to a detector or Collector: a TCP proxy in between, and a reader of gRPC.

    with WireTap(detector.address) as tap:
        ...                                # the agent is told tap.address
    assert "Beijing" not in tap            # in no byte, in no message, JSON-escaped or not

It sits outside of the process, so nothing that leaves through the socket can go round it. It can also stall: then it
stands for a host that is frozen or a network that is gone.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from typing import Self


class WireTap:
    """A proxy on an ephemeral port.

    Attributes:
        sent: raw bytes of each connection towards the target, in order.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._moving = threading.Event()
        self._moving.set()
        self._closed = False
        self.sent: list[bytearray] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def raw(self) -> bytes:
        """All that was sent."""
        return b"".join(self.sent)

    def messages(self) -> list[bytes]:
        """All gRPC messages that were sent, put together from their HTTP/2 frames."""
        return [message for connection in self.sent for message in grpc_messages(bytes(connection))]

    def __contains__(self, text: str) -> bool:
        forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        haystack = self.raw + b"\n".join(self.messages())
        return any(form.encode() in haystack for form in forms)

    def stall(self) -> None:
        """Nothing moves any more, in either direction; connections stay."""
        self._moving.clear()

    def resume(self) -> None:
        """What was held back moves on."""
        self._moving.set()

    def cut(self) -> None:
        """Resets all connections."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for end in sockets:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._moving.set()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target, timeout=5)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            record = bytearray()
            with self._lock:
                self._sockets |= {near, far}
                self.sent.append(record)
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pump, args=(near, far, record), daemon=True).start()
            threading.Thread(target=self._pump, args=(far, near, None), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, record: bytearray | None) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if record is not None:
                    record += data
                self._moving.wait()
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def grpc_messages(sent: bytes) -> list[bytes]:
    """Messages of all streams of one connection, as the client sent them; an unfinished one as far as it is."""
    bodies: dict[int, bytearray] = {}
    at = len(PREFACE) if sent.startswith(PREFACE) else 0
    while at + 9 <= len(sent):
        length = int.from_bytes(sent[at : at + 3], "big")
        kind, flags = sent[at + 3], sent[at + 4]
        stream = int.from_bytes(sent[at + 5 : at + 9], "big") & 0x7FFFFFFF
        payload = sent[at + 9 : at + 9 + length]
        if kind == 0:  # DATA
            if flags & 0x8:  # padded
                payload = payload[1 : len(payload) - payload[0]]
            bodies.setdefault(stream, bytearray()).extend(payload)
        at += 9 + length
    messages = []
    for body in bodies.values():
        position = 0
        while position + 5 <= len(body):
            size = int.from_bytes(body[position + 1 : position + 5], "big")
            messages.append(bytes(body[position + 5 : position + 5 + size]))
            position += 5 + size
    return messages
