"""A line to a mongod that breaks in the middle of an answer: it is cut, or hangs."""

from __future__ import annotations

import socket
import threading
from collections import deque
from typing import Literal

from mongodb.router import Proxy

Fault = Literal["cut", "hang"]


class BrokenLine(Proxy):
    """Passes on half of large answers where they are to have a fault.

    Args:
        port: the mongod's on loopback.
        size: how many bytes make an answer large.

    Attributes:
        faults: those of the next large answers, None for none; what hangs does so until the end of the context.
    """

    def __init__(self, port: int, size: int) -> None:
        super().__init__(port)
        self._size = size
        self._ended = threading.Event()
        self.faults: deque[Fault | None] = deque()

    @property
    def uri(self) -> str:
        """The connection string; the members that the server names are not looked for."""
        return f"{super().uri}?directConnection=true"

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._ended.set()

    def _pass_on(self, message: bytes, client: socket.socket) -> bool:
        fault = self.faults.popleft() if self.faults and len(message) >= self._size else None
        if fault is None:
            return super()._pass_on(message, client)
        client.sendall(message[: len(message) // 2])
        if fault == "hang":
            self._ended.wait()
        return False
