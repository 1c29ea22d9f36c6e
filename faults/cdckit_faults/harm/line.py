"""The line between a pipeline and its server: cut, slow, half open, corrupted, refused, and led elsewhere."""

from __future__ import annotations

import time

from testkit.servers.ports import free_port
from testkit.servers.proxy import CuttingProxy


class Line(CuttingProxy):
    """A proxy that does all kinds of harm; what it does at which byte its caller draws from a seed.

    Args:
        port: the server's on loopback.

    Attributes:
        corrupted: how many bits it has turned.
    """

    def __init__(self, port: int) -> None:
        self.corrupted = 0
        self._pace: float | None = None
        self._corrupt: tuple[int, int] | None = None
        super().__init__(port)
        self._server = port

    def lead_to(self, port: int) -> None:
        """New connections go to another server."""
        self._server = self._target = port

    def slow(self, pace: float | None) -> None:
        """Lets so many bytes a second through from the server, a connection; None: as many as come."""
        self._pace = pace

    def refuse(self) -> None:
        """Cuts all connections and takes no new ones."""
        self._target = free_port()
        self.cut()

    def accept(self) -> None:
        """Takes connections again."""
        self._target = self._server

    def corrupt_after(self, size: int, bit: int) -> None:
        """Turns a bit of the byte from the server that is the last of so many."""
        with self._lock:
            self._corrupt = size, bit

    def mend(self) -> None:
        """See `CuttingProxy`; nor is a bit turned that was still to be."""
        super().mend()
        with self._lock:
            self._corrupt = None

    def _counted(self, data: bytes) -> bytes:
        if (pace := self._pace) is not None:
            time.sleep(len(data) / pace)
        return super()._counted(self._turned(data))

    def _turned(self, data: bytes) -> bytes:
        with self._lock:
            if self._corrupt is None:
                return data
            size, bit = self._corrupt
            if len(data) < size:
                self._corrupt = size - len(data), bit
                return data
            self._corrupt = None
            self.corrupted += 1
            found = bytearray(data)
            found[size - 1] ^= 1 << bit
            return bytes(found)
