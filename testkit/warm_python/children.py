"""The warm process at work: a fork for each caller, which is told how it ended, and whose end ends it."""

from __future__ import annotations

import os
import selectors
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass

from testkit.servers.process import bound_to_parent
from testkit.warm_python.caller import REFUSED, Caller


@dataclass(frozen=True, slots=True)
class _Child:
    """A fork: its process group is its own, with what it forks itself."""

    pid: int
    ended: int
    caller: socket.socket

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


class Children:
    """Forks, in one thread: no other may run in a process that forks."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> Caller:
        """Goes on in this process; returns in each fork, with whom it stands for."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._selector.register(self._listener.accept()[0], selectors.EVENT_READ)
                elif key.data is None:
                    assert isinstance(key.fileobj, socket.socket)
                    if caller := self._take(key.fileobj):
                        return caller
                elif key.fileobj == key.data.ended:
                    self._bury(key.data)
                else:
                    self._selector.unregister(key.fileobj)
                    key.data.kill()

    def _take(self, connection: socket.socket) -> Caller | None:
        """Forks for a caller, and returns it in the fork."""
        self._selector.unregister(connection)
        try:
            with connection.makefile("r") as said:
                caller = Caller.of(int(said.readline()))
        except (OSError, ValueError):  # it has gone
            connection.close()
            return None
        if not caller.is_served():
            _answer(connection, REFUSED)
            return None
        bind = bound_to_parent()
        if not (pid := os.fork()):
            bind()
            self._leave(connection)
            return caller
        self._keep(_Child(pid, os.pidfd_open(pid), connection))
        return None

    def _keep(self, child: _Child) -> None:
        with suppress(OSError):  # the fork was first, which does so itself
            os.setpgid(child.pid, child.pid)
        self._selector.register(child.caller, selectors.EVENT_READ, child)
        self._selector.register(child.ended, selectors.EVENT_READ, child)

    def _leave(self, connection: socket.socket) -> None:
        """Closes, in a fork, what the process that it comes from has open."""
        os.setpgid(0, 0)
        for key in self._selector.get_map().values():
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            else:
                os.close(key.fd)
        self._selector.close()
        connection.close()

    def _bury(self, child: _Child) -> None:
        """Tells the caller how its fork ended, as a shell tells it, once nothing is left of it."""
        child.kill()
        code = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        with suppress(KeyError):
            self._selector.unregister(child.caller)
        self._selector.unregister(child.ended)
        os.close(child.ended)
        _answer(child.caller, str(code if code >= 0 else 128 - code))


def _answer(connection: socket.socket, said: str) -> None:
    with connection, suppress(OSError):
        connection.sendall(f"{said}\n".encode())
