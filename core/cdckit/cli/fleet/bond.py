"""A pipeline of a fleet ends, in order, when the process that keeps it running is gone, however that ended."""

from __future__ import annotations

import os
import signal
import sys
import threading

KEPT = "CDC_KEPT"
"""The variable that tells a pipeline's process that its standard input lasts as long as its keeper."""


def bind_to_keeper() -> None:
    """Asks to stop at the keeper's end, as SIGTERM does; nothing where there is none."""
    if os.environ.pop(KEPT, ""):
        threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), name="cdckit-keeper", daemon=True).start()


def _end_with(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
