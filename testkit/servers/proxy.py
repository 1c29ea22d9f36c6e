"""Proxies on loopback: lines that are cut or fall silent, and an address that moves to another server."""

from __future__ import annotations

import socket
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 1 << 14
_NAP = 0.05


class Proxy(ABC):
    """Passes on what goes between clients and a server.

    Args:
        port: the server's on loopback.

    Attributes:
        port: the proxy's own.
        passed: how many bytes have come from the server.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self.passed = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Cuts all connections that there are."""
        with self._lock:
            ends, self._ends = self._ends, []
        for end in ends:
            _shut(end)

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
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._ends += (client, server)
            threading.Thread(target=self._pass_both_ways, args=(client, server), daemon=True).start()

    def _pass_both_ways(self, client: socket.socket, server: socket.socket) -> None:
        """Closes the ends only when no thread uses them: another connection would get their numbers."""
        back = threading.Thread(target=self._pass, args=(server, client), kwargs={"counts": True}, daemon=True)
        back.start()
        self._pass(client, server)
        back.join()
        for end in (client, server):
            end.close()

    def _pass(self, source: socket.socket, target: socket.socket, *, counts: bool = False) -> None:
        """Passes bytes on until one side ends; `counts` for those that come from the server."""
        with suppress(OSError):
            self._pass_on(source, target, counts=counts)
        for each in (source, target):
            _shut(each)

    @abstractmethod
    def _pass_on(self, source: socket.socket, target: socket.socket, *, counts: bool) -> None:
        """Passes bytes on; the connection is cut where it returns, or a side has ended."""


class CuttingProxy(Proxy):
    """Passes on what goes between clients and a server, until it is to cut or to fall silent.

    A line that is silent is half open: it goes on taking connections and bytes, and passes nothing.

    Args:
        port: the server's on loopback.

    Attributes:
        cuts: how often it has cut.
    """

    def __init__(self, port: int) -> None:
        self.cuts = 0
        self._left: int | None = None
        self._silently = False
        self._silent = 0
        super().__init__(port)

    def cut_after(self, size: int) -> None:
        """The connection is cut on which the byte comes from the server that is the last of so many."""
        with self._lock:
            self._left, self._silently = size, False

    def silence_after(self, size: int) -> None:
        """The line falls silent at the byte from the server that is the last of so many."""
        with self._lock:
            self._left, self._silently = size, True

    @property
    def silent(self) -> bool:
        """Whether the line is silent."""
        return bool(self._silent % 2)

    def mend(self) -> None:
        """Connections that are made from now on are passed on again; those from before stay silent."""
        with self._lock:
            self._left = None
            self._silent += self._silent % 2

    def _pass_on(self, source: socket.socket, target: socket.socket, *, counts: bool) -> None:
        made = self._silent
        while data := source.recv(_CHUNK):
            if made != self._silent or made % 2:
                continue
            passed = self._counted(data) if counts else data
            target.sendall(passed)
            if len(passed) < len(data) and not self.silent:
                return
        while counts and (made != self._silent or made % 2) and self._listener.fileno() >= 0:
            time.sleep(_NAP)  # the client does not hear of it that the server has hung up

    def _counted(self, data: bytes) -> bytes:
        """What may still go to the client."""
        with self._lock:
            self.passed += len(data)
            if self._left is None or len(data) < self._left:
                self._left = self._left and self._left - len(data)
                return data
            passed, self._left = data[: self._left - 1], None
            self.cuts += not self._silently
            self._silent += self._silently
            return passed


class MovingAddress(Proxy):
    """An address on loopback that leads to one server after another, as a virtual address or a load balancer does.

    Args:
        port: the first server's.

    Attributes:
        stalled: whether what was to be held back has been reached.
    """

    def __init__(self, port: int) -> None:
        self.stalled = threading.Event()
        self._left: int | None = None
        self._flows = threading.Event()
        self._flows.set()
        super().__init__(port)

    def stall_after(self, size: int) -> None:
        """Once so many bytes have come from the server nothing passes any more, until the address moves."""
        with self._lock:
            self._left = size

    def move(self, port: int) -> None:
        """Leads to another server; all connections to the one before are cut."""
        with self._lock:
            self._target, self._left = port, None
        self.cut()
        self.stalled.clear()
        self._flows.set()

    def close(self) -> None:
        """Takes no more connections, and holds nothing back."""
        super().close()
        self._flows.set()

    def _pass_on(self, source: socket.socket, target: socket.socket, *, counts: bool) -> None:
        while data := source.recv(_CHUNK):
            if counts:
                self._count(len(data))
            self._flows.wait()
            target.sendall(data)

    def _count(self, size: int) -> None:
        with self._lock:
            self.passed += size
            if self._left is None:
                return
            self._left -= size
            if self._left < 0:
                self._left = None
                self._flows.clear()
                self.stalled.set()


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
