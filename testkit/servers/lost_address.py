"""An address that leads nowhere from the moment on in which a pipeline of this process says something."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from testkit.servers.ports import free_port
from testkit.servers.proxy import MovingAddress


class _Listener(logging.Handler):
    """Lets the address go while the pipeline speaks: it goes on when that is done."""

    def __init__(self, address: MovingAddress, text: str) -> None:
        super().__init__(logging.INFO)
        self.heard = threading.Event()
        self._address = address
        self._text = text

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage() and not self.heard.is_set():
            self._address.move(free_port())
            self.heard.set()


@contextmanager
def lost_at(address: MovingAddress, text: str) -> Iterator[threading.Event]:
    """Within it, the address leads nowhere from the first message on that has a text, until it moves again.

    Args:
        address: where the pipeline finds its source.
        text: what a message of a logger below `cdckit` has.

    Yields:
        set once that was heard.
    """
    listener, loggers = _Listener(address, text), logging.getLogger("cdckit")
    loggers.addHandler(listener)
    try:
        yield listener.heard
    finally:
        loggers.removeHandler(listener)
