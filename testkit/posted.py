"""Who listens to what is posted over HTTP, on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Take = Callable[[str, Mapping[str, str], bytes], int]
"""Takes the path, the headers by their names in lower case, and the body; gives the answer's status."""


@contextmanager
def posted_to(take: Take, answered: Mapping[str, str] | None = None) -> Iterator[str]:
    """Listens while the context lasts; gives the address.

    Args:
        take: is given each request.
        answered: headers of the answers, which have no body.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(take(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            for name, value in {**(answered or {}), "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
