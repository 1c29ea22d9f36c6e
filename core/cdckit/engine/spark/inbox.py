"""Where the driver takes what tasks hand it, on whichever machine they run.

It listens on a Unix socket where tasks run on the same machine, and else on the address by which executors know the
driver; both ends prove that they know a secret made for this query.
"""

from __future__ import annotations

import secrets
import socket
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import NamedTuple

from pyspark.sql import SparkSession

_WAITING_TASKS = 128
"""So many tasks may wait for the driver at the same time."""


class Address(NamedTuple):
    """Where the driver listens, and the secret."""

    place: str | tuple[str, int]
    family: str
    secret: bytes


def host_of(session: SparkSession) -> str | None:
    """The driver's address for tasks on other machines; None where they run on this one."""
    local = (session.sparkContext.master or "").startswith("local")
    return None if local else session.conf.get("spark.driver.host")


class TaskInbox(ABC):
    """The driver's end.

    Args:
        host: the driver's address for tasks on other machines; None where they run on this one.
        name: what its threads are called.
    """

    def __init__(self, host: str | None, name: str) -> None:
        self._name = name
        secret = secrets.token_bytes(32)
        family = "AF_UNIX" if host is None else "AF_INET"
        place = None if host is None else (host, 0)
        self._listener = Listener(place, family, backlog=_WAITING_TASKS, authkey=secret)
        self.address = Address(self._listener.address, family, secret)
        self._closed = False
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while not self._closed:
            with suppress(OSError, EOFError, AuthenticationError):
                connection = self._listener.accept()
                threading.Thread(target=self._listen, args=[connection], name=self._name, daemon=True).start()

    def _listen(self, connection: Connection) -> None:
        with connection, suppress(OSError, EOFError):
            self.hear(connection)

    @abstractmethod
    def hear(self, connection: Connection) -> None:
        """Takes what one task says, in a thread of its own; an `EOFError` ends it."""

    def close(self) -> None:
        """Stops listening. May be called twice."""
        if not self._closed:
            self._closed = True
            with suppress(OSError):
                _call_last(self.address)
            self._listener.close()


def _call_last(address: Address) -> None:
    """Ends a listener's `accept`, which does not end when the listener is closed by another thread.

    Nothing is awaited of the other end: where no `accept` goes on any more, nobody would answer.

    Raises:
        OSError: nobody listens there.
    """
    family = socket.AF_UNIX if address.family == "AF_UNIX" else socket.AF_INET
    with socket.socket(family) as caller:
        caller.settimeout(1)
        caller.connect(address.place)


def client(address: Address) -> Connection:
    """A task's end.

    Raises:
        OSError, EOFError, AuthenticationError: the driver has gone away, or is another one.
    """
    return Client(address.place, address.family, authkey=address.secret)
