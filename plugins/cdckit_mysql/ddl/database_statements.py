"""CREATE, ALTER and DROP DATABASE: https://dev.mysql.com/doc/refman/en/create-database.html."""

from __future__ import annotations

from cdckit_mysql.ddl.changes import ChangeKind, SchemaChange
from cdckit_mysql.ddl.charsets import Collation
from cdckit_mysql.ddl.options import Options, read_collation_option
from cdckit_mysql.ddl.scope import Scope
from cdckit_mysql.table import Database


def create_database(scope: Scope, *, replaces: bool) -> list[SchemaChange]:
    """Read on behind CREATE DATABASE; one that replaces another drops this first."""
    lenient = scope.cursor.accept("IF", "NOT", "EXISTS")
    name = scope.database_name()
    options = _read_options(scope)
    known = scope.tables.database(name) is not None
    changes = [SchemaChange(ChangeKind.CREATE_DATABASE, name, scope.text)]
    if known and replaces:
        dropped = tuple(scope.tables.remove_database(name))
        changes.insert(0, SchemaChange(ChangeKind.DROP_DATABASE, name, scope.text, dropped=dropped))
    if not (known and lenient):
        _keep(scope, name, options, scope.server_collation())
    return changes


def alter_database(scope: Scope) -> list[SchemaChange]:
    """Read on behind ALTER DATABASE; without a name the default database is meant."""
    cursor = scope.cursor
    named = cursor.at_name() and not cursor.at_any("DEFAULT", "CHARACTER", "CHARSET", "COLLATE")
    name = scope.database_name() if named else scope.tables.spelling(cursor.database)
    options = _read_options(scope)
    resets = options.charset == ""
    _keep(scope, name, options, scope.server_collation() if resets else scope.database_collation(name))
    return [SchemaChange(ChangeKind.ALTER_DATABASE, name, scope.text)]


def drop_database(scope: Scope) -> list[SchemaChange]:
    """Read on behind DROP DATABASE and forget its tables."""
    scope.cursor.accept("IF", "EXISTS")
    name = scope.database_name()
    dropped = tuple(scope.tables.remove_database(name))
    return [SchemaChange(ChangeKind.DROP_DATABASE, name, scope.text, dropped=dropped)]


def _read_options(scope: Scope) -> Options:
    options = Options()
    while not scope.cursor.done and not scope.cursor.at(";"):
        if not read_collation_option(scope.cursor, options):
            scope.cursor.advance()
    return options


def _keep(scope: Scope, name: str, options: Options, inherited: Collation) -> None:
    collation = options.settle(inherited, scope.cursor.charsets, scope.cursor.session)
    scope.tables.put_database(Database(name, *collation))
