"""Messages from one Spark task to a sink in the driver, a packet at a time: nothing piles up on the way.

The driver listens, on a Unix socket where the task runs on the same machine and else on the address by which executors
know it; both ends prove that they know a secret made for this query.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from cdckit.api.messages import Messages
from cdckit.api.sink import Sink
from cdckit.engine.spark.packets import messages_of
from cdckit.errors import SinkError

_DONE = b""


class Address(NamedTuple):
    """Where the driver listens, and the secret."""

    place: str | tuple[str, int]
    family: str
    secret: bytes


def host_of(session: SparkSession) -> str | None:
    """The driver's address for tasks on other machines; None where they run on this one."""
    local = (session.sparkContext.master or "").startswith("local")
    return None if local else session.conf.get("spark.driver.host")


class SinkWriter:
    """The driver's end: writes what comes into an open sink.

    Args:
        sink: where messages go; nobody else may use it while a task is sending.
        host: the driver's address for tasks on other machines; None where they run on this one.
        position_header: whether messages keep their positions.
    """

    def __init__(self, sink: Sink, host: str | None, *, position_header: bool) -> None:
        self._sink = sink
        self._position_header = position_header
        secret = secrets.token_bytes(32)
        family = "AF_UNIX" if host is None else "AF_INET"
        self._listener = Listener(None if host is None else (host, 0), family, authkey=secret)
        self.address = Address(self._listener.address, family, secret)
        self.fault: Exception | None = None
        self._closed = False
        threading.Thread(target=self._serve, name="cdckit-writer", daemon=True).start()

    def _serve(self) -> None:
        while not self._closed:
            with suppress(OSError, EOFError, AuthenticationError), self._listener.accept() as connection:
                self._take_all(connection)

    def _take_all(self, connection: Connection) -> None:
        while (data := connection.recv_bytes()) != _DONE:
            try:
                self._write(messages_of(data))
            except Exception as error:
                # The task learns only that the line was cut; the driver, which has the error itself, raises it.
                self.fault = error
                raise EOFError from error
            # One packet at a time: the task waits for this, so the driver holds one packet, however fast tasks read.
            connection.send_bytes(_DONE)

    def _write(self, messages: Messages) -> None:
        if not self._position_header:
            messages.positions = [""] * len(messages)
        self._sink.write(messages)

    def close(self) -> None:
        """Stops listening. May be called twice."""
        if not self._closed:
            self._closed = True
            with suppress(OSError):
                # `accept` does not end when its listener is closed by another thread: a last caller ends it.
                Client(self.address.place, self.address.family, authkey=self.address.secret).close()
            self._listener.close()


def send_all(address: Address, batches: Iterator[pa.RecordBatch]) -> None:
    """Sends the packets of all batches and waits for each to be written.

    Raises:
        SinkError: the driver did not take one; it knows why.
    """
    with Client(address.place, address.family, authkey=address.secret) as connection:
        try:
            for batch in batches:
                for data in batch.column(0):
                    connection.send_bytes(data.as_buffer())
                    connection.recv_bytes()
            connection.send_bytes(_DONE)
        except (EOFError, OSError) as error:
            raise SinkError("the writer in the driver has gone away") from error
