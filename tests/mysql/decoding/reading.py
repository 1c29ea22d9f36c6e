"""A server's log and tables as the decoders see them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson
from pymysql.connections import Connection

from cdckit.api.schema import Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, DumpStart, FilePosition
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.ddl import Flavor, load_tables
from cdckit_mysql.rows import RowDecoder, open_rows
from cdckit_mysql.table import Table
from cdckit_mysql.values import ColumnValue, ValueOptions, column_value
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

SERVER_ID = 31_415
WAIT_SECONDS = 10.0

Row = dict[str, Any]
Change = tuple[str, str, Row | None, Row | None]
"""Table, kind of change, before, after."""


class Reading:
    """A database of a server, and what its log and its tables give.

    Args:
        server: a running server.
        database: the database whose rows are read.
    """

    def __init__(self, server: SQLServer, database: str) -> None:
        self.server = server
        self.database = database
        self.flavor = Flavor.MARIADB if isinstance(server, MariaDBServer) else Flavor.MYSQL

    def connect(self) -> Connection[Any]:
        """A connection as a capturing process has it."""
        return self.server.connect("dbz", "dbz", ssl_disabled=True)

    def execute(self, *statements: str) -> None:
        """Run statements in one session in UTC, without strictness."""
        connection = self.server.connect(database=self.database, init_command="SET time_zone='+00:00', sql_mode=''")
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        finally:
            connection.close()

    def position(self) -> FilePosition:
        """Where the log ends now."""
        word = "MASTER" if self.flavor is Flavor.MARIADB else "BINARY LOG"
        file, position, *_ = self.server.execute(f"SHOW {word} STATUS")[0]
        return FilePosition(file, position)

    def events(self, start: DumpStart) -> list[LogEvent]:
        """The log from `start` to its end."""
        options = DumpOptions(SERVER_ID, self.flavor.value, follow=False, heartbeat_seconds=1)
        found: list[LogEvent] = []
        with BinlogConnection.open(self.connect, start, options) as log:
            while not log.ended:
                found += log.read(WAIT_SECONDS)
        return found

    def tables(self) -> dict[str, Table]:
        """The definitions of the database's tables as they are now."""
        connection = self.server.connect()
        try:
            tables = load_tables(connection, lambda database, _name: database == self.database, self.flavor)
        finally:
            connection.close()
        return {table.name: table for table in tables.in_database(self.database)}

    def values(self, table: Table, options: ValueOptions) -> list[ColumnValue]:
        """What the table's columns are in events."""
        options = replace(options, zero_timestamps=self.flavor is Flavor.MARIADB)
        return [column_value(column, options, table.id) for column in table.columns]

    def changes(self, events: Sequence[LogEvent], options: ValueOptions | None = None) -> list[Change]:
        """The row changes in `events`, decoded with the tables' definitions of now."""
        tables = self.tables()
        values = {name: self.values(table, options or ValueOptions()) for name, table in tables.items()}
        found: list[Change] = []
        for event in events:
            if isinstance(event, RowsEvent) and event.table.database == self.database:
                found += changes_of(event, values[event.table.name])
        return found

    def written(self, *statements: str, options: ValueOptions | None = None) -> list[Change]:
        """The row changes that statements cause."""
        start = self.position()
        self.execute(*statements)
        return self.changes(self.events(start), options)

    def inserted(self, *statements: str, options: ValueOptions | None = None) -> list[Row]:
        """The rows that statements insert."""
        return [after for _, kind, _, after in self.written(*statements, options=options) if kind == "write" and after]

    def selected(self, table: Table, options: ValueOptions | None = None, tail: str = "") -> list[Row]:
        """The table's rows as a snapshot reads them."""
        values = self.values(table, options or ValueOptions())
        names = ", ".join(f"`{column.name}`" for column in table.columns)
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET time_zone = '+00:00'")
            sql = f"SELECT {names} FROM `{table.database}`.`{table.name}` {tail}"
            with open_rows(connection, sql, values) as chunks:
                return [_named(values, row) for rows in chunks for row in rows]
        finally:
            connection.close()


def changes_of(event: RowsEvent, values: Sequence[ColumnValue | None]) -> Iterator[Change]:
    """The row changes of one event."""
    decoder = RowDecoder(event.table, values)
    name = event.table.name
    if event.change == "update":
        for before, after in decoder.update_rows(event):
            yield name, "update", _named(values, before), _named(values, after)
        return
    read: Callable[[RowsEvent], list[Any]] = decoder.write_rows if event.change == "write" else decoder.delete_rows
    for row in read(event):
        shown = _named(values, row)
        yield (name, "write", None, shown) if event.change == "write" else (name, "delete", shown, None)


def _named(values: Sequence[ColumnValue | None], row: tuple[Any, ...]) -> Row:
    kept = [value.column.name for value in values if value is not None]
    return dict(zip(kept, row, strict=True))


def row_schema(values: Sequence[ColumnValue]) -> Schema:
    """The schema of a row."""
    return struct_schema("row", {value.column.name: value.schema for value in values}, optional=True)


def as_json(schema: Schema, row: Row | None) -> Row | None:
    """A row as the JSON serializer writes it."""
    if row is None:
        return None
    payload = PayloadCompiler(JsonConfig()).payload(schema)
    shown: Row = json.loads(orjson.dumps(payload(Struct(schema, tuple(row.values())))))
    return shown
