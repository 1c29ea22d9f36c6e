"""Finds out what a statement is and hands it to the function that carries it out on the definitions."""

from __future__ import annotations

from cdckit_mysql.ddl.changes import SchemaChange
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.database_statements import alter_database, create_database, drop_database
from cdckit_mysql.ddl.index_statements import at_create_index, create_index, drop_index
from cdckit_mysql.ddl.scope import Changes, Scope
from cdckit_mysql.ddl.table_statements import (
    alter_table,
    create_sequence,
    create_table,
    drop_sequences,
    drop_tables,
    rename_tables,
    truncate_table,
)
from cdckit_mysql.ddl.view_statements import define_view, drop_views
from cdckit_mysql.table import Tables


def read_statements(cursor: Cursor, tables: Tables) -> list[SchemaChange]:
    """Read all statements of a text and apply them; one which changes no definition ends the reading.

    Raises:
        DdlError: one of them cannot be read.
    """
    changes: list[SchemaChange] = []
    while not cursor.done:
        if cursor.accept(";"):
            continue
        found = _read_statement(Scope(cursor, tables, cursor.token.start))
        if found is None:
            break
        if not (cursor.done or cursor.at(";")):
            raise cursor.error("expected the end of the statement")
        changes += found
    return changes


def _read_statement(scope: Scope) -> Changes:
    cursor = scope.cursor
    if cursor.accept("SET", "STATEMENT"):
        cursor.skip_to("FOR", ";")
        cursor.expect("FOR")
    if cursor.accept("CREATE"):
        return _create(scope)
    if cursor.accept("ALTER"):
        return _alter(scope)
    if cursor.accept("DROP"):
        return _drop(scope)
    if cursor.accept("RENAME", "TABLE") or cursor.accept("RENAME", "TABLES"):
        return rename_tables(scope)
    return truncate_table(scope) if cursor.accept("TRUNCATE") else None


def _create(scope: Scope) -> Changes:
    cursor = scope.cursor
    replaces = cursor.accept("OR", "REPLACE")
    if cursor.accept_any("DATABASE", "SCHEMA"):
        return create_database(scope, replaces=replaces)
    cursor.accept_any("EXTERNAL", "ONLINE", "OFFLINE")
    if cursor.accept("TABLE"):
        return create_table(scope, replaces=replaces)
    if cursor.accept("SEQUENCE"):
        return create_sequence(scope, replaces=replaces)
    if at_create_index(cursor):
        return create_index(scope, replaces=replaces)
    return define_view(scope)


def _alter(scope: Scope) -> Changes:
    cursor = scope.cursor
    if cursor.accept_any("DATABASE", "SCHEMA"):
        return alter_database(scope)
    words = set()
    while word := cursor.accept_any("ONLINE", "OFFLINE", "IGNORE"):
        words.add(word)
    return alter_table(scope, ignores="IGNORE" in words) if cursor.accept("TABLE") else define_view(scope)


def _drop(scope: Scope) -> Changes:
    cursor = scope.cursor
    if cursor.accept_any("DATABASE", "SCHEMA"):
        return drop_database(scope)
    cursor.accept_any("ONLINE", "OFFLINE")
    if cursor.accept("INDEX"):
        return drop_index(scope)
    if cursor.accept_any("TABLE", "TABLES"):
        return drop_tables(scope)
    if cursor.accept("SEQUENCE"):
        return drop_sequences(scope)
    return drop_views(scope) if cursor.accept("VIEW") else None
