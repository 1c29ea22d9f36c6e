"""Tables whose definitions change between a snapshot's point, which notes them, and the reading of their rows.

The log is followed from the point, where the old definitions are in force. Rows that no longer fit these cannot stand
there: the snapshot then begins anew, at a new point. A table that is gone is left out, since the log tells of its end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pymysql
from pymysql.constants import ER

from cdckit import RetriableSourceError, SnapshotDueError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import DdlReader, load_table, read_definitions
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection, place
from cdckit_mysql.server.facts import Dialect, query, quoted
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.table import Column, Table, Tables

log = logging.getLogger("cdckit.mysql")

_CLOCKS = frozenset({"DATETIME", "TIMESTAMP", "TIME"})
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"})
_OF_CHANGE = frozenset({ER.NO_SUCH_TABLE, ER.BAD_FIELD_ERROR, ER.BAD_TABLE_ERROR, ER.TABLE_DEF_CHANGED})


def difference(then: Table, now: Table | None) -> str | None:
    """Why rows of a table cannot be read as `then` says; None where they can."""
    if now is None:
        return "is gone"
    found = {column.name: now.column(column.name) for column in then.columns}
    if gone := [name for name, column in found.items() if column is None]:
        return f"has lost {', '.join(gone)}"
    if others := [c.name for c in then.columns if _reads_as(c) != _reads_as(found[c.name])]:
        return f"has another type for {', '.join(others)}"
    return None if then.primary_key == now.primary_key else "has another key"


def _reads_as(column: Column | None) -> tuple[object, ...] | None:
    """What the values of a column depend on."""
    if column is None:
        return None
    return column.type_name, _length(column), column.scale, column.charset, column.optional, column.enum_values


def _length(column: Column) -> int | None:
    """A length that values depend on; the server leaves out others that statements say (`INT(11)`, `TIMESTAMP(0)`)."""
    base = column.base_type
    if base in _CLOCKS:
        return column.length or 0
    shown_only = base in _INTEGERS or base == "YEAR" or (base in ("FLOAT", "DOUBLE") and column.scale is None)
    return None if shown_only else column.length


def left_of(
    connection: Connection, config: MySqlConfig, filters: Filters, dialect: Dialect, tables: Tables,
    chosen: Sequence[ChosenTable],
) -> list[ChosenTable]:  # fmt: skip
    """The tables of a snapshot, planned some time ago, that can still be read.

    Args:
        connection: asked for the definitions of now.
        config: the source's options.
        filters: what is captured.
        dialect: whose statements they are.
        tables: the definitions at the snapshot's point.
        chosen: what it was to read.

    Raises:
        SnapshotDueError: one of them has changed, or may have another name now.
    """
    now = read_definitions(connection, filters.captures).tables(dialect.flavor)
    why = {table.id: reason for table in chosen if (reason := difference(table.table, now.get(*table.id)))}
    gone = {table_id for table_id in why if table_id not in now}
    unknown = [str(table.id) for table in now if filters.captures(*table.id) and table.id not in tables]
    if len(why) > len(gone) or (gone and unknown):
        told = [f"{table_id} {reason}" for table_id, reason in why.items()]
        told += [f"{table} is new" for table in unknown]
        text = f"{place(config)}: {', '.join(told)} since the snapshot noted the definitions: it begins anew"
        log.warning("%s", text)
        raise SnapshotDueError(f"{text} (a query of your own needs a new checkpoint and a new state for that)")
    for table_id in gone:
        log.warning("%s is gone since the snapshot noted it, and is left out: the log tells of its end", table_id)
    return [table for table in chosen if table.id not in gone]


@contextmanager
def as_noted(connection: Connection, config: MySqlConfig, dialect: Dialect, table: Table) -> Iterator[None]:
    """Holds a table's definition as the snapshot has noted it, while its rows are read.

    Raises:
        RetriableSourceError: it is another one by now.
    """
    with change_told(config, str(table.id)):
        query(connection, "START TRANSACTION")
        query(connection, f"SELECT 1 FROM {quoted(*table.id)} LIMIT 0")  # noqa: S608 - from here on it is held
        reason = difference(
            table, load_table(connection, table.id, DdlReader(dialect.flavor, charsets=dialect.charsets))
        )
        if reason is not None:
            raise RetriableSourceError(
                f"{place(config)}: {table.id} {reason} since the snapshot noted it", number="CDC3504"
            )
        yield
    with suppress(pymysql.MySQLError, OSError):
        query(connection, "COMMIT")


@contextmanager
def change_told(config: MySqlConfig, what: str) -> Iterator[None]:
    """Takes the server's errors about what is not there for what they mean here.

    Raises:
        RetriableSourceError: a definition is another one by now; the snapshot is to be planned again.
    """
    try:
        yield
    except pymysql.MySQLError as error:
        if error.args and error.args[0] in _OF_CHANGE:
            reason = f"{place(config)}: {what} has changed since the snapshot noted it ({error.args[-1]})"
            raise RetriableSourceError(reason) from error
        raise
