"""Tables whose definitions change between a snapshot's point, which notes them, and the reading of their rows.

The log is followed from the point, where the old definitions are in force. Rows that no longer fit these cannot stand
there: what is left of such a table is read behind the snapshot, at a new point, and with it what was read of it before.
Where nothing comes behind it, the snapshot begins anew. A table that is gone is left out, since the log tells of its
end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import pymysql
from pymysql.constants import ER

from cdckit import RetriableSourceError, SnapshotDueError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import DdlError, DdlReader, load_each, load_table
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection, place
from cdckit_mysql.server.facts import Dialect, query, quoted
from cdckit_mysql.server.stored_tables import stored_names
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.table import Column, Table, TableId, Tables

log = logging.getLogger("cdckit.mysql")

_GONE = "is gone"
OWN_QUERY = "(a query of your own needs a new checkpoint and a new state for that)"
"""What a runner does by itself where a snapshot begins anew."""

_TOGETHER = 100
"""The server is asked about so many tables at once: one alone takes ten answers, each of these little more than one."""
_FRESH_SECONDS = 10.0
"""How old such an answer may be."""
_CLOCKS = frozenset({"DATETIME", "TIMESTAMP", "TIME"})
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"})
_OF_CHANGE = frozenset({ER.NO_SUCH_TABLE, ER.BAD_FIELD_ERROR, ER.BAD_TABLE_ERROR, ER.TABLE_DEF_CHANGED})


def difference(then: Table, now: Table | None) -> str | None:
    """Why rows of a table cannot be read as `then` says; None where they can."""
    if now is None:
        return _GONE
    found = {column.name: now.column(column.name) for column in then.columns}
    if gone := [name for name, column in found.items() if column is None]:
        return f"has lost {', '.join(gone)}"
    if others := [c.name for c in then.columns if _reads_as(c) != _reads_as(found[c.name])]:
        return f"has another type for {', '.join(others)}"
    return None if _keys(then) == _keys(now) else "has another key"


def shown_otherwise(told: Table | None, now: Table) -> str | None:
    """What is different of a table at the server; None where its rows are the same by what its log has told."""
    if told is None:
        return "is there"
    reason = difference(told, now) or _sorted_otherwise(told, now)
    if reason is None and [c.name for c in told.columns] != [c.name for c in now.columns]:
        return "has other columns, or in another order"
    if reason is None and told.system_versioned != now.system_versioned:
        return "is system-versioned" if now.system_versioned else "is system-versioned no more"
    return reason


def _keys(table: Table) -> tuple[Sequence[str], Sequence[str]]:
    """Its own, and that of its records, which is a unique one where it has none."""
    return table.primary_key, table.key_columns


def _reads_as(column: Column | None) -> tuple[object, ...] | None:
    """What the values of a column depend on."""
    if column is None:
        return None
    return column.type_name, _length(column), column.scale, column.charset, column.optional, column.enum_values


def _sorted_otherwise(then: Table, now: Table | None) -> str | None:
    """Why places between a table's keys are no places any more; None where they are."""
    columns = [(then.column(name), now.column(name) if now is not None else None) for name in then.key_columns]
    collations = [(old.collation, new.collation) for old, new in columns if old is not None and new is not None]
    changed = any(old and new and old != new for old, new in collations)
    return "has a key in another order" if changed else None


def _length(column: Column) -> int | None:
    """A length that values depend on; the server leaves out others that statements say (`INT(11)`, `TIMESTAMP(0)`)."""
    base = column.base_type
    if base in _CLOCKS:
        return column.length or 0
    shown_only = base in _INTEGERS or base == "YEAR" or (base in ("FLOAT", "DOUBLE") and column.scale is None)
    return None if shown_only else column.length


class NotedTables:
    """Tells of the tables of a snapshot, planned some time ago, whether they can still be read.

    Args:
        connection: asked for the definitions of now.
        config: the source's options.
        filters: what is captured.
        dialect: whose statements they are.
        tables: the definitions at the snapshot's point.
        chosen: those that it reads, in the order in which they are asked about.
        leave: takes the names of tables that are to be read behind the snapshot, for one that has changed; None: none
            can be.
    """

    def __init__(
        self,
        connection: Connection,
        config: MySqlConfig,
        filters: Filters,
        dialect: Dialect,
        tables: Tables,
        chosen: Sequence[ChosenTable],
        leave: Callable[[Sequence[TableId]], None] | None,
    ) -> None:
        self._connection = connection
        self._config = config
        self._filters = filters
        self._leave = leave
        self._reader = DdlReader(dialect.flavor, charsets=dialect.charsets)
        self._tables = tables
        self._places = {table.id: place for place, table in enumerate(chosen)}
        self._names = list(self._places)
        self._ahead: dict[TableId, Table | None] = {}
        self._asked = 0.0

    def has(self, table: ChosenTable) -> bool:
        """Whether a table is there as it was noted; one that is gone is left out, since the log tells of its end.

        Raises:
            SnapshotDueError: it has changed, or may have another name now, and cannot be read behind the snapshot.
        """
        now = self._now(table.id)
        reason = difference(table.table, now) or _sorted_otherwise(table.table, now)
        if reason is None:
            return True
        unknown = self._unknown()
        if reason == _GONE and not unknown:
            log.warning("%s is gone since the snapshot noted it, and is left out: the log tells of its end", table.id)
            return False
        told = ", ".join([f"{table.id} {reason}", *(f"{name} is new" for name in unknown)])
        text = f"{place(self._config)}: {told} since the snapshot noted the definitions"
        if self._leave is None:
            log.warning("%s: it begins anew", text)
            raise SnapshotDueError(f"{text}: it begins anew {OWN_QUERY}")
        self._leave([table.id, *unknown] if now is not None else unknown)
        log.warning("%s: read as a whole behind the snapshot", text)
        return False

    def _now(self, table: TableId) -> Table | None:
        """The table's definition now, or a moment ago: whoever reads its rows looks again."""
        if table not in self._ahead or time.monotonic() - self._asked > _FRESH_SECONDS:
            first = self._places[table]
            try:
                self._ahead = load_each(self._connection, self._names[first : first + _TOGETHER], self._reader)
            except (pymysql.MySQLError, DdlError):  # perhaps of a table that is not come to yet
                return load_table(self._connection, table, self._reader)
            self._asked = time.monotonic()
        return self._ahead.pop(table)

    def _unknown(self) -> list[TableId]:
        names = stored_names(self._connection, self._filters.database)
        return [name for name in names if self._filters.captures(*name) and name not in self._tables]


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
