"""Serves the page until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from cdckit.engine.metrics.address import ListenAddress
from cdckit.errors import ConfigError
from cdckit.ui.access import Access
from cdckit.ui.app import Page
from cdckit.ui.fleet import Fleet


def serve(
    fleet: Fleet,
    access: Access,
    address: ListenAddress,
    certificate: Path | None,
    key: Path | None,
    ready: Callable[[str], None],
) -> bool:
    """Serves; SIGTERM and SIGINT end it. Gives whether it was SIGINT.

    Args:
        fleet: what is shown.
        access: who may look and act.
        address: where to listen; port 0 is any free one.
        certificate: a PEM file, for TLS; None: plain.
        key: its private key; None: in the same file.
        ready: told the page's address once it is served.

    Raises:
        ConfigError: it cannot listen there.
    """
    page = Page(fleet, access, secure=certificate is not None)
    config = uvicorn.Config(
        page.application(),
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        ws="none",
        lifespan="off",
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_graceful_shutdown=2,
    )
    with _listening(address) as listener:
        port = listener.getsockname()[1]
        ready(f"{'http' if certificate is None else 'https'}://{ListenAddress(address.host, port)}/")
        server = _Server(config, page)
        asyncio.run(server.serve([listener]))
    return server.interrupted


class _Server(uvicorn.Server):
    """Ends by a signal as all commands do, and the streams of those who listen before its connections.

    Attributes:
        interrupted: whether SIGINT has ended it.
    """

    def __init__(self, config: uvicorn.Config, page: Page) -> None:
        super().__init__(config)
        self.interrupted = False
        self._page = page

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Takes the signals while the context lasts; uvicorn's own sends them once more behind it."""
        before = {number: signal.signal(number, self._ended_by) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ended_by(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = self.interrupted or number == signal.SIGINT
        self.handle_exit(number, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._page.live.end()
        await super().shutdown(sockets)


def _listening(address: ListenAddress) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise ConfigError(
            f"--address: cannot listen at {address}: {error.strerror or error}; name an address of this machine and a "
            "free port, or port 0 for any",
            number="CDC2605",
        ) from error
