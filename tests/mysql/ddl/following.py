"""Runs statements on a server and lets a reader follow them through the server's log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import DictCursor

from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, FilePosition
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.ddl import DdlReader, DdlSession, Flavor, SchemaChange, is_schema_change, load_charsets, load_tables
from cdckit_mysql.snapshot.changed import difference
from cdckit_mysql.table import TableId, Tables
from mysql.ddl.catalog import Dialect, TableFacts, read_catalog
from mysql.ddl.comparison import differences, tracked_facts

DATABASES = ("ddl1", "ddl2")
_SEPARATOR = re.compile(r";[ \t]*\n")
_REPLICA_ID = 77123
_SECONDS = 30


def statements(path: Path) -> list[str]:
    """Return the statements of a corpus file, which end with a semicolon at the end of a line."""
    return [text.strip() for text in _SEPARATOR.split(path.read_text(encoding="utf-8") + "\n") if text.strip()]


class Follower:
    """A session on a server, and the definitions that follow from what it logs.

    Two empty databases, `ddl1` (the default one) and `ddl2`, are there at the start.
    """

    def __init__(self, connect: Callable[[], Connection[Any]]) -> None:
        self.connection = connect()
        self._observer = connect()
        self.dialect = Dialect.of(self.connection)
        flavor = Flavor.MARIADB if self.dialect.mariadb else Flavor.MYSQL
        self.reader = DdlReader(flavor, version=_version(self.connection), charsets=load_charsets(self.connection))
        for database in DATABASES:
            self._execute(f"DROP DATABASE IF EXISTS {database}")
            self._execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        self._execute("USE ddl1")
        self.tables = self._loaded()
        options = DumpOptions(_REPLICA_ID, flavor.value)
        self._log = BinlogConnection.open(connect, self._end_of_log(), options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.close()
        self._observer.close()
        self.connection.close()

    def run(self, statement: str) -> list[SchemaChange]:
        """Run a statement and let the definitions follow.

        Raises:
            pymysql.MySQLError: the server refuses the statement.
            DdlError: the reader does.
        """
        self._execute(statement)
        changes: list[SchemaChange] = []
        for event in self._logged():
            if is_schema_change(event.statement):
                changes += self.reader.apply(self.tables, event.database, event.sql, self._session(event))
        return changes

    def differences(self) -> list[str]:
        """Return in what the tracked definitions differ from the server's catalogue."""
        return list(differences(self._facts(self.tables), read_catalog(self._observer, DATABASES)))

    def reload_differences(self) -> list[str]:
        """Return in what the tracked definitions differ from those which the server's own statements give."""
        return list(differences(self._facts(self.tables), self._facts(self._loaded())))

    def snapshot_differences(self) -> list[str]:
        """Return why a snapshot could not read tables by the tracked definitions."""
        loaded = self._loaded()
        reasons = {str(table.id): difference(table, loaded.get(*table.id)) for table in self.tables}
        return [f"{name} {reason}" for name, reason in reasons.items() if reason is not None]

    def _facts(self, tables: Tables) -> dict[TableId, TableFacts]:
        return tracked_facts(tables, DATABASES, self.dialect)

    def _loaded(self) -> Tables:
        return load_tables(self._observer, lambda database, _: database in DATABASES, self.reader.flavor)

    def _logged(self) -> Iterator[Query]:
        """Yield the statements logged since the last call."""
        end = self._end_of_log()
        while (self._log.parser.file, self._log.parser.position) < end:
            for event in self._log.read(_SECONDS):
                if isinstance(event, Query):
                    yield event

    def _end_of_log(self) -> FilePosition:
        try:
            [row] = _rows(self._observer, "SHOW BINARY LOG STATUS")
        except pymysql.MySQLError:
            [row] = _rows(self._observer, "SHOW MASTER STATUS")
        return FilePosition(row["File"], row["Position"])

    def _session(self, event: Query) -> DdlSession:
        found = event.session
        return self.reader.session(
            sql_mode=found.sql_mode,
            collation_server=found.server_collation,
            default_collation_for_utf8mb4=found.default_utf8mb4_collation,
            explicit_timestamps=found.explicit_timestamps,
            options=found.options,
            explicit_timestamps_by_default=True,
        )

    def _execute(self, sql: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)


def _rows(connection: Connection[Any], sql: str) -> list[dict[str, Any]]:
    with connection.cursor(DictCursor) as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _version(connection: Connection[Any]) -> int:
    [row] = _rows(connection, "SELECT VERSION() AS version")
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", row["version"])
    assert numbers is not None
    major, minor, patch = map(int, numbers.groups())
    return major * 10000 + minor * 100 + patch
