"""Which tables have rows, of many by one question: each answer takes a way to the server and back."""

from __future__ import annotations

from collections.abc import Sequence

import pymysql

from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.table import TableId

_TOGETHER = 100
"""The server is asked about so many tables at once."""


class TablesWithRows:
    """Asks a server about tables in their order.

    What has come since a snapshot's point is the log's to tell: so it does not matter how old an answer is.

    Args:
        connection: is asked.
        tables: in the order in which they are asked about.
    """

    def __init__(self, connection: Connection, tables: Sequence[ChosenTable]) -> None:
        self._connection = connection
        # What a statement of the user's chooses may take long to be found.
        self._tables = [table for table in tables if table.statement is None]
        self._places = {table.id: place for place, table in enumerate(self._tables)}
        self._known: dict[TableId, bool] = {}

    def has(self, table: ChosenTable) -> bool:
        """Whether a table has any.

        Raises:
            pymysql.MySQLError: the server cannot read it.
        """
        if table.id not in self._known and table.id in self._places:
            self._ask_ahead(self._places[table.id])
        if table.id in self._known:
            return self._known[table.id]
        return bool(query(self._connection, f"SELECT 1 FROM {table.source} LIMIT 1"))  # noqa: S608 - a quoted name

    def _ask_ahead(self, first: int) -> None:
        tables = self._tables[first : first + _TOGETHER]
        asked = ", ".join(f"EXISTS (SELECT 1 FROM {table.source})" for table in tables)  # noqa: S608 - quoted names
        try:
            [found] = query(self._connection, f"SELECT {asked}")
        except pymysql.MySQLError:  # perhaps of a table that is not come to yet
            return
        self._known = {table.id: bool(answer) for table, answer in zip(tables, found, strict=True)}
