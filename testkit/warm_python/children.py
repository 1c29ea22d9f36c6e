"""The warm process at work: a fork for each caller, which is told how it ended, and whose end ends it."""

from __future__ import annotations

import os
import selectors
import signal
import socket
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from testkit.servers.process import bound_to_parent
from testkit.warm_python.caller import REFUSED, Caller


class Asking(Protocol):
    """Who asks for a process."""

    def is_served(self) -> bool:
        """Whether a fork can be what it asks for."""

    def close(self) -> None:
        """Lets go of what it has sent."""


T = TypeVar("T", bound=Asking)


@dataclass(frozen=True, slots=True)
class Child:
    """A fork, and who is told of its end."""

    pid: int
    ended: int
    caller: socket.socket


class Forks(ABC, Generic[T]):
    """Forks, in one thread: no other may run in a process that forks."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    @abstractmethod
    def asked(self, connection: socket.socket) -> T:
        """Who asks by this connection.

        Raises:
            OSError, ValueError: it has gone.
        """

    @abstractmethod
    def began(self, child: Child) -> None:
        """Sees to a fork that has just begun, in the process that it comes from."""

    @abstractmethod
    def begin(self) -> None:
        """Sees to itself, in the fork."""

    @abstractmethod
    def kill(self, child: Child) -> None:
        """Kills a fork, whose caller has gone or which has ended itself."""

    @abstractmethod
    def said(self, code: int) -> str:
        """What a caller is told of the end: by an exit code, or by a signal's number below zero."""

    def serve(self) -> T:
        """Goes on in this process; returns in each fork, with whom it stands for."""
        while True:
            for key, _ in self._selector.select():
                if self._selector.get_map().get(key.fd) is not key:
                    continue  # the fork was buried just before, and has gone together with its caller
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
                    self.kill(key.data)

    def _take(self, connection: socket.socket) -> T | None:
        """Forks for a caller, and returns it in the fork."""
        self._selector.unregister(connection)
        try:
            caller = self.asked(connection)
        except (OSError, ValueError):
            connection.close()
            return None
        if not caller.is_served():
            caller.close()
            _answer(connection, REFUSED)
            return None
        bind = bound_to_parent()
        if not (pid := os.fork()):
            bind()
            self._leave(connection)
            return caller
        caller.close()
        child = Child(pid, os.pidfd_open(pid), connection)
        self.began(child)
        self._selector.register(connection, selectors.EVENT_READ, child)
        self._selector.register(child.ended, selectors.EVENT_READ, child)
        return None

    def _leave(self, connection: socket.socket) -> None:
        """Closes, in a fork, what the process that it comes from has open."""
        self.begin()
        for key in self._selector.get_map().values():
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            else:
                os.close(key.fd)
        self._selector.close()
        connection.close()

    def _bury(self, child: Child) -> None:
        """Tells the caller how its fork ended."""
        self.kill(child)
        code = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        with suppress(KeyError):
            self._selector.unregister(child.caller)
        self._selector.unregister(child.ended)
        os.close(child.ended)
        _answer(child.caller, self.said(code))


class Scripts(Forks[Caller]):
    """Forks for scripts that stand for Python: each has a process group, with what it forks itself."""

    def asked(self, connection: socket.socket) -> Caller:
        with connection.makefile("r") as said:
            return Caller.of(int(said.readline()))

    def began(self, child: Child) -> None:
        with suppress(OSError):  # the fork was first, which does so itself
            os.setpgid(child.pid, child.pid)

    def begin(self) -> None:
        os.setpgid(0, 0)

    def kill(self, child: Child) -> None:
        """Kills its group: nothing is left of it."""
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    def said(self, code: int) -> str:
        """As a shell tells it."""
        return str(code if code >= 0 else 128 - code)


def _answer(connection: socket.socket, said: str) -> None:
    with connection, suppress(OSError):
        connection.sendall(f"{said}\n".encode())
