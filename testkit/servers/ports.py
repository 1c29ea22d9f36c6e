"""Free TCP ports on loopback."""

from __future__ import annotations

import random
import socket

_RANGE = range(15_000, 32_000)
"""Below Linux's ephemeral ports: a client that keeps knocking at a stopped server's port can then neither be
given that port for itself nor connect to itself through it."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on now."""
    candidates = random.SystemRandom()
    while not is_free(port := candidates.choice(_RANGE)):
        pass
    return port


def is_free(port: int) -> bool:
    """Return whether a server could listen on ``port`` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
