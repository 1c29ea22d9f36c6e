"""What a statement's changes are told as: one event for each, in order, with its table as it is after the statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from cdckit.java.hash_order import hash_order
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import ChangeKind, SchemaChange
from cdckit_mysql.filters import BUILTIN_DATABASES, Filters
from cdckit_mysql.table import Table, TableId, Tables

_NO_TABLE = ""
"""What `source.table` says of a statement that names tables, none of which it defines."""


@dataclass(frozen=True, slots=True)
class TableChange:
    """What became of one table.

    Attributes:
        type: what happened.
        id: its name.
        table: its definition; None for one that is gone.
        previous: the name that a statement took away from it.
    """

    type: Literal["CREATE", "ALTER", "DROP"]
    id: TableId
    table: Table | None = None
    previous: TableId | None = None


@dataclass(frozen=True, slots=True)
class SchemaEvent:
    """One event of the schema-change topic.

    Attributes:
        database: whose change it is; empty for the server.
        ddl: the statement for this change alone.
        tables: what `source.table` says: the tables which the statement defines or drops in this database.
        change: what became of a table; None where nothing did that the event tells.
        renames: whether it gives a table another name.
    """

    database: str
    ddl: str
    tables: str | None = None
    change: TableChange | None = None
    renames: bool = False


class SchemaEvents:
    """Makes the events of statements.

    Args:
        config: the source's options.
        filters: what is captured.
        told: the kinds of changes that are told.
    """

    def __init__(self, config: MySqlConfig, filters: Filters, told: frozenset[ChangeKind]) -> None:
        self._filters = filters
        self._told = told
        self._only_tables = config.schema_history_internal_store_only_captured_tables_ddl
        self._only_databases = config.schema_history_internal_store_only_captured_databases_ddl

    def of(self, changes: Sequence[SchemaChange], tables: Tables) -> Iterator[SchemaEvent]:
        """The events of one statement; `tables` are the definitions after it."""
        told = [change for change in changes if change.kind in self._told and self.wants(change)]
        for database, group in groupby(told, _database):
            members = [(change, _change(change, tables)) for change in group]
            ids = [found.id for _, found in members if found is not None]
            for change, found in members:
                shown = None if found is not None and found.table is None and found.type != "DROP" else found
                yield SchemaEvent(database, change.ddl, _names(change, ids), shown, _renames(change))

    def wants(self, change: SchemaChange) -> bool:
        """Whether a change is told of, by what the schema history is to hold."""
        table = change.after or change.before
        if self._only_tables and table is not None:
            return self._filters.captures(*table)
        if self._only_tables or self._only_databases or change.database.lower() in BUILTIN_DATABASES:
            return self._filters.database(change.database)
        return True


def _database(change: SchemaChange) -> str:
    """The database whose change Debezium takes it for: that of the new name, and that of the session for an index."""
    if change.kind is ChangeKind.INDEX and not _makes_key(change):
        return change.session_database or change.database
    if change.kind in (ChangeKind.ALTER, ChangeKind.RENAME) and change.after is not None:
        return change.after.database
    return change.database


def _makes_key(change: SchemaChange) -> bool:
    """Whether this is a unique index of a table that had no key: as Debezium does, it is told as a new definition."""
    before, after = change.previous, change.table
    if change.kind is not ChangeKind.INDEX or before is None or after is None:
        return False
    return not before.key_columns and len(after.unique_keys) > len(before.unique_keys)


_TYPES: dict[ChangeKind, Literal["CREATE", "ALTER", "DROP"]] = {
    ChangeKind.CREATE: "CREATE",
    ChangeKind.ALTER: "ALTER",
    ChangeKind.RENAME: "ALTER",
    ChangeKind.DROP: "DROP",
}


def _change(change: SchemaChange, tables: Tables) -> TableChange | None:
    """What became of the table; its definition is the one after the whole statement, as in Debezium's events."""
    kind = "ALTER" if _makes_key(change) else _TYPES.get(change.kind)
    table = change.before if kind == "DROP" else change.after
    if kind is None or table is None or (kind == "CREATE" and change.before is not None):
        return None
    previous = change.before if _renames(change) else None
    return TableChange(kind, table, None if kind == "DROP" else tables.get(*table), previous)


def _renames(change: SchemaChange) -> bool:
    return change.kind is ChangeKind.RENAME or (
        change.kind is ChangeKind.ALTER and change.before is not None and change.before != change.after
    )


def _names(change: SchemaChange, ids: Sequence[TableId]) -> str | None:
    if change.kind in (ChangeKind.CREATE_DATABASE, ChangeKind.DROP_DATABASE):
        return None
    if change.kind in (ChangeKind.VIEW, ChangeKind.TRUNCATE):
        return change.after.name if change.after is not None else _NO_TABLE
    return ",".join(table.name for table in as_hash_set(ids))


def as_hash_set(ids: Sequence[TableId]) -> list[TableId]:
    """Tables in the order in which a `java.util.HashSet` gives them, since that is Debezium's order of names."""
    by_name = {str(table): table for table in ids}
    return [by_name[name] for name in hash_order(by_name)]
