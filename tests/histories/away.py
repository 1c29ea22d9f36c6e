"""An address of a source that leads nowhere for a while, from one of the next connections on."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from testkit.servers.ports import free_port
from testkit.servers.proxy import MovingAddress

_CONNECTIONS = 8
"""A stage begins with a connection: the first ones of a run are so many."""
_LONGEST = 1.5
"""For how many seconds the source is away at the most."""


class _Leaving(MovingAddress):
    """Leads nowhere from a connection on, be it in the middle of what that one says."""

    def __init__(self, port: int, last: int, size: int) -> None:
        self.gone = threading.Event()
        self._size = size
        self._numbers = itertools.count(1)
        self._last = last
        super().__init__(port)

    def _pass_both_ways(self, client: socket.socket, server: socket.socket) -> None:
        if next(self._numbers) == self._last:
            self.stall_after(self._size)
            threading.Thread(target=self._leave, daemon=True).start()
        super()._pass_both_ways(client, server)

    def _leave(self) -> None:
        self.stalled.wait()
        self.move(free_port())
        self.gone.set()


@contextmanager
def away(port: int, chance: Random) -> Iterator[int]:
    """The port of an address of the server at a port, which the server is away from for a while."""
    last, size, seconds = chance.randint(1, _CONNECTIONS), chance.choice((0, 100, 1000)), chance.uniform(0, _LONGEST)
    with _Leaving(port, last, size) as address:

        def come_back() -> None:
            address.gone.wait()
            ended.wait(seconds)
            address.move(port)

        ended = threading.Event()
        back = threading.Thread(target=come_back)
        back.start()
        try:
            yield address.port
        finally:
            ended.set()
            address.gone.set()
            back.join()
