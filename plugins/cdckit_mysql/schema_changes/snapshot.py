"""What a snapshot tells of the definitions that it found: as if they were made anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from cdckit_mysql.schema_changes.events import SchemaEvent, TableChange
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query, quoted
from cdckit_mysql.table import TableId, Tables


@dataclass(frozen=True, slots=True)
class CreateStatements:
    """The statements that would make a server's definitions.

    Attributes:
        defaults: sets the character set and collation of new databases.
        tables: the server's own CREATE TABLE statements.
    """

    defaults: str
    tables: Mapping[TableId, str]


def read_defaults(connection: Connection) -> str:
    """The statement for a server's character set and collation."""
    found = query(connection, "SHOW VARIABLES WHERE Variable_name IN ('character_set_server', 'collation_server')")
    return "SET " + ", ".join(f"{name}={value}" for name, value in found)


def snapshot_events(tables: Tables, created: CreateStatements) -> Iterator[SchemaEvent]:
    """The events of a snapshot, in Debezium's order: the server, dropped tables, then database by database."""
    ids = sorted(table for table in created.tables if table in tables)
    yield SchemaEvent("", created.defaults)
    for table in ids:
        statement = f"DROP TABLE IF EXISTS {quoted(*table)}"
        yield SchemaEvent(table.database, statement, table.name, TableChange("DROP", table))
    for database, members in groupby(ids, lambda table: table.database):
        yield SchemaEvent(database, f"DROP DATABASE IF EXISTS {quoted(database)}")
        yield SchemaEvent(database, _create_database(tables, database))
        yield SchemaEvent(database, f"USE {quoted(database)}")
        for table in members:
            change = TableChange("CREATE", table, tables[table])
            yield SchemaEvent(database, created.tables[table], table.name, change)


def _create_database(tables: Tables, name: str) -> str:
    known = tables.database(name)
    options = f" CHARSET {known.charset} COLLATE {known.collation}" if known is not None else ""
    return f"CREATE DATABASE {quoted(name)}{options}"
