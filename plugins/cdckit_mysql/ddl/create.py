"""Reads CREATE TABLE: columns, keys and the options, which databases and ALTER TABLE have too.

https://dev.mysql.com/doc/refman/en/create-table.html, https://mariadb.com/kb/en/create-table/
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cdckit_mysql.ddl.columns import ColumnDefinition, apply_timestamp_defaults, read_column, resolved
from cdckit_mysql.ddl.keys import EXPRESSION, Indexes, Key, at_key, read_key
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import Charsets, Collation, DdlSession
from cdckit_mysql.ddl.types import read_charset_name
from cdckit_mysql.table import Column, Period, Table, TableId

# MySQL logs CREATE TABLE … SELECT as a CREATE TABLE that ends with START TRANSACTION, and the rows behind it:
# https://dev.mysql.com/doc/refman/en/create-table-select.html
_ALONE = (("START", "TRANSACTION"), ("STORAGE", "DISK"), ("STORAGE", "MEMORY"), ("STORAGE", "DEFAULT"))
_TWO_WORDS = (("DATA", "DIRECTORY"), ("INDEX", "DIRECTORY"))
_WITH_VALUE = frozenset(
    {
        "ALGORITHM",
        "AUTOEXTEND_SIZE",
        "AUTO_INCREMENT",
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "COMPRESSION",
        "CONNECTION",
        "DELAY_KEY_WRITE",
        "ENCRYPTION",
        "ENGINE",
        "ENGINE_ATTRIBUTE",
        "INSERT_METHOD",
        "KEY_BLOCK_SIZE",
        "LOCK",
        "MAX_ROWS",
        "MIN_ROWS",
        "NODEGROUP",
        "PACK_KEYS",
        "PAGE_CHECKSUM",
        "PASSWORD",
        "ROW_FORMAT",
        "SECONDARY_ENGINE",
        "SECONDARY_ENGINE_ATTRIBUTE",
        "SEQUENCE",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "STATS_SAMPLE_PAGES",
        "TABLESPACE",
        "TABLE_CHECKSUM",
        "TRANSACTIONAL",
        "TYPE",
        "UNION",
    }
)
"""Options whose value may follow without an equals sign; those which a storage engine defines have one."""


@dataclass(slots=True)
class Options:
    """The options given.

    Attributes:
        charset: `CHARACTER SET`; an empty string for `DEFAULT`.
        collation: `COLLATE`.
        comment: `COMMENT`.
        system_versioned: `WITH SYSTEM VERSIONING`.
        history_partitions: `PARTITION BY SYSTEM_TIME`.
    """

    charset: str | None = None
    collation: str | None = None
    comment: str | None = None
    system_versioned: bool = False
    history_partitions: bool = False

    @property
    def names_collation(self) -> bool:
        """Whether a character set or a collation is given."""
        return self.charset is not None or self.collation is not None

    def settle(self, inherited: Collation, charsets: Charsets, session: DdlSession) -> Collation:
        """Return the default collation that follows.

        Args:
            inherited: what holds without an option: that of the database, for a database the server's.
            charsets: the server's.
            session: of the statement.
        """
        if self.collation is not None:
            return charsets.collation(self.collation, self.charset or inherited.charset)
        if self.charset:
            return charsets.default(self.charset, session.default_collations)
        return inherited


def read_collation_option(cursor: Cursor, options: Options) -> bool:
    """Read `[DEFAULT] CHARACTER SET [=] name` or `[DEFAULT] COLLATE [=] name` if one stands here."""
    lead = 1 if cursor.at("DEFAULT") else 0
    key, following = cursor.ahead(lead).key, cursor.ahead(lead + 1).key
    two_words = key in ("CHARACTER", "CHAR") and following == "SET"
    if not two_words and key not in ("CHARSET", "COLLATE"):
        return False
    for _ in range(lead + 1 + two_words):
        cursor.advance()
    cursor.accept("=")
    if key == "COLLATE":
        options.collation = read_charset_name(cursor)
    else:
        options.charset = "" if cursor.accept("DEFAULT") else read_charset_name(cursor)
    return True


def read_table_option(cursor: Cursor, options: Options) -> bool:
    """Read one option of a table if a name stands here; those that change nothing here are passed over."""
    if read_collation_option(cursor, options):
        return True
    if cursor.accept("COMMENT"):
        cursor.accept("=")
        options.comment = cursor.string()
        return True
    if cursor.accept("WITH", "SYSTEM", "VERSIONING"):
        options.system_versioned = True
        return True
    return _skip_option(cursor)


def _skip_option(cursor: Cursor) -> bool:
    """Read `name [=] value`, where a name may be two words and a value a list; False if it is none."""
    if any(cursor.accept(*words) for words in _ALONE):
        return True
    if not any(cursor.accept(*words) for words in _TWO_WORDS):
        if not (cursor.at_any(*_WITH_VALUE) or (cursor.at_name() and cursor.ahead(1).key == "=")):
            return False
        cursor.advance()
    cursor.accept("=")
    if cursor.at("("):
        cursor.skip_parentheses()
    else:
        cursor.accept("-")
        cursor.advance()
    return True


# -- CREATE TABLE


@dataclass(slots=True)
class TableElements:
    """What stands in the parentheses of CREATE TABLE, or of ALTER TABLE … ADD.

    Attributes:
        columns: in order.
        keys: in order, with those of the columns' own attributes.
        period: the application-time period, with its columns.
    """

    columns: list[ColumnDefinition] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    period: Period | None = None


def read_element(cursor: Cursor, elements: TableElements) -> None:
    """Read a column, a key, a constraint or a period."""
    if at_key(cursor):
        key = read_key(cursor)
        if key is not None:
            elements.keys.append(key)
    elif cursor.accept("PERIOD", "FOR"):
        elements.period = read_period(cursor) or elements.period
    else:
        column = read_column(cursor)
        elements.columns.append(column)
        elements.keys.extend(column.keys)


def read_period(cursor: Cursor) -> Period | None:
    """Read a period from behind `PERIOD FOR`; that of the system gives None."""
    name = cursor.identifier()
    start, end = cursor.parenthesized(cursor.identifier)
    return None if name.upper() == "SYSTEM_TIME" else Period(name, start, end)


def read_create_table(cursor: Cursor, table_id: TableId, inherited: Collation) -> Table:
    """Read a table's definition from behind its name.

    Args:
        cursor: at the parenthesis or the options.
        table_id: the table's name.
        inherited: the default collation of its database.

    Raises:
        DdlError: it cannot be read, or its columns come from a query.
    """
    elements, options = TableElements(), Options()
    if cursor.at("(") and cursor.ahead(1).key not in ("SELECT", "WITH", "("):
        cursor.parenthesized(lambda: read_element(cursor, elements))
    _read_options(cursor, options)
    if not elements.columns:
        raise cursor.error("the table has no columns of its own")
    return _build(cursor, table_id, elements, options, inherited)


def _read_options(cursor: Cursor, options: Options) -> None:
    while not cursor.done and not cursor.at(";"):
        if cursor.accept("PARTITION", "BY"):
            options.history_partitions = cursor.at("SYSTEM_TIME")
            cursor.skip_to(";", "SELECT", "AS", "IGNORE", "REPLACE")
        elif cursor.at_any("SELECT", "AS", "IGNORE", "REPLACE", "TABLE", "VALUES", "("):
            raise cursor.error("the columns come from a query; binlog_format=ROW logs them written out")
        elif not cursor.accept(",") and not read_table_option(cursor, options):
            raise cursor.error("expected a table option")


def _build(cursor: Cursor, table_id: TableId, elements: TableElements, options: Options, inherited: Collation) -> Table:
    collation = options.settle(inherited, cursor.charsets, cursor.session)
    if not cursor.session.explicit_defaults_for_timestamp:
        apply_timestamp_defaults(elements.columns)
    columns = [resolved(column, position, collation, cursor) for position, column in enumerate(elements.columns, 1)]
    table = Table(
        *table_id,
        columns=tuple(columns),
        charset=collation.charset,
        collation=collation.name,
        comment=options.comment or None,
        period=elements.period,
        system_versioned=options.system_versioned or any(column.versioned for column in elements.columns),
        history_partitions=options.history_partitions,
    )
    return with_keys(table, Indexes(), elements.keys, cursor)


def with_keys(table: Table, indexes: Indexes, added: Iterable[Key], cursor: Cursor) -> Table:
    """Return the table with these keys, and with NOT NULL on the columns that need it.

    Args:
        table: its columns and period are those to be; its keys are replaced.
        indexes: the keys that it has already.
        added: further ones.
        cursor: of the statement.

    Raises:
        DdlError: a key or the period names a column that the table does not have.
    """
    spelled = {column.name.lower(): column.name for column in table.columns}

    def spell(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name if name == EXPRESSION else _known(name, spelled, cursor) for name in names)

    period = table.period and Period(table.period.name, *spell(table.period[1:]))
    for key in added:
        over = (period.end, period.start) if period and key.over_period else ()
        indexes.add(replace(key, columns=(*spell(key.columns), *over)))
    required = {*indexes.primary_key, *(period[1:] if period else ())}
    return replace(
        table,
        columns=tuple(_required(column) if column.name in required else column for column in table.columns),
        primary_key=indexes.primary_key,
        indexes=indexes.to_tuple(),
        period=period,
    )


def _known(name: str, spelled: dict[str, str], cursor: Cursor) -> str:
    if name.lower() not in spelled:
        raise cursor.error(f"a key names the column {name!r}, which the table does not have")
    return spelled[name.lower()]


def _required(column: Column) -> Column:
    if not column.optional:
        return column
    return replace(column, optional=False, has_default=column.default is not None)
