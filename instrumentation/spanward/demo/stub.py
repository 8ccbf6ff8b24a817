"""An OpenAI-compatible model stub on loopback, with the services of the demo's tools beside it.

``python -m spanward.demo.stub [--port PORT]`` serves until it is interrupted and prints its base URL as the first line.
"""

import argparse
import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlsplit

from spanward.demo import wire
from spanward.demo.brain import Brain, read_chat, read_responses, think
from spanward.demo.services import SERVICES, Answer, World, answer

REMEMBERED: Final = 64
"""Requests and stored responses kept, so that a long-lived stub stays small."""


class StubModel(ThreadingHTTPServer):
    """The server. Use :func:`serving`, which starts and stops it.

    Attributes:
        base_url: ``http://127.0.0.1:PORT``; the model is under ``/v1``, the services under ``/service``.
        requests: bodies of the model requests, oldest first, each with its ``path``.
        failures: statuses with which the next model requests are refused, for tests of retries.
    """

    daemon_threads = True

    def __init__(self, port: int = 0, brain: Brain = think) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.base_url = f"http://127.0.0.1:{self.server_address[1]}"
        self.brain = brain
        self.world = World()
        self.requests: deque[dict[str, Any]] = deque(maxlen=REMEMBERED)
        self.failures: deque[Answer] = deque()
        self._responses: dict[str, list[dict[str, Any]]] = {}

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The chat completion for a request body."""
        return wire.chat_completion(self.brain(read_chat(body)), str(body.get("model")), len(json.dumps(body)))

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response for a request body; remembers its items for ``previous_response_id``."""
        earlier = self._responses.get(body.get("previous_response_id") or "", [])
        whole = wire.response(
            self.brain(read_responses(body, earlier)), str(body.get("model")), len(json.dumps(body)) + len(earlier)
        )
        given = body.get("input") or []
        asked = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        self._responses[whole["id"]] = [*earlier, *asked, *whole["output"]]
        while len(self._responses) > REMEMBERED:
            del self._responses[next(iter(self._responses))]
        return whole

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing: a client that hung up, as an interrupted tool does, is no error here."""


@contextmanager
def serving(port: int = 0, brain: Brain = think) -> Iterator[StubModel]:
    """Runs a stub in a thread of this process.

    Args:
        port: 0 for any free one.
        brain: how the model answers.

    Raises:
        OSError: the port is taken.
    """
    server = StubModel(port, brain)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.world.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One small write after another would wait for delayed acknowledgements, 40 ms each.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        service = SERVICES.get(url.path)
        if service is None:
            self._send(answer({"error": "no such path"}, 404))
        else:
            self._send(service(self._stub.world, dict(parse_qsl(url.query))))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = urlsplit(self.path).path
        self._stub.requests.append({**body, "path": path})
        if self._stub.failures:
            self._send(self._stub.failures.popleft())
        elif path.endswith("/chat/completions"):
            self._chat(body)
        elif path.endswith("/responses"):
            self._responses(body)
        else:
            self._send(answer({"error": {"message": "no such path"}}, 404))

    def _chat(self, body: dict[str, Any]) -> None:
        completion = self._stub.complete(body)
        if not body.get("stream"):
            self._send(answer(completion))
            return
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self._stream(f"data: {json.dumps(chunk)}\n\n" for chunk in wire.chat_chunks(completion, usage=usage))

    def _responses(self, body: dict[str, Any]) -> None:
        whole = self._stub.respond(body)
        if not body.get("stream"):
            self._send(answer(whole))
            return
        self._stream(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in wire.response_events(whole))

    def _stream(self, events: Iterable[str]) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for event in [*events, "data: [DONE]\n\n"]:
            data = event.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, found: Answer) -> None:
        data = found.body.encode()
        self._head(
            found.status, {"content-type": "application/json", "content-length": str(len(data)), **found.headers}
        )
        self.wfile.write(data)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    @property
    def _stub(self) -> StubModel:
        return cast(StubModel, self.server)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Silent: the demo's story is told by the agent."""


def main() -> None:
    """Serves until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m spanward.demo.stub", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    with serving(parser.parse_args().port) as stub:
        print(stub.base_url, flush=True)
        try:
            stub.world.closing.wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
