"""Who listens to OpenLineage's events over HTTP, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """Keeps the events that are posted.

    Attributes:
        events: in the order in which they came.
        authorized: the header that came with each.
        refuses: how many requests are answered with 503 first.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.authorized: list[str] = []
        self.refuses = 0
        self.url = ""

    def take(self, path: str, authorization: str, body: bytes) -> int:
        """Takes one request; gives the answer's status."""
        assert path == "/api/v1/lineage"
        if self.refuses:
            self.refuses -= 1
            return 503
        self.authorized.append(authorization)
        self.events.append(json.loads(body))
        return 201


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listens while the context lasts."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.take(self.path, self.headers.get("Authorization", ""), body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
