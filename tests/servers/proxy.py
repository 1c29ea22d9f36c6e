"""A proxy on loopback that cuts connections after a number of bytes from the server."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 1 << 14


class CuttingProxy:
    """Passes on what goes between clients and a server, until it is to cut.

    Args:
        port: the server's on loopback.

    Attributes:
        port: the proxy's own.
        cuts: how often it has cut.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self._left: int | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, size: int) -> None:
        """The connection is cut on which the byte comes from the server that is the last of so many."""
        with self._lock:
            self._left = size

    def close(self) -> None:
        """Takes no more connections."""
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client), kwargs={"counts": True}, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, *, counts: bool = False) -> None:
        """Passes bytes on until one side ends."""
        try:
            while data := source.recv(_CHUNK):
                passed = self._counted(data) if counts else data
                target.sendall(passed)
                if len(passed) < len(data):
                    break
        except OSError:
            pass
        for each in (source, target):
            _shut(each)

    def _counted(self, data: bytes) -> bytes:
        """What may still go to the client."""
        with self._lock:
            if self._left is None or len(data) < self._left:
                self._left = self._left and self._left - len(data)
                return data
            passed, self._left = data[: self._left - 1], None
            self.cuts += 1
            return passed


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        end.close()
