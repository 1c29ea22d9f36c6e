"""Applies an ALTER TABLE to a table's definition, in the order in which the server does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cdckit_mysql.ddl.alter_clauses import FIRST, Alteration, ColumnClause
from cdckit_mysql.ddl.columns import ColumnDefinition, apply_timestamp_defaults, grown_text, resolved
from cdckit_mysql.ddl.create import Options, with_keys
from cdckit_mysql.ddl.defaults import Default, value_for, with_older
from cdckit_mysql.ddl.keys import Indexes
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import Collation, DdlSession, Flavor, SqlMode
from cdckit_mysql.table import Column, Table


@dataclass(frozen=True, slots=True)
class Place:
    """A column's place in the altered table.

    Attributes:
        origin: the name by which the old keys know it: the old one, or a new column's own.
        column: an old definition, or one that the statement gives.
    """

    origin: str
    column: Column | ColumnDefinition


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
    places = _places(table, alteration, cursor)
    collation = _collation(table, alteration.options, database, cursor)
    conversion: Collation | None = None
    if alteration.conversion:
        conversion = _collation(table, alteration.conversion, database, cursor)
        collation = collation if alteration.options.names_collation else conversion
    columns = _settled([place.column for place in places], collation, conversion, cursor)
    result = replace(
        table.with_columns(_with_older(table, alteration, places, columns, cursor)),
        charset=collation.charset,
        collation=collation.name,
        comment=_comment(table, alteration),
        period=None if alteration.drops_period else alteration.period or table.period,
        system_versioned=_system_versioned(table, alteration),
        history_partitions=_history_partitions(table, alteration),
    )
    return with_keys(result, _kept_indexes(table, alteration, places), alteration.keys, cursor)


def computed(table: Table, alteration: Alteration, session: DdlSession) -> Iterator[str]:
    """The columns of before, in lower case, to which the statement may give other values than they had.

    An expression is computed for each row, be it the one of before; AUTO_INCREMENT numbers NULLs, and zeros unless
    the session says that they are numbers.
    """
    old = {column.name.lower(): column for column in table.columns}
    for clause in alteration.columns:
        before = old.get((clause.replaces or "").lower())
        if before is None:
            continue
        numbers = before.optional or SqlMode.NO_AUTO_VALUE_ON_ZERO not in session.sql_mode
        numbered = clause.column.auto_incremented and not before.auto_incremented and numbers
        if clause.column.generated or numbered:
            yield clause.column.name.lower()


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


def _places(table: Table, alteration: Alteration, cursor: Cursor) -> list[Place]:
    """Return the columns in their new order: first the old ones in place, then one by one those with a new place."""
    replacements = {clause.replaces.lower(): clause for clause in alteration.columns if clause.replaces}
    certain = [name for name, lenient in alteration.dropped.items() if not lenient]
    _check_names(table, [*replacements, *certain], cursor)
    places: list[Place] = []
    for column in table.columns:
        name = column.name.lower()
        if name not in alteration.dropped:
            clause = replacements.get(name)
            places.append(Place(name, clause.column if clause else _touched(column, alteration, cursor.flavor)))
    # As the server does it: a clause names a column as it was before the statement, and columns with a new place take
    # it one by one, among those that are there by then.
    for clause in alteration.columns:
        if clause.replaces is None or clause.after is not None:
            _insert(places, clause, cursor)
            _set_default(clause.column, alteration, cursor)
    return places


def _check_names(table: Table, names: list[str], cursor: Cursor) -> None:
    existing = {column.name.lower() for column in table.columns}
    for name in names:
        if name not in existing:
            raise cursor.error(f"{table.id} has no column {name!r} in the definition kept for it")


def _insert(places: list[Place], clause: ColumnClause, cursor: Cursor) -> None:
    if clause.replaces:
        places[:] = [place for place in places if place.column is not clause.column]
    names = [place.column.name.lower() for place in places]
    new = clause.column.name.lower()
    if new in names:
        raise cursor.error(f"the column {clause.column.name!r} is there already in the definition kept for the table")
    if clause.after is None:
        at = len(places)
    elif clause.after == FIRST:
        # FIRST is behind the key that the server has made itself.
        at = 1 if places and _is_generated_key(places[0].column) else 0
    elif clause.after.lower() in names:
        at = names.index(clause.after.lower()) + 1
    else:
        raise cursor.error(f"there is no column {clause.after!r} to put {clause.column.name!r} after")
    places.insert(at, Place((clause.replaces or new).lower(), clause.column))


def _set_default(column: ColumnDefinition, alteration: Alteration, cursor: Cursor) -> None:
    """Apply ALTER COLUMN to a column of the same statement, which only MariaDB allows."""
    name = column.name.lower()
    if cursor.flavor is Flavor.MARIADB and name in alteration.defaults:
        column.default = alteration.defaults[name]


def _is_generated_key(column: Column | ColumnDefinition) -> bool:
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


def _touched(column: Column, alteration: Alteration, flavor: Flavor) -> Column:
    """Return a column after RENAME COLUMN and ALTER COLUMN."""
    name = column.name.lower()
    new_name = alteration.renamed.get(name, column.name)
    column = replace(column, name=new_name)
    # One statement may rename a column and alter it; servers differ in the name by which it is known then, so both are
    # taken.
    for key in (name, new_name.lower()):
        if key in alteration.shown:
            column = replace(column, invisible=not alteration.shown[key])
        if key in alteration.defaults:
            return _with_default(column, alteration.defaults[key], flavor)
    return column


def _with_default(column: Column, default: Default | None, flavor: Flavor) -> Column:
    if default is None or column.auto_incremented:
        return replace(column, has_default=False, default=None, default_is_expression=False)
    literal = None if default.expression else value_for(default, column.base_type, column.scale, column.charset, flavor)
    text = default.text if default.expression else literal
    return replace(column, has_default=True, default=text, default_is_expression=default.expression)


def _collation(table: Table, named: Options, database: Collation, cursor: Cursor) -> Collation:
    """Return the collation that options ask for: the table's where they name none."""
    inherits = named.charset == "" or table.charset is None or table.collation is None
    before = database if inherits else Collation(str(table.charset), str(table.collation))
    return named.settle(before, cursor.charsets, cursor.session)


def _settled(
    columns: list[Column | ColumnDefinition], collation: Collation, conversion: Collation | None, cursor: Cursor
) -> list[Column]:
    """Return the columns' definitions.

    Args:
        columns: in order.
        collation: the table's.
        conversion: that of CONVERT TO, which goes before what a column names itself.
        cursor: of the statement.
    """
    if not cursor.session.explicit_defaults_for_timestamp:
        apply_timestamp_defaults(columns)
    settled = [
        column if isinstance(column, Column) else resolved(column, position, collation, cursor)
        for position, column in enumerate(columns, 1)
    ]
    if conversion is None:
        return settled
    by_codes = cursor.charsets.binary_order(conversion.charset)
    return [
        _converted(column, by_codes if _asks_for_codes(written) else conversion, cursor)
        for written, column in zip(columns, settled, strict=True)
    ]


def _with_older(
    table: Table, alteration: Alteration, places: list[Place], columns: list[Column], cursor: Cursor
) -> Iterator[Column]:
    """The columns, those that are new with what older rows have in them; a new definition of one changes no row."""
    known = {column.name.lower(): column for column in table.columns}
    new = {id(clause.column) for clause in alteration.columns if clause.replaces is None}
    for place, column in zip(places, columns, strict=True):
        if id(place.column) in new:
            yield with_older(column, cursor.session)
        elif isinstance(place.column, Column):
            yield column
        else:
            old = known[place.origin]
            # Rows that are there keep what an earlier ADD has put into them.
            yield replace(column, older=old.older, older_unknown=old.older_unknown)


def _asks_for_codes(column: Column | ColumnDefinition) -> bool:
    """Whether the statement gives a column the attribute BINARY, which a conversion heeds."""
    return isinstance(column, ColumnDefinition) and column.data_type.binary_order


def _converted(column: Column, collation: Collation, cursor: Cursor) -> Column:
    """Return a column after CONVERT TO CHARACTER SET; columns of bytes stay as they are."""
    if column.charset is None:
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


def _history_partitions(table: Table, alteration: Alteration) -> bool:
    return table.history_partitions if alteration.history_partitions is None else alteration.history_partitions


def _kept_indexes(table: Table, alteration: Alteration, places: list[Place]) -> Indexes:
    names: dict[str, str] = {}
    for place in places:
        names.setdefault(place.origin, place.column.name)
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
