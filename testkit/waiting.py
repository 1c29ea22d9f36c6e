"""Waiting for what a pipeline of this process does in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for(holds: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    """Waits until something holds.

    Raises:
        AssertionError: it never did.
    """
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never came to {what}"
        time.sleep(0.02)
