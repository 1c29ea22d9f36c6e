"""PyMySQL beyond what it exports: its connection's socket, deadlines, raw commands and answers.

The log, and the rows of a snapshot, are read from the socket of a connection that PyMySQL has opened and logged in;
it has no public way to that socket. Nothing else in this package uses a name that PyMySQL does not export: tests hold
that, and that each of them still means what is said here. `pyproject.toml` bounds the versions by it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pymysql
from cryptography.exceptions import UnsupportedAlgorithm
from pymysql.connections import Connection
from pymysql.constants import COMMAND, CR
from pymysql.protocol import FieldDescriptorPacket

from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.waiting import ended_by_stop

_UNREADABLE: tuple[type[Exception], ...] = (*DAMAGE, NameError, UnsupportedAlgorithm)
"""What the driver may raise of answers that are damaged: keys for passwords, greetings that end early among them."""


class CheckedConnection(Connection):
    """An answer that cannot be understood is an error of the driver's, too."""

    def connect(self, sock: socket.socket | None = None) -> None:
        """Logs in, by the socket that is given or one of its own."""
        with _understood():
            super().connect(sock)

    def _read_query_result(self, unbuffered: bool = False) -> int:
        with _understood():
            rows: int = super()._read_query_result(unbuffered)  # type: ignore[misc]
            return rows

    def _read_ok_packet(self) -> Any:
        with _understood():
            return super()._read_ok_packet()  # type: ignore[misc]


class StoppableConnection(CheckedConnection):
    """A stop ends its waits for the server."""

    def _read_bytes(self, num_bytes: int) -> bytes:
        with ended_by_stop():
            read: bytes = super()._read_bytes(num_bytes)  # type: ignore[misc]
            return read


@contextmanager
def _understood() -> Iterator[None]:
    """What the driver's own reading of an answer raises (an AssertionError mostly), as an error of the driver's."""
    try:
        yield
    except _UNREADABLE as error:
        said = f"the server's answer cannot be understood ({reason_of(error)}); check what stands between"
        raise pymysql.InternalError(CR.CR_MALFORMED_PACKET, said) from error


def send_command(connection: Connection[Any], command: int, body: bytes) -> None:
    """Sends a command of the protocol, whose answer nobody reads: it comes on `socket_of`, its packets from number 1.

    Raises:
        pymysql.MySQLError: the connection is closed, or is lost.
    """
    # The driver's own call for queries: it sees to it that no answer of an earlier one is left unread.
    connection._execute_command(command, body)  # type: ignore[attr-defined]


Answer = tuple[tuple[Any, ...], ...] | pymysql.MySQLError
"""The rows that a statement gives, or what the server says instead."""


def ask_together(connection: Connection[Any], statements: Sequence[str]) -> list[Answer]:
    """The answers to statements that are sent before the first answer is read: all of them take one way to the server.

    Args:
        connection: nothing of an earlier answer is left to be read.
        statements: the server has room for all of them, which a hundred short ones need not ask about, while it waits
            for its first answers to be read.

    Raises:
        pymysql.MySQLError: the connection is lost, or an answer cannot be understood; it is closed then.
    """
    for statement in statements:
        connection._execute_command(COMMAND.COM_QUERY, statement)  # type: ignore[attr-defined]
    return [_next_answer(connection) for _ in statements]


def _next_answer(connection: Connection[Any]) -> Answer:
    connection._next_seq_id = 1  # type: ignore[attr-defined] # the packets of each answer are numbered from there
    try:
        connection._read_query_result()  # type: ignore[attr-defined]
    except pymysql.MySQLError as error:
        number = error.args[0] if error.args else None
        if connection.open and isinstance(number, int) and not CR.CR_ERROR_FIRST <= number <= CR.CR_ERROR_LAST:
            return error  # the server's own word; the next answer follows
        connection._force_close()  # type: ignore[attr-defined] # nobody knows where the next answer begins
        raise
    return tuple(connection._result.rows or ())  # type: ignore[attr-defined]


def socket_of(connection: Connection[Any]) -> socket.socket:
    """The socket of an open connection, with TLS where that is on.

    What comes behind the answers that the driver has read is still to be received: it reads ahead of none.
    """
    found: socket.socket = connection._sock  # type: ignore[attr-defined]
    return found


def hang_up(connection: Connection[Any]) -> None:
    """Ends the wait of another thread that reads from the connection.

    Raises:
        OSError: the connection has ended.
        AttributeError: it was closed.
    """
    socket_of(connection).shutdown(socket.SHUT_RDWR)


def read_deadline(connection: Connection[Any]) -> float | None:
    """After how many seconds without an answer the connection is lost; None: never."""
    seconds: float | None = connection._read_timeout  # type: ignore[attr-defined]
    return seconds


def set_read_deadline(connection: Connection[Any], seconds: float | None) -> None:
    """Changes that, from the next answer on that the driver reads."""
    connection._read_timeout = seconds  # type: ignore[attr-defined]


def is_secure(connection: Connection[Any]) -> bool:
    """Whether what is sent is encrypted, or goes to this machine; known in the middle of a login."""
    return bool(connection._secure)  # type: ignore[attr-defined]


def read_answer(connection: Connection[Any]) -> Any:
    """The next packet, as the driver's own.

    Raises:
        pymysql.MySQLError: it is an error of the server's, or the connection is lost.
    """
    answer = connection._read_packet()  # type: ignore[no-untyped-call]
    answer.check_error()
    return answer


def column_type(definition: bytes) -> int:
    """The type that a packet of a result's heading (a column definition) tells: a code of the protocol."""
    return int(FieldDescriptorPacket(definition, "utf-8").type_code)  # type: ignore[attr-defined]
