"""The server as planning asks it: its facts, its log's end, over one connection that is made anew when it is gone."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from functools import cached_property

import pymysql

from cdckit import SourceError, Unmatched
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import DdlReader, load_table
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.checks import check_log, say_row_image, unmatched_entries
from cdckit_mysql.server.connection import Connection, at_once, connect, driver_errors, place, release
from cdckit_mysql.server.facts import Dialect, Server, log_end, log_files, read_dialect, read_server, status_of
from cdckit_mysql.server.stored_tables import stored_names
from cdckit_mysql.streaming.planning import bytes_between
from cdckit_mysql.table import Table, TableId

_IDLE = 10.0
"""After so many seconds without use, the connection is asked whether it is still there."""


class AskedServer:
    """Connects when it is first asked."""

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._connection: Connection | None = None
        self._used = 0.0
        self._server: Server | None = None

    def ready(self) -> tuple[Server, Connection]:
        """The server's facts, and a connection that is open.

        Raises:
            RetriableSourceError: the server cannot be reached now.
            SourceError: it refuses, or logs no rows.
        """
        idle, self._used = time.monotonic() - self._used, time.monotonic()
        if self._connection is None or not self.connected or (idle > _IDLE and not self._alive(self._connection)):
            self.close()
            self._connection, self._server = self._opened()
        assert self._server is not None
        return self._server, self._connection

    def _opened(self) -> tuple[Connection, Server]:
        """A new connection, and the facts of the server that it is to: another one than before may answer."""
        connection, where = connect(self._config), place(self._config)
        try:
            with (
                driver_errors(self._config, "asking the server for its settings"),
                at_once(connection, self._config),
            ):
                server = read_server(connection)
            check_log(server, where)
        except BaseException:
            release(connection)
            raise
        say_row_image(server, where)
        return connection, server

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._connection is not None and self._connection.open

    def _alive(self, connection: Connection) -> bool:
        """Whether an idle connection still answers; the server closes one that is idle for too long."""
        try:
            with at_once(connection, self._config):
                connection.ping(reconnect=False)
        except pymysql.MySQLError:
            return False
        return True

    @cached_property
    def dialect(self) -> Dialect:
        """Whose statements and rows they are."""
        server, connection = self.ready()
        with driver_errors(self._config, "asking the server for its character sets"), at_once(connection, self._config):
            return read_dialect(connection, server)

    def log_end(self) -> LogOffset:
        """Where the log ends now."""
        server, connection = self.ready()
        with driver_errors(self._config, "asking for the log's end"), at_once(connection, self._config):
            return log_end(connection, server)

    def bytes_between(self, start: LogOffset, end: LogOffset) -> int:
        """How much of the log lies between two places, by the sizes of its files."""
        _, connection = self.ready()
        with driver_errors(self._config, "asking for the log files"), at_once(connection, self._config):
            return bytes_between(log_files(connection), start, end)

    def load(self, names: Collection[str]) -> Mapping[str, int]:
        """Status variables that are whole numbers, by the names that were asked for; the server minds no case."""
        _, connection = self.ready()
        with driver_errors(self._config, "asking how busy the server is"), at_once(connection, self._config):
            found = status_of(connection, names)
        return {name: found[name.lower()] for name in names if name.lower() in found}

    def captured(self, filters: Filters) -> list[str]:
        """The captured tables that there are, but for that of signals."""
        with driver_errors(self._config, "listing the tables"):
            found = list(stored_names(self.ready()[1], filters.database))
        return [str(table) for table in found if filters.captures(*table) and not filters.signals(*table)]

    def defined(self, table: str) -> Table:
        """The definition of a table, which is named with its database.

        Raises:
            SourceError: there is no such table.
        """
        reader = DdlReader(self.dialect.flavor, charsets=self.dialect.charsets)
        with driver_errors(self._config, f"asking for the definition of {table}"):
            found = load_table(self.ready()[1], TableId(*table.split(".", 1)), reader)
        if found is None:
            raise SourceError(f"{table}: the server has no such table any more")
        return found

    def unmatched_entries(self) -> list[Unmatched]:
        """Of the include lists."""
        with driver_errors(self._config, "listing the tables"):
            return unmatched_entries(self.ready()[1], self._config)

    def close(self) -> None:
        """Lets the connection go."""
        release(self._connection)
        self._connection = None
