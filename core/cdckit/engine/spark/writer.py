"""Messages from one Spark task to a sink in the driver, a packet at a time: nothing piles up on the way.

Each sending has a ticket, so that a task that was given up, as with an executor that was lost, is not listened to any
more; of several attempts at one the last counts.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection

import pyarrow as pa

from cdckit.api.sink import Sink
from cdckit.engine.spark.inbox import Address, TaskInbox, client
from cdckit.engine.spark.packets import messages_of
from cdckit.errors import SinkError

_DONE = b""
_GO_ON, _HAS_ALL = b"go on", b"has all"
_TICKET_BYTES = 16


class SinkWriter(TaskInbox):
    """The driver's end: writes what comes into an open sink.

    Args:
        sink: where messages go; nobody else may use it while a task is sending.
        host: the driver's address for tasks on other machines; None where they run on this one.
        position_header: whether messages keep their positions.
        begun: called before an attempt's first message, also before that of another attempt at the same sending.
    """

    def __init__(
        self, sink: Sink, host: str | None, *, position_header: bool, begun: Callable[[], object] = lambda: None
    ) -> None:
        self._sink = sink
        self._position_header = position_header
        self._begun = begun
        self.fault: Exception | None = None
        self._ticket = b""
        self._serving: Connection | None = None
        self._has_all = False
        self._one_attempt = threading.Lock()
        super().__init__(host, "cdckit-writer")

    def expect(self) -> bytes:
        """Another sending begins: what is still sent of an earlier one is refused. Gives the new one's ticket."""
        with self._one_attempt:
            self._ticket, self._serving, self._has_all = secrets.token_bytes(_TICKET_BYTES), None, False
            self.fault = None
            return self._ticket

    def hear(self, connection: Connection) -> None:
        """Writes what one attempt sends, unless another has sent it all."""
        ticket = connection.recv_bytes()
        with self._one_attempt:
            if ticket != self._ticket:
                return
            if not self._has_all:
                self._serving = connection
                self._done(self._begun)
            answer = _HAS_ALL if self._has_all else _GO_ON
        connection.send_bytes(answer)
        if answer == _GO_ON:
            self._take_all(connection)

    def _take_all(self, connection: Connection) -> None:
        while (data := connection.recv_bytes()) != _DONE:
            with self._one_attempt:
                self._require_last(connection)
                self._done(partial(self._write, data))
            # One packet at a time: the task waits for this, so the driver holds one packet, however fast tasks read.
            connection.send_bytes(_DONE)
        with self._one_attempt:
            self._require_last(connection)
            self._has_all = True
        connection.send_bytes(_DONE)

    def _require_last(self, connection: Connection) -> None:
        if self._serving is not connection:
            raise EOFError

    def _done(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            # The task learns only that the line was cut; the driver, which has the error itself, raises it.
            self.fault = error
            raise EOFError from error

    def _write(self, data: bytes) -> None:
        messages = messages_of(data)
        if not self._position_header:
            messages.positions = [""] * len(messages)
        self._sink.write(messages)


def send_all(address: Address, ticket: bytes, batches: Iterator[pa.RecordBatch]) -> None:
    """Sends the packets of all batches and waits for each to be written.

    Args:
        address: where to.
        ticket: the sending's.
        batches: have them.

    Raises:
        SinkError: the driver did not take one; it knows why.
    """
    with client(address) as connection:
        try:
            connection.send_bytes(ticket)
            if connection.recv_bytes() == _HAS_ALL:
                return
            for batch in batches:
                for data in batch.column(0):
                    connection.send_bytes(data.as_buffer())
                    connection.recv_bytes()
            connection.send_bytes(_DONE)
            connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise SinkError("the writer in the driver has gone away") from error
