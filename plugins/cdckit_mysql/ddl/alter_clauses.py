"""Reads the clauses of ALTER TABLE.

https://dev.mysql.com/doc/refman/en/alter-table.html, https://mariadb.com/kb/en/alter-table/
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cdckit_mysql.ddl.columns import ColumnDefinition, read_column, read_definition
from cdckit_mysql.ddl.create import Options, TableElements, read_element, read_period, read_table_option
from cdckit_mysql.ddl.defaults import Default, read_default
from cdckit_mysql.ddl.keys import Key, at_key, read_key
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import Flavor
from cdckit_mysql.ddl.types import read_charset_name
from cdckit_mysql.table import Period, TableId

FIRST = ""
"""The place before all columns; other places are the name of the column before."""


@dataclass(frozen=True, slots=True)
class ColumnClause:
    """ADD, MODIFY or CHANGE of a column.

    Attributes:
        column: the new definition.
        replaces: the column that it replaces, None for a new one.
        after: where to put it; None leaves it in its place, a new one at the end.
        lenient: MariaDB's IF EXISTS or IF NOT EXISTS.
    """

    column: ColumnDefinition
    replaces: str | None = None
    after: str | None = None
    lenient: bool = False


@dataclass(slots=True)
class Alteration:
    """All clauses of an ALTER TABLE.

    Attributes:
        columns: ADD, MODIFY and CHANGE, in order.
        dropped: columns to drop, in lower case, with whether IF EXISTS was said.
        renamed: new names of columns by the old in lower case.
        defaults: new defaults by column in lower case; None drops the default.
        shown: new visibility by column in lower case.
        keys: to add, in order.
        dropped_keys: names of indexes to drop.
        dropped_constraints: names of constraints to drop, which may be indexes.
        renamed_keys: old and new names of indexes.
        drops_primary_key: has DROP PRIMARY KEY.
        options: of the table.
        converts: has CONVERT TO CHARACTER SET; the character set is in `conversion`.
        rename: the table's new name.
        period: the period to add.
        drops_period: has DROP PERIOD.
        system_versioned: ADD or DROP SYSTEM VERSIONING.
        detached: a table that CONVERT PARTITION makes.
        attached: a table that becomes a partition.
        moves_rows: whether rows come or go that the log does not tell of.
        drops_partitions: whether these are those of partitions that are dropped.
        history_partitions: whether the table gets `PARTITION BY SYSTEM_TIME`; False where it gets or loses others.
        exchanged: a table whose rows a partition takes, and gives its own for.
    """

    columns: list[ColumnClause] = field(default_factory=list)
    dropped: dict[str, bool] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Default | None] = field(default_factory=dict)
    shown: dict[str, bool] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    dropped_keys: list[str] = field(default_factory=list)
    dropped_constraints: list[str] = field(default_factory=list)
    renamed_keys: list[tuple[str, str]] = field(default_factory=list)
    drops_primary_key: bool = False
    options: Options = field(default_factory=Options)
    conversion: Options | None = None
    rename: TableId | None = None
    period: Period | None = None
    drops_period: bool = False
    system_versioned: bool | None = None
    detached: TableId | None = None
    attached: TableId | None = None
    moves_rows: bool = False
    drops_partitions: bool = False
    history_partitions: bool | None = None
    exchanged: TableId | None = None

    @property
    def new_names(self) -> tuple[tuple[str, str], ...]:
        """The old and new names of the columns that are renamed."""
        changed = [(clause.replaces, clause.column.name) for clause in self.columns if clause.replaces]
        return tuple((old, new) for old, new in (*self.renamed.items(), *changed) if old.lower() != new.lower())

    @property
    def made_anew(self) -> tuple[str, ...]:
        """The columns that are dropped and added again, in lower case."""
        added = (clause.column.name.lower() for clause in self.columns if clause.replaces is None)
        return tuple(name for name in added if name in self.dropped)


_PARTITION_VERBS = (
    "ADD",
    "ANALYZE",
    "CHECK",
    "COALESCE",
    "DISCARD",
    "DROP",
    "EXCHANGE",
    "IMPORT",
    "OPTIMIZE",
    "REBUILD",
    "REORGANIZE",
    "REPAIR",
    "TRUNCATE",
)


_MOVES_ROWS = ("DISCARD", "DROP", "EXCHANGE", "IMPORT", "TRUNCATE")
"""What takes the rows of partitions away, or puts others there."""


def read_alteration(cursor: Cursor) -> Alteration:
    """Read the clauses of ALTER TABLE from behind the table's name.

    Raises:
        DdlError: a clause is not known.
    """
    alteration = Alteration()
    while not cursor.done and not cursor.at(";"):
        if not cursor.accept(","):
            _read_clause(cursor, alteration)
    return alteration


def _read_clause(cursor: Cursor, alteration: Alteration) -> None:
    if _skip_partitioning(cursor, alteration) or _skip_directive(cursor, alteration):
        return
    if cursor.accept("ADD"):
        _read_add(cursor, alteration)
    elif cursor.accept("DROP"):
        _read_drop(cursor, alteration)
    elif verb := cursor.accept_any("MODIFY", "CHANGE"):
        _read_replacement(cursor, alteration, renames=verb == "CHANGE")
    elif cursor.accept("ALTER"):
        _read_alter(cursor, alteration)
    elif cursor.accept("RENAME"):
        _read_rename(cursor, alteration)
    elif cursor.accept("CONVERT"):
        _read_convert(cursor, alteration)
    elif not read_table_option(cursor, alteration.options):
        raise cursor.error("expected a clause of ALTER TABLE")


def _skip_partitioning(cursor: Cursor, alteration: Alteration) -> bool:
    """Read partitioning, which ends the statement and changes no column."""
    on_partitions = cursor.at_any(*_PARTITION_VERBS) and cursor.ahead(1).key == "PARTITION"
    whole = cursor.at("PARTITION", "BY") or cursor.at("REMOVE", "PARTITIONING") or cursor.at("ORDER", "BY")
    if whole and not cursor.at("ORDER"):
        alteration.history_partitions = cursor.at("PARTITION") and cursor.ahead(2).key == "SYSTEM_TIME"
    if on_partitions:
        alteration.moves_rows = cursor.at_any(*_MOVES_ROWS)
        alteration.drops_partitions = cursor.at("DROP")
        if cursor.at("EXCHANGE"):
            cursor.skip_to("TABLE", ";")
            alteration.exchanged = cursor.table_id() if cursor.accept("TABLE") else None
    if on_partitions or whole:
        cursor.skip_to(";")
    return on_partitions or whole


def _skip_directive(cursor: Cursor, alteration: Alteration) -> bool:
    """Read what tells the server how to work and changes no definition."""
    if cursor.accept_any("FORCE", "NOWAIT", "SECONDARY_LOAD", "SECONDARY_UNLOAD"):
        return True
    if cursor.accept_any("ENABLE", "DISABLE"):
        cursor.expect("KEYS")
        return True
    if cursor.at_any("WITH", "WITHOUT") and cursor.ahead(1).key == "VALIDATION":
        cursor.advance()
        cursor.advance()
        return True
    if cursor.at_any("DISCARD", "IMPORT") and cursor.ahead(1).key == "TABLESPACE":
        alteration.moves_rows = True
        cursor.advance()
        cursor.advance()
        return True
    return False


def _read_add(cursor: Cursor, alteration: Alteration) -> None:
    if cursor.accept("SYSTEM", "VERSIONING"):
        alteration.system_versioned = True
    elif cursor.accept("PERIOD", "FOR"):
        alteration.period = read_period(cursor)
    elif at_key(cursor):
        if (key := read_key(cursor)) is not None:
            alteration.keys.append(key)
    else:
        _read_add_columns(cursor, alteration)


def _read_add_columns(cursor: Cursor, alteration: Alteration) -> None:
    cursor.accept("COLUMN")
    lenient = cursor.accept("IF", "NOT", "EXISTS")
    if cursor.at("("):
        elements = TableElements()
        cursor.parenthesized(lambda: read_element(cursor, elements))
        alteration.columns += [ColumnClause(column, lenient=lenient) for column in elements.columns]
        alteration.keys += elements.keys
        return
    column = read_column(cursor)
    alteration.columns.append(ColumnClause(column, None, _read_place(cursor), lenient))
    alteration.keys += column.keys


def _read_place(cursor: Cursor) -> str | None:
    if cursor.accept("FIRST"):
        return FIRST
    return cursor.column_name() if cursor.accept("AFTER") else None


def _read_replacement(cursor: Cursor, alteration: Alteration, *, renames: bool) -> None:
    cursor.accept("COLUMN")
    lenient = cursor.accept("IF", "EXISTS")
    old = cursor.column_name()
    column = read_definition(cursor, cursor.column_name() if renames else old)
    alteration.columns.append(ColumnClause(column, old, _read_place(cursor), lenient))
    alteration.keys += column.keys


def _read_drop(cursor: Cursor, alteration: Alteration) -> None:
    if cursor.accept("PRIMARY", "KEY"):
        alteration.drops_primary_key = True
    elif cursor.accept_any("INDEX", "KEY"):
        cursor.accept("IF", "EXISTS")
        alteration.dropped_keys.append(cursor.identifier())
    elif cursor.accept("FOREIGN", "KEY") or cursor.accept("CHECK"):
        cursor.accept("IF", "EXISTS")
        cursor.identifier()
    elif cursor.accept("CONSTRAINT"):
        cursor.accept("IF", "EXISTS")
        alteration.dropped_constraints.append(cursor.identifier())
    elif cursor.accept("SYSTEM", "VERSIONING"):
        alteration.system_versioned = False
    elif cursor.accept("PERIOD"):
        cursor.accept("IF", "EXISTS")
        cursor.expect("FOR")
        alteration.drops_period = cursor.identifier().upper() != "SYSTEM_TIME"
    else:
        _read_drop_column(cursor, alteration)


def _read_drop_column(cursor: Cursor, alteration: Alteration) -> None:
    cursor.accept("COLUMN")
    lenient = cursor.accept("IF", "EXISTS")
    alteration.dropped[cursor.column_name().lower()] = lenient
    cursor.accept_any("RESTRICT", "CASCADE")


def _read_alter(cursor: Cursor, alteration: Alteration) -> None:
    if cursor.at_any("INDEX", "KEY", "CHECK", "CONSTRAINT"):
        cursor.skip_to(",", ";")
        return
    cursor.accept("COLUMN")
    cursor.accept("IF", "EXISTS")
    name = cursor.column_name().lower()
    if cursor.accept("DROP", "DEFAULT"):
        alteration.defaults[name] = None
    elif cursor.accept("SET", "DEFAULT"):
        alteration.defaults[name] = read_default(cursor)
    elif cursor.accept("SET", "VISIBLE"):
        alteration.shown[name] = True
    elif cursor.accept("SET", "INVISIBLE"):
        alteration.shown[name] = False
    else:
        raise cursor.error("expected SET or DROP DEFAULT")


def _read_rename(cursor: Cursor, alteration: Alteration) -> None:
    if cursor.accept("COLUMN"):
        cursor.accept("IF", "EXISTS")
        old = cursor.column_name()
        cursor.expect("TO")
        alteration.renamed[old.lower()] = cursor.column_name()
    elif cursor.at_any("INDEX", "KEY"):
        cursor.advance()
        cursor.accept("IF", "EXISTS")
        old = cursor.identifier()
        cursor.expect("TO")
        alteration.renamed_keys.append((old, cursor.identifier()))
    else:
        cursor.accept_any("TO", "AS", "=")
        alteration.rename = cursor.table_id()


def _read_convert(cursor: Cursor, alteration: Alteration) -> None:
    alteration.moves_rows = cursor.at_any("PARTITION", "TABLE")
    if cursor.accept("PARTITION"):
        cursor.identifier()
        cursor.expect("TO", "TABLE")
        alteration.detached = cursor.table_id()
        cursor.skip_to(";")
    elif cursor.accept("TABLE"):
        alteration.attached = cursor.table_id()
        cursor.skip_to(";")
    else:
        _read_conversion(cursor, alteration)


def _read_conversion(cursor: Cursor, alteration: Alteration) -> None:
    cursor.expect("TO")
    if not cursor.accept("CHARSET"):
        cursor.accept_any("CHARACTER", "CHAR")
        cursor.expect("SET")
    alteration.conversion = Options(charset="" if cursor.accept("DEFAULT") else read_charset_name(cursor))
    if cursor.accept("COLLATE"):
        alteration.conversion.collation = read_charset_name(cursor)
    if cursor.flavor is Flavor.MYSQL:  # of two, the last one holds for the table
        alteration.options.charset = None
        alteration.options.collation = alteration.conversion.collation
