"""Applies an ALTER TABLE to a table's definition, in the order in which the server does."""

from __future__ import annotations

from dataclasses import replace

from cdckit_mysql.ddl.alter import FIRST, Alteration, ColumnClause
from cdckit_mysql.ddl.charsets import BINARY, Collation
from cdckit_mysql.ddl.columns import ColumnDefinition, apply_timestamp_defaults, grown_text, settle
from cdckit_mysql.ddl.create import with_keys
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.defaults import value_for
from cdckit_mysql.ddl.keys import Indexes
from cdckit_mysql.table import Column, Table

Place = Column | ColumnDefinition


def altered(table: Table, alteration: Alteration, database: Collation, cursor: Cursor) -> Table:
    """Return the definition of a table after an ALTER TABLE, but for a new name.

    Args:
        table: the definition before.
        alteration: what was read.
        database: the default collation of the table's database.
        cursor: of the statement.

    Raises:
        DdlError: a clause names a column that is not there, or adds one that is.
    """
    alteration = _without_moot_clauses(table, alteration)
    columns = _columns(table, alteration, cursor)
    names = _new_names(table, alteration)
    collation = _collation(table, alteration, database, cursor)
    result = replace(
        table.with_columns(_settled(columns, collation, alteration, cursor)),
        charset=collation.charset,
        collation=collation.name,
        comment=_comment(table, alteration),
        period=None if alteration.drops_period else alteration.period or table.period,
        system_versioned=_system_versioned(table, alteration),
    )
    return with_keys(result, _kept_indexes(table, alteration, names), alteration.keys, cursor)


def _without_moot_clauses(table: Table, alteration: Alteration) -> Alteration:
    """Leave out what IF EXISTS and IF NOT EXISTS make void."""
    existing = {column.name.lower() for column in table.columns} - alteration.dropped.keys()

    def is_moot(clause: ColumnClause) -> bool:
        if not clause.lenient:
            return False
        name = (clause.replaces or clause.column.name).lower()
        return (name in existing) == (clause.replaces is None)

    moot = {id(key) for clause in alteration.columns if is_moot(clause) for key in clause.column.keys}
    return replace(
        alteration,
        columns=[clause for clause in alteration.columns if not is_moot(clause)],
        keys=[key for key in alteration.keys if id(key) not in moot],
    )


def _columns(table: Table, alteration: Alteration, cursor: Cursor) -> list[Place]:
    """Return the columns in their new order: first those that stay in place, then one by one the others."""
    replacements = {clause.replaces.lower(): clause for clause in alteration.columns if clause.replaces}
    certain = [name for name, lenient in alteration.dropped.items() if not lenient]
    _check_names(table, [*replacements, *certain], cursor)
    columns: list[Place] = []
    for column in table.columns:
        name = column.name.lower()
        clause = replacements.get(name)
        if name in alteration.dropped or (clause and clause.after is not None):
            continue
        columns.append(clause.column if clause else _touched(column, alteration))
    for clause in alteration.columns:
        if clause.replaces is None or clause.after is not None:
            _insert(columns, clause, cursor)
    return columns


def _check_names(table: Table, names: list[str], cursor: Cursor) -> None:
    existing = {column.name.lower() for column in table.columns}
    for name in names:
        if name not in existing:
            raise cursor.error(f"{table.id} has no column {name!r} in the definition kept for it")


def _insert(columns: list[Place], clause: ColumnClause, cursor: Cursor) -> None:
    names = [column.name.lower() for column in columns]
    if clause.column.name.lower() in names:
        raise cursor.error(f"the column {clause.column.name!r} is there already in the definition kept for the table")
    if clause.after is None:
        columns.append(clause.column)
    elif clause.after == FIRST:
        columns.insert(1 if columns and _is_generated_key(columns[0]) else 0, clause.column)
    elif clause.after.lower() in names:
        columns.insert(names.index(clause.after.lower()) + 1, clause.column)
    else:
        raise cursor.error(f"there is no column {clause.after!r} to put {clause.column.name!r} after")


def _is_generated_key(column: Place) -> bool:
    """Whether this is the key that MySQL gave a table without one, which keeps the first place.

    https://dev.mysql.com/doc/refman/en/create-table-gipks.html
    """
    return (
        isinstance(column, Column)
        and column.name == "my_row_id"
        and column.type_name == "BIGINT UNSIGNED"
        and column.auto_incremented
        and column.invisible
    )


def _touched(column: Column, alteration: Alteration) -> Column:
    """Return a column after RENAME COLUMN and ALTER COLUMN."""
    name = column.name.lower()
    new_name = alteration.renamed.get(name, column.name)
    column = replace(column, name=new_name)
    for key in (name, new_name.lower()):
        if key in alteration.shown:
            column = replace(column, invisible=not alteration.shown[key])
        if key in alteration.defaults:
            return _with_default(column, alteration, key)
    return column


def _with_default(column: Column, alteration: Alteration, key: str) -> Column:
    default = alteration.defaults[key]
    if default is None:
        return replace(column, has_default=False, default=None, default_is_expression=False)
    text = default.text if default.expression else value_for(default, column.base_type, column.charset)
    return replace(column, has_default=True, default=text, default_is_expression=default.expression)


def _new_names(table: Table, alteration: Alteration) -> dict[str, str]:
    """Return the new name of each column that is kept, by the old one in lower case."""
    names = {column.name.lower(): column.name for column in table.columns}
    for dropped in alteration.dropped:
        names.pop(dropped, None)
    names.update({old: new for old, new in alteration.renamed.items() if old in names})
    names.update({clause.replaces.lower(): clause.column.name for clause in alteration.columns if clause.replaces})
    return names


def _collation(table: Table, alteration: Alteration, database: Collation, cursor: Cursor) -> Collation:
    """Return the table's new default collation."""
    named = alteration.conversion or alteration.options
    if named.charset == "":
        return named.settle(database, cursor.charsets, cursor.session)
    before = database if table.charset is None or table.collation is None else Collation(table.charset, table.collation)
    return named.settle(before, cursor.charsets, cursor.session)


def _settled(columns: list[Place], collation: Collation, alteration: Alteration, cursor: Cursor) -> list[Column]:
    if not cursor.session.explicit_defaults_for_timestamp:
        apply_timestamp_defaults(columns)
    converts = alteration.conversion is not None
    return [
        (_converted(column, collation, cursor) if converts else column)
        if isinstance(column, Column)
        else settle(column, position, collation, cursor.charsets, cursor.session)
        for position, column in enumerate(columns, 1)
    ]


def _converted(column: Column, collation: Collation, cursor: Cursor) -> Column:
    """Return a column after CONVERT TO CHARACTER SET; columns of bytes stay as they are."""
    if column.charset is None or column.charset == BINARY.charset:
        return column
    type_name = grown_text(column.type_name, column.charset, collation.charset, cursor.charsets)
    spelled = column.type_expression if type_name == column.type_name else type_name
    return replace(
        column,
        type_name=type_name,
        type_expression=spelled,
        charset=collation.charset,
        collation=collation.name,
    )


def _comment(table: Table, alteration: Alteration) -> str | None:
    comment = alteration.options.comment
    return table.comment if comment is None else comment or None


def _system_versioned(table: Table, alteration: Alteration) -> bool:
    if alteration.system_versioned is not None:
        return alteration.system_versioned
    return table.system_versioned or alteration.options.system_versioned


def _kept_indexes(table: Table, alteration: Alteration, names: dict[str, str]) -> Indexes:
    indexes = Indexes(table.indexes, () if alteration.drops_primary_key else table.primary_key)
    indexes.rename_columns(names)
    for name in alteration.dropped_keys:
        indexes.drop(name)
    for name in alteration.dropped_constraints:
        index = indexes.find(name)
        if name.upper() == "PRIMARY" or (index and index.unique):
            indexes.drop(name)
    for old, new in alteration.renamed_keys:
        indexes.rename(old, new)
    return indexes
