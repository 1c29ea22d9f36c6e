"""What each statement does, from behind its first words: on tables, sequences, indexes, views and databases.

https://dev.mysql.com/doc/refman/en/sql-data-definition-statements.html
"""

from __future__ import annotations

from dataclasses import replace

from cdckit_mysql.ddl.alter_clauses import Alteration, read_alteration
from cdckit_mysql.ddl.alteration import altered, computed
from cdckit_mysql.ddl.changes import ChangeKind, Changes, SchemaChange, Scope
from cdckit_mysql.ddl.create import Options, read_collation_option, read_create_table, with_keys
from cdckit_mysql.ddl.keys import Indexes, KeyKind, read_index
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import Collation
from cdckit_mysql.table import Database, Table, TableId

# -- tables


def create_table(scope: Scope, *, replaces: bool) -> list[SchemaChange]:
    """Read on behind CREATE TABLE; with IF NOT EXISTS a table that is there stays as it is."""
    cursor = scope.cursor
    lenient = cursor.accept("IF", "NOT", "EXISTS")
    table_id = scope.table_id()
    if lenient and not replaces and table_id in scope.tables:
        cursor.skip_to(";")
        return [scope.unchanged(ChangeKind.CREATE, table_id)]
    if cursor.at("LIKE") or cursor.at("(", "LIKE"):
        table = _read_like(scope, table_id)
    else:
        table = read_create_table(cursor, table_id, scope.database_collation(table_id.database))
    return [_created(scope, table_id, table)]


def _read_like(scope: Scope, table_id: TableId) -> Table | None:
    parenthesized = scope.cursor.accept("(")
    scope.cursor.expect("LIKE")
    model = scope.tables.get(*scope.table_id())
    if parenthesized:
        scope.cursor.expect(")")
    return model and _named(model, table_id)


def _created(scope: Scope, table_id: TableId, table: Table | None) -> SchemaChange:
    if table is None:
        scope.tables.remove(*table_id)
    else:
        scope.tables.put(table)
    return SchemaChange(ChangeKind.CREATE, table_id.database, scope.text, after=table_id, table=table)


def _named(table: Table, table_id: TableId) -> Table:
    return replace(table, database=table_id.database, name=table_id.name)


def alter_table(scope: Scope, *, ignores: bool = False) -> list[SchemaChange]:
    """Read on behind ALTER TABLE; with MariaDB's IGNORE, rows that do not fit are changed or removed."""
    cursor = scope.cursor
    cursor.accept("IF", "EXISTS")
    table_id = scope.table_id()
    scope.skip_wait()
    alteration = read_alteration(cursor)
    before = scope.tables.get(*table_id)
    after = before and altered(before, alteration, scope.database_collation(table_id.database), cursor)
    new_id = scope.spelled(alteration.rename) if alteration.rename else table_id
    after = _moved(scope, table_id, after, new_id)
    changes = [
        SchemaChange(
            ChangeKind.ALTER,
            table_id.database,
            scope.text,
            table_id,
            new_id,
            before,
            after,
            renamed=alteration.new_names,
            made_anew=alteration.made_anew,
            computed=() if before is None else tuple(computed(before, alteration, cursor.session)),
            strict=scope.cursor.session.strict and not ignores,
            moves_rows=_moves_rows(before, alteration) or ignores,
            exchanged=alteration.exchanged and scope.spelled(alteration.exchanged),
        )
    ]
    if alteration.detached:
        detached = scope.spelled(alteration.detached)
        changes.append(replace(_created(scope, detached, after and _named(after, detached)), moves_rows=True))
    if alteration.attached:
        changes.append(_dropped(scope, scope.spelled(alteration.attached), scope.text))
    return changes


def _moves_rows(table: Table | None, alteration: Alteration) -> bool:
    """Whether rows come or go that the log does not tell of; old versions are none that count."""
    history = table is not None and table.history_partitions and alteration.drops_partitions
    return alteration.moves_rows and not history


def _moved(scope: Scope, old: TableId, table: Table | None, new: TableId) -> Table | None:
    """Keep a table's definition under its new name; where it is not known, nothing is known of that name either."""
    scope.tables.remove(*old)
    if table is None:
        scope.tables.remove(*new)
        return None
    table = _named(table, new)
    scope.tables.put(table)
    return table


def rename_tables(scope: Scope) -> list[SchemaChange]:
    """Read on behind RENAME TABLE: one pair after the other, as the server renames them."""
    scope.cursor.accept("IF", "EXISTS")
    beginning = scope.cursor.sql[scope.start : scope.cursor.token.start]
    changes = [_rename(scope, beginning)]
    while scope.cursor.accept(","):
        changes.append(_rename(scope, beginning))
    return changes


def _rename(scope: Scope, beginning: str) -> SchemaChange:
    start = scope.cursor.token.start
    old = scope.table_id()
    scope.skip_wait()
    scope.cursor.expect("TO")
    new = scope.table_id()
    ddl = f"{beginning}{scope.cursor.text_since(start)}"
    before = scope.tables.get(*old)
    return SchemaChange(ChangeKind.RENAME, old.database, ddl, old, new, before, _moved(scope, old, before, new))


def drop_tables(scope: Scope) -> list[SchemaChange]:
    """Read on behind DROP TABLE; each table gets a statement of its own, as Debezium tells it."""
    cursor = scope.cursor
    cursor.accept("IF", "EXISTS")
    beginning = cursor.sql[scope.start : cursor.token.start]
    table_ids = scope.table_ids()
    scope.skip_wait()
    behaviour = cursor.accept_any("RESTRICT", "CASCADE")
    ending = f" {behaviour}" if behaviour else ""
    return [_dropped(scope, table_id, f"{beginning}{_quoted(table_id)}{ending}") for table_id in table_ids]


def _dropped(scope: Scope, table_id: TableId, ddl: str) -> SchemaChange:
    before = scope.tables.remove(*table_id)
    return SchemaChange(ChangeKind.DROP, table_id.database, ddl, before=table_id, previous=before)


def _quoted(table_id: TableId) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in table_id)


def truncate_table(scope: Scope) -> list[SchemaChange]:
    """Tell of a table that is emptied; its definition stays."""
    scope.cursor.accept("TABLE")
    table_id = scope.table_id()
    scope.skip_wait()
    return [scope.unchanged(ChangeKind.TRUNCATE, table_id)]


# -- sequences: https://mariadb.com/kb/en/create-sequence/


def create_sequence(scope: Scope, *, replaces: bool) -> list[SchemaChange]:
    """Keep a sequence by its name: the log has its row as that of a table."""
    lenient = scope.cursor.accept("IF", "NOT", "EXISTS")
    table_id = scope.table_id()
    scope.cursor.skip_to(";")
    if lenient and not replaces and table_id in scope.tables:
        return [scope.unchanged(ChangeKind.SEQUENCE, table_id)]
    sequence = Table(*table_id, sequence=True)
    scope.tables.put(sequence)
    return [SchemaChange(ChangeKind.SEQUENCE, table_id.database, scope.text, after=table_id, table=sequence)]


def drop_sequences(scope: Scope) -> list[SchemaChange]:
    """Forget sequences, of which one statement may name several."""
    scope.cursor.accept("IF", "EXISTS")
    return [
        SchemaChange(
            ChangeKind.SEQUENCE,
            table_id.database,
            scope.text,
            before=table_id,
            previous=scope.tables.remove(*table_id),
        )
        for table_id in scope.table_ids()
    ]


# -- indexes: https://dev.mysql.com/doc/refman/en/create-index.html


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


# -- views, of which only the names matter

_BEFORE_THE_KIND = ("ALGORITHM", "DEFINER", "SQL")
_OTHER_KINDS = ("AGGREGATE", "EVENT", "FUNCTION", "PACKAGE", "PROCEDURE", "TRIGGER")


def define_view(scope: Scope) -> Changes:
    """Read on behind CREATE or ALTER; None if it is no view but a routine, a user or another kind of object."""
    cursor = scope.cursor
    while cursor.accept_any(*_BEFORE_THE_KIND):
        cursor.skip_to("VIEW", *_BEFORE_THE_KIND, *_OTHER_KINDS, ";")
    if not cursor.accept("VIEW"):
        return None
    cursor.accept("IF", "NOT", "EXISTS")
    view = scope.table_id()
    cursor.skip_to(";")
    return [SchemaChange(ChangeKind.VIEW, view.database, scope.text, after=view)]


def drop_views(scope: Scope) -> list[SchemaChange]:
    """Tell of views that go; one statement may name several."""
    scope.cursor.accept("IF", "EXISTS")
    views = scope.table_ids()
    scope.cursor.skip_to(";")
    return [SchemaChange(ChangeKind.VIEW, view.database, scope.text, before=view) for view in views]


# -- databases: https://dev.mysql.com/doc/refman/en/create-database.html


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
    resets = options.charset == ""  # DEFAULT is what the server has, not the database itself
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
