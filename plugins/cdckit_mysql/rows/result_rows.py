"""The rows of a SELECT, streamed over the binary protocol.

MySQL source documentation, "Prepared Statements": the statement is prepared and executed, and its rows are read from
the connection's socket as they arrive.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import pymysql
from pymysql.connections import Connection

from cdckit import DecodeError, RetriableSourceError
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.waiting import ended_by_stop
from cdckit_mysql.binlog.compression import packed_integer
from cdckit_mysql.binlog.errors import server_error
from cdckit_mysql.binlog.framing import LONGEST, PACKET_HEADER, packet_size
from cdckit_mysql.rows.cell import Scope
from cdckit_mysql.rows.result import ResultReader
from cdckit_mysql.rows.result_cells import result_cell
from cdckit_mysql.rows.row_reader import Column, Row
from cdckit_mysql.server.driver import column_type, read_deadline, send_command, socket_of
from cdckit_mysql.values.column import ColumnValue

RECEIVE_BYTES = 1 << 17

_COM_STMT_PREPARE = 0x16
_COM_STMT_EXECUTE = 0x17
_COM_STMT_CLOSE = 0x19
_PREPARED = struct.Struct("<xIHH").unpack_from
"""status, the statement's number, its counts of columns and of parameters."""
_ERROR = 0xFF


class ResultRows:
    """An open result set: iterate over it for lists of tuples, as many at a time as have arrived.

    The connection can be used again when the iteration is over; a result that is closed before closes the connection.
    """

    def __init__(self, connection: Connection[Any], sql: str, columns: Sequence[ColumnValue]) -> None:
        self._connection = connection
        self._sql = sql
        self._buffer, self._at = b"", 0
        self._done = False
        try:
            self._statement = self._prepare()
            self._command(_COM_STMT_EXECUTE, struct.pack("<IBI", self._statement, 0, 1))
            self._reader = self._read_definitions(columns)
        except DAMAGE as error:
            raise DecodeError(f"{sql}: the server's answer cannot be understood: {reason_of(error)}") from error

    def __iter__(self) -> Iterator[list[Row]]:
        """Lists of rows, none of them empty.

        Raises:
            SourceError: the server ended the result with an error.
            RetriableSourceError: the connection was lost.
            DecodeError: the rows do not fit the columns.
        """
        while not self._done:
            rows: list[Row] = []
            try:
                self._at = self._reader.read(self._buffer, self._at, len(self._buffer), rows.append)
                if not rows:
                    self._read_packet(rows)
            except DecodeError as error:
                raise DecodeError(f"{self._sql}: {error}") from error
            except DAMAGE as error:
                raise DecodeError(
                    f"{self._sql}: a row does not fit the table's definition: {reason_of(error)}"
                ) from error
            if rows:
                yield rows

    def close(self) -> None:
        """Let the statement go; with rows still to come, the connection too."""
        if not self._done:
            self._connection.close()
        elif self._connection.open:
            self._command(_COM_STMT_CLOSE, struct.pack("<I", self._statement))
        self._done = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _command(self, command: int, body: bytes) -> None:
        try:
            send_command(self._connection, command, body)
            self._socket = socket_of(self._connection)
            self._socket.settimeout(read_deadline(self._connection))
        except (pymysql.MySQLError, OSError) as error:
            raise self._lost(str(error)) from error

    def _prepare(self) -> int:
        """The statement's number; the definitions that follow are read again with the result itself."""
        self._command(_COM_STMT_PREPARE, self._sql.encode("utf-8"))
        statement, columns, parameters = _PREPARED(self._payload())
        for _ in range(sum(count + 1 for count in (columns, parameters) if count)):
            self._payload()
        return int(statement)

    def _read_definitions(self, columns: Sequence[ColumnValue]) -> ResultReader:
        """Read the count and the definitions of the columns."""
        count, _ = packed_integer(self._payload(), 0)
        types = [column_type(self._payload()) for _ in range(count)]
        self._payload()
        if count != len(columns):
            raise DecodeError(f"{self._sql}: the result has {count} columns where {len(columns)} are known")
        scope = Scope()
        found = [
            Column(result_cell(type_code, value, scope), value.null, kept=True)
            for type_code, value in zip(types, columns, strict=True)
        ]
        return ResultReader(found, scope)

    def _read_packet(self, rows: list[Row]) -> None:
        """Go on where rows cannot be read from what has arrived: a row of many packets, or the end."""
        self._require(PACKET_HEADER + 1)
        if packet_size(self._buffer, self._at) == LONGEST:
            self._reader.read_payload(self._payload(), 0, rows.append)
        elif self._buffer[self._at + PACKET_HEADER]:
            self._payload()
            self._done = True
        else:
            self._require(PACKET_HEADER + packet_size(self._buffer, self._at))

    def _payload(self) -> bytes:
        """The next payload, of as many packets as it takes. An error of the server's is raised."""
        parts: list[bytes] = []
        size = LONGEST
        while size == LONGEST:
            self._require(PACKET_HEADER)
            size = packet_size(self._buffer, self._at)
            self._require(PACKET_HEADER + size)
            start = self._at + PACKET_HEADER
            self._at = start + size
            parts.append(self._buffer[start : self._at])
        payload = b"".join(parts)
        if payload[0] == _ERROR:
            self._done = True
            message = payload[9:].decode("utf-8", "replace")
            code = int.from_bytes(payload[1:3], "little")
            raise server_error(code, message, self._sql) from pymysql.OperationalError(code, message)
        return payload

    def _require(self, size: int) -> None:
        """Wait until so many bytes are there to be read."""
        have = len(self._buffer) - self._at
        if have >= size:
            return
        chunks = [self._buffer[self._at :]]
        while have < size:
            chunks.append(self._receive())
            have += len(chunks[-1])
        self._buffer, self._at = b"".join(chunks), 0

    def _receive(self) -> bytes:
        try:
            with ended_by_stop():
                data = self._socket.recv(RECEIVE_BYTES)
        except TimeoutError as error:
            raise self._lost(f"no answer for {self._socket.gettimeout():g} s (database.query.timeout.ms)") from error
        except OSError as error:
            raise self._lost(str(error)) from error
        if not data:
            raise self._lost("the server closed the connection")
        return data

    def _lost(self, reason: str) -> RetriableSourceError:
        self._done = True
        self._connection.close() if self._connection.open else None
        return RetriableSourceError(f"{self._sql}: the connection was lost: {reason}")


def open_rows(connection: Connection[Any], sql: str, columns: Sequence[ColumnValue]) -> ResultRows:
    """Run a SELECT and give its rows as they come.

    Args:
        connection: of PyMySQL, in utf8mb4, its session in UTC; not used otherwise until the rows are read.
        sql: the statement, without parameters.
        columns: what each column of the SELECT list is, in its order.

    Raises:
        SourceError: the server refuses the statement.
        RetriableSourceError: the connection was lost.
        DecodeError: the result's columns do not fit.
    """
    return ResultRows(connection, sql, columns)
