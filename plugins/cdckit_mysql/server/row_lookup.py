"""Single rows of tables as they are now, by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from cdckit import RetriableSourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.rows import open_rows
from cdckit_mysql.server.connection import Connection, connect, driver_errors, release
from cdckit_mysql.server.facts import query
from cdckit_mysql.values import ColumnValue


class RowLookup:
    """Asks through one connection, which is made when it is first needed, and made anew when it is gone.

    Args:
        config: the source's options; `database.query.timeout.ms` is how long an answer may take.
    """

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._connection: Connection | None = None

    def row(self, statement: str, columns: Sequence[ColumnValue]) -> tuple[Any, ...] | None:
        """The first row that a SELECT gives, or None.

        Raises:
            RetriableSourceError: the server cannot be reached, also in a second attempt.
            SourceError: it refuses.
            DecodeError: what it gives does not fit the columns.
        """
        with suppress(RetriableSourceError):
            return self._asked(statement, columns)
        self.close()
        return self._asked(statement, columns)

    def _asked(self, statement: str, columns: Sequence[ColumnValue]) -> tuple[Any, ...] | None:
        connection = self._ready()
        with driver_errors(self._config, "reading a row again"), open_rows(connection, statement, columns) as found:
            rows = [row for part in found for row in part]
        return rows[0] if rows else None

    def _ready(self) -> Connection:
        if self._connection is None or not self._connection.open:
            connection = connect(self._config)
            try:
                with driver_errors(self._config, "setting up a session"):
                    query(connection, "SET SESSION time_zone = '+00:00'")
            except BaseException:
                release(connection)
                raise
            self._connection = connection
        return self._connection

    def close(self) -> None:
        """Lets the connection go."""
        release(self._connection)
        self._connection = None
