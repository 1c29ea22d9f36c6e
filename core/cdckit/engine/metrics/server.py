"""Serves the metrics and the probes of one pipeline over HTTP, for Prometheus and orchestrators to ask."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from socket import AF_INET6, SHUT_RDWR, socket
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app

from cdckit.engine.metrics.access import MetricsAccess
from cdckit.engine.metrics.address import ListenAddress
from cdckit.engine.metrics.collector import collectors
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.probes import LIVE, READY, Probe, probes
from cdckit.errors import ConfigError

log = logging.getLogger("cdckit.metrics")

PATH = "/metrics"
CONNECTIONS = 8
"""So many are answered at the same time; what comes beyond is hung up on."""
PATIENCE = 5.0
"""How many seconds a connection may take for its request, and as many again for taking the answer."""
_LONGEST_END = 0.2
"""How many seconds it may take to end."""

_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@contextmanager
def served(figures: Figures, access: MetricsAccess, tags: Mapping[str, str]) -> Iterator[None]:
    """Serves while the context lasts; `figures.metrics` says where.

    Args:
        figures: the pipeline's.
        access: where to listen, and who is answered.
        tags: labels of every sample beside those that `metrics.names` brings.

    Raises:
        ConfigError: the address cannot be listened at, or a file of `metrics.tls.*` cannot be read.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    for collector in collectors(figures, access.names, tags):
        registry.register(collector)
    found = probes(figures, access.away_seconds)
    server = _listening(access, guarded(make_wsgi_app(registry), access, found))
    serve = partial(server.serve_forever, poll_interval=_LONGEST_END)
    thread = threading.Thread(target=serve, name="cdckit-metrics", daemon=True)
    thread.start()
    figures.metrics = f"{access.scheme}://{ListenAddress(access.address.host, server.server_port)}{PATH}"
    log.info("metrics are served at %s", figures.metrics, extra={"metrics": figures.metrics})
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _listening(access: MetricsAccess, application: Application) -> BoundedServer:
    address, context = access.address, access.tls_context()
    try:
        return BoundedServer(address, application, context)
    except OSError as error:
        raise ConfigError(
            f"metrics.address: cannot listen at {address}: {error.strerror or error}; "
            "name an address of this machine and a free port, or port 0 for any",
            number="CDC2602",
        ) from error


def guarded(application: Any, access: MetricsAccess, found: Mapping[str, Probe]) -> Application:
    """The application for those who bring the token, at its path alone; probes at theirs, for everybody."""

    def answered(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path in found:
            return _probed(found[path], start_response)
        if path != PATH:
            start_response("404 Not Found", [*_TEXT])
            return [f"metrics are at {PATH}, probes at {LIVE} and {READY}\n".encode()]
        if not access.admits(environ.get("HTTP_AUTHORIZATION", "")):
            start_response("401 Unauthorized", [*_TEXT, ("WWW-Authenticate", "Bearer")])
            return [b"the token of metrics.token is needed\n"]
        answer: Iterable[bytes] = application(environ, start_response)
        return answer

    return answered


def _probed(probe: Probe, start_response: Callable[..., Any]) -> Iterable[bytes]:
    why = probe()
    start_response("200 OK" if why is None else "503 Service Unavailable", [*_TEXT])
    return [f"{why or 'ok'}\n".encode()]


class BoundedServer(ThreadingMixIn, WSGIServer):
    """Answers a bounded number of connections, each for a bounded time.

    Args:
        address: where to listen.
        application: what answers.
        context: for TLS; None: plain.

    Raises:
        OSError: it cannot listen there.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS

    def __init__(self, address: ListenAddress, application: Application, context: ssl.SSLContext | None) -> None:
        self.address_family = AF_INET6 if ":" in address.host else self.address_family
        self._context = context
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((address.host, address.port), _Handler)
        self.set_app(application)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hands the connection to a thread, where one is free."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers, in its thread, which a byte now and then does not keep for longer."""
        line = request.dup()  # to encrypt is to take the connection out of the request
        end = threading.Timer(2 * PATIENCE, _hang_up, (line,))
        end.daemon = True
        end.start()
        try:
            request.settimeout(PATIENCE)
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            line.close()
            self._free.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Encrypts first: a handshake may take its time, or never end."""
        if self._context is None:
            super().finish_request(request, client_address)
            return
        with self._context.wrap_socket(request, server_side=True) as encrypted:
            super().finish_request(encrypted, client_address)

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Whoever asks may hang up at any time."""
        log.debug("a request for metrics was broken off", exc_info=True)

    def shutdown_request(self, request: Any) -> None:
        """Lets the connection go, which may be gone already."""
        with suppress(OSError):
            super().shutdown_request(request)


def _hang_up(line: socket) -> None:
    with suppress(OSError):
        line.shutdown(SHUT_RDWR)


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: Prometheus asks every few seconds."""
