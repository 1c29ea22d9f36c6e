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
    while True:
        port = candidates.choice(_RANGE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
