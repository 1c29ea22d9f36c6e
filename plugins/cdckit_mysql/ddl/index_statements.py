"""CREATE INDEX and DROP INDEX: https://dev.mysql.com/doc/refman/en/create-index.html."""

from __future__ import annotations

from cdckit_mysql.ddl.changes import ChangeKind, SchemaChange
from cdckit_mysql.ddl.create import with_keys
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.keys import Indexes, KeyKind, read_index
from cdckit_mysql.ddl.scope import Scope


def at_create_index(cursor: Cursor) -> bool:
    """Whether INDEX comes next, or UNIQUE INDEX and its like."""
    lead = 1 if cursor.at_any("UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR") else 0
    return cursor.ahead(lead).key == "INDEX"


def create_index(scope: Scope, *, replaces: bool) -> list[SchemaChange]:
    """Read on behind CREATE [OR REPLACE]."""
    cursor = scope.cursor
    kind = KeyKind.UNIQUE if cursor.accept("UNIQUE") else KeyKind.PLAIN
    cursor.accept_any("FULLTEXT", "SPATIAL", "VECTOR")
    cursor.expect("INDEX")
    lenient = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.identifier()
    if cursor.accept_any("USING", "TYPE"):
        cursor.advance()
    cursor.expect("ON")
    table_id = scope.table_id()
    scope.skip_wait()
    key = read_index(cursor, kind, name, if_not_exists=lenient)
    cursor.skip_to(";")
    table = scope.tables.get(*table_id)
    if table is None:
        return [scope.unchanged(ChangeKind.INDEX, table_id)]
    indexes = Indexes(table.indexes, table.primary_key)
    if replaces:
        indexes.drop(name)
    return [scope.changed(ChangeKind.INDEX, table, with_keys(table, indexes, [key], cursor))]


def drop_index(scope: Scope) -> list[SchemaChange]:
    """Read on behind DROP INDEX."""
    cursor = scope.cursor
    cursor.accept("IF", "EXISTS")
    name = cursor.identifier()
    cursor.expect("ON")
    table_id = scope.table_id()
    cursor.skip_to(";")
    table = scope.tables.get(*table_id)
    if table is None:
        return [scope.unchanged(ChangeKind.INDEX, table_id)]
    indexes = Indexes(table.indexes, table.primary_key)
    indexes.drop(name)
    return [scope.changed(ChangeKind.INDEX, table, with_keys(table, indexes, (), cursor))]
