"""Work that goes on beside a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeated(step: Callable[[], object], pause: float) -> Iterator[None]:
    """A thread that takes one step after another, `pause` seconds apart, until the context ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(pause):
            step()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
