"""Serves the page until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from cdckit.engine.metrics.address import ListenAddress
from cdckit.errors import ConfigError
from cdckit.ui.access import Access
from cdckit.ui.app import Page
from cdckit.ui.fleet import Fleet

log = logging.getLogger("cdckit.ui")


def serve(
    fleet: Fleet,
    access: Access,
    address: ListenAddress,
    certificate: Path | None,
    key: Path | None,
    ready: Callable[[str], None],
) -> None:
    """Serves; SIGTERM and SIGINT end it.

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
        asyncio.run(_Server(config, page).serve([listener]))


class _Server(uvicorn.Server):
    """Ends the streams of those who listen before it waits for its connections."""

    def __init__(self, config: uvicorn.Config, page: Page) -> None:
        super().__init__(config)
        self._page = page

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
            "free port, or port 0 for any"
        ) from error
