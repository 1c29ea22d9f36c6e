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
from pymysql.protocol import FieldDescriptorPacket

from cdckit.errors import DecodeError, RetriableSourceError
from cdckit_mysql.binlog.errors import server_error
from cdckit_mysql.binlog.framing import PacketBuffer, Span
from cdckit_mysql.rows.result import ResultReader
from cdckit_mysql.rows.result_cells import result_cell
from cdckit_mysql.rows.row_reader import Column, Row
from cdckit_mysql.rows.scope import Scope
from cdckit_mysql.values.column import ColumnValue

RECEIVE_BYTES = 1 << 17

_COM_STMT_PREPARE = 0x16
_COM_STMT_EXECUTE = 0x17
_COM_STMT_CLOSE = 0x19
_PREPARED = struct.Struct("<xIHH").unpack_from
"""status, the statement's number, its counts of columns and of parameters."""
_EOF, _ERROR = 0xFE, 0xFF
_EOF_SIZE = 9


class ResultRows:
    """An open result set: iterate over it for lists of tuples, as many at a time as have arrived.

    The connection can be used again when the iteration is over; a result that is closed before closes the connection.
    """

    def __init__(self, connection: Connection[Any], sql: str, columns: Sequence[ColumnValue]) -> None:
        self._connection = connection
        self._sql = sql
        self._packets = PacketBuffer()
        self._done = False
        self._statement = self._prepare()
        self._execute()
        self._spans = self._header(columns)

    def __iter__(self) -> Iterator[list[Row]]:
        """Lists of rows, none of them empty.

        Raises:
            SourceError: the server ended the result with an error.
            RetriableSourceError: the connection was lost.
            DecodeError: the rows do not fit the columns.
        """
        while not self._done:
            spans = self._spans or self._receive()
            self._spans = []
            rows: list[Row] = []
            read = self._read(spans, rows)
            if read < len(spans):
                self._finish(*spans[read])
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
            self._connection._execute_command(command, body)  # type: ignore[attr-defined]
        except (pymysql.MySQLError, OSError) as error:
            raise self._lost(str(error)) from error

    def _prepare(self) -> int:
        """The statement's number; the definitions that follow are read from the result itself."""
        self._command(_COM_STMT_PREPARE, self._sql.encode("utf-8"))
        packets = self._next_packets(1)
        statement, columns, parameters = _PREPARED(*packets[0][:2])
        missing = sum(count + 1 for count in (columns, parameters) if count) - (len(packets) - 1)
        self._next_packets(missing)
        return int(statement)

    def _execute(self) -> None:
        self._command(_COM_STMT_EXECUTE, struct.pack("<IBI", self._statement, 0, 1))

    def _header(self, columns: Sequence[ColumnValue]) -> list[Span]:
        """Read the count and the definitions of the columns; give the packets behind them, which are rows."""
        packets = self._next_packets(len(columns) + 2)
        buffer, start, _ = packets[0]
        if buffer[start] != len(columns) and len(columns) < 251:
            raise DecodeError(f"{self._sql}: the result has {buffer[start]} columns where {len(columns)} are known")
        definitions: list[Any] = [FieldDescriptorPacket(b[s:e], "utf-8") for b, s, e in packets[1 : len(columns) + 1]]
        scope = Scope()
        found = [
            Column(result_cell(definition.type_code, value, scope), value.null, kept=True)
            for definition, value in zip(definitions, columns, strict=True)
        ]
        self._reader = ResultReader(found, scope, f"rows of {definitions[0].table_name}")
        return packets[len(columns) + 2 :]

    def _read(self, spans: list[Span], rows: list[Row]) -> int:
        try:
            return self._reader.read(spans, rows.append)
        except DecodeError as error:
            raise DecodeError(f"{self._sql}: {error}") from error
        except (struct.error, IndexError, KeyError, ValueError, OverflowError) as error:
            raise DecodeError(f"{self._sql}: a row does not fit the table's definition: {error}") from error

    def _finish(self, buffer: bytes, start: int, end: int) -> None:
        """Take the packet behind the last row."""
        self._done = True
        if buffer[start] != _EOF or end - start >= _EOF_SIZE:
            raise DecodeError(
                f"{self._sql}: the server sent a packet that is no row, beginning with {buffer[start]:#x}"
            )

    def _next_packets(self, count: int) -> list[Span]:
        """At least `count` packets."""
        packets: list[Span] = []
        while len(packets) < count:
            packets += self._receive()
        return packets

    def _receive(self) -> list[Span]:
        """The packets that have arrived; an error packet is raised."""
        while True:
            try:
                data: bytes = self._connection._sock.recv(RECEIVE_BYTES)  # type: ignore[attr-defined]
            except OSError as error:
                raise self._lost(str(error)) from error
            if not data:
                raise self._lost("the server closed the connection")
            spans = self._packets.feed(data)
            if spans:
                self._refuse(*spans[-1])
                return spans

    def _refuse(self, buffer: bytes, start: int, end: int) -> None:
        if buffer[start] == _ERROR:
            self._done = True
            code = buffer[start + 1] | buffer[start + 2] << 8
            raise server_error(code, buffer[start + 9 : end].decode("utf-8", "replace"), self._sql)

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
