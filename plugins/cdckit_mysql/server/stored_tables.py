"""The tables that a server stores: no views and no sequences, but MariaDB's system-versioned tables among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query
from cdckit_mysql.table import TableId

_STORED = "FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"
_NOTHING_STORED = frozenset({"information_schema", "performance_schema"})
"""Asked for the tables of the former, MariaDB makes each of them, and has died of one that it could not make."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A captured table as the server stores it.

    Attributes:
        id: its name.
        engine: its storage engine.
        rows: about how many rows it has.
        row_bytes: about how many bytes one takes; 0 where that is not known.
    """

    id: TableId
    engine: str
    rows: int
    row_bytes: int = 0


def stored_tables(connection: Connection, filters: Filters) -> Iterator[StoredTable]:
    """The captured tables."""
    columns = "TABLE_NAME, ENGINE, TABLE_ROWS, AVG_ROW_LENGTH"
    for database, name, engine, rows, length in _stored(connection, filters.database, columns):
        if filters.captures(database, name):
            yield StoredTable(TableId(database, name), engine or "", rows or 0, length or 0)


def stored_names(connection: Connection, databases: Callable[[str], bool] = lambda _: True) -> Iterator[TableId]:
    """The names of the tables in some databases, which costs older servers less."""
    for database, name in _stored(connection, databases, "TABLE_NAME"):
        yield TableId(database, name)


def _stored(connection: Connection, databases: Callable[[str], bool], columns: str) -> Iterator[tuple[Any, ...]]:
    """Rows of databases' tables. Each database is asked for alone: older servers open every table that they tell of."""
    for (database,) in query(connection, "SHOW DATABASES"):
        if database not in _NOTHING_STORED and databases(database):
            for row in query(connection, f"SELECT {columns} {_STORED}", (database,)):
                yield database, *row
