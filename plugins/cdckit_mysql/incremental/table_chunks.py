"""Reads chunks of tables in the order of their keys."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import pymysql
from pymysql.constants import ER

from cdckit.connector.incremental import Chunk, Chunks, KeyOrder, NotYetError, UnreadableError, Wanted
from cdckit.connector.table_events import Row
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import load_table
from cdckit_mysql.events.versions import TableVersion, TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.conditions import Askable, checked_condition, checked_statement, is_statement
from cdckit_mysql.incremental.key_order import SqlKey, key_order, ordered_as, selected, sql_key
from cdckit_mysql.incremental.limits import conditioned
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.rows import open_rows
from cdckit_mysql.server.connection import Connection, driver_errors
from cdckit_mysql.server.facts import query, quoted
from cdckit_mysql.snapshot.selection import ChosenTable, select
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.table import Column, Table, TableId

log = logging.getLogger("cdckit.mysql")

_NEXT_ROW = re.compile(r" AUTO_INCREMENT=\d+")
_WIDTHS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR"})
"""Types whose length says only how they are shown."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a table is read.

    Attributes:
        version: its definition and what makes its records.
        columns: those that it is read in the order of, and what that depends on.
        order: the order of its rows.
        selected: what gives the values of its key.
        places: where the values that tell rows apart stand in a row.
    """

    version: TableVersion
    columns: tuple[str, ...]
    order: KeyOrder
    selected: str
    places: tuple[int, ...]

    def identity(self, row: Row) -> Hashable:
        """What tells a row from the table's others, in a chunk as in the log."""
        return tuple(row[place] for place in self.places)


class TableChunks(Chunks[Row]):
    """Reads the captured tables, with the definitions in force where the log is read.

    Args:
        config: the source's options.
        filters: what is captured.
        versions: what makes records of rows.
        definitions: the definitions where the log is read.
        server: gives a connection that is open, its session in UTC.
        log_end: where the log ends now.
        reached: whether the log has been read up to there.
        begin: begins the transaction that reads a chunk; false where it would not see all that the log has told.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        versions: TableVersions,
        definitions: Definitions,
        server: Callable[[], Connection],
        log_end: Callable[[], LogOffset],
        reached: Callable[[LogOffset], bool],
        begin: Callable[[Connection], bool],
    ) -> None:
        self._config = config
        self._filters = filters
        self._versions = versions
        self._definitions = definitions
        self._server = server
        self._log_end = log_end
        self._reached = reached
        self._begin = begin
        self._current: dict[TableId, tuple[str | None, Table]] = {}
        self._behind = False
        if config.signal_conditions == "free":
            log.warning(
                "signal.conditions=free: whoever may write signals can read whatever '%s' may, and hold the log up",
                config.database_user,
            )

    def captured(self) -> Sequence[str]:
        """The tables, by name."""
        tables = self._definitions.tables
        return sorted(str(table.id) for table in tables if self._filters.captures(*table.id) and not table.sequence)

    def wanted(self, name: str, condition: object, surrogate_key: str | None, *, blocking: bool) -> Wanted:
        """A table, and a condition in SQL that the server understands; a blocking snapshot also takes a SELECT."""
        table = self._table(name)
        if surrogate_key and (table is None or table.column(surrogate_key) is None):
            raise ValueError(f"surrogate-key: {name} has no column '{surrogate_key}'")
        text = str(condition or "")
        if table is None or not text:
            return Wanted(name, text, surrogate_key)
        whole = blocking and is_statement(text)
        if self._config.signal_conditions == "safe":
            text = self._written_anew(text, table, whole=whole)
        self._check(table, text, whole=whole)
        return Wanted(name, text, surrogate_key)

    def _written_anew(self, text: str, table: Table, *, whole: bool) -> str:
        shown = [column.name for column, _ in self._versions.of(table).shown if not self._is_masked(table, column.name)]
        hidden = [column.name for column in table.columns if column.name not in shown]
        askable = Askable(table.id, shown, hidden)
        try:
            return checked_statement(text, askable) if whole else checked_condition(text, askable)
        except ValueError as error:
            raise ValueError(
                f"additional-conditions: the filter of {table.id} is refused: {error}; signal.conditions=free takes "
                "whatever the server does"
            ) from error

    def _check(self, table: Table, text: str, *, whole: bool) -> None:
        """Has the server look at the statement, which gives no rows."""
        version = self._versions.of(table)
        chosen = ChosenTable(table, 0, text if whole else None)
        statement = f"{select(chosen, version, '' if whole else f'({text})')} LIMIT 0"
        connection = self._server()
        with driver_errors(self._config, f"reading {table.id}"):
            try:
                with self._conditioned(connection, str(table.id)):
                    query(connection, statement)
            except UnreadableError as error:
                raise ValueError(f"additional-conditions: {error}") from error

    def _conditioned(self, connection: Connection, name: str) -> AbstractContextManager[None]:
        return conditioned(connection, self._config, name, mariadb=self._definitions.mariadb)

    def _reading(self, connection: Connection, wanted: Wanted) -> AbstractContextManager[None]:
        return self._conditioned(connection, wanted.name) if wanted.filter else nullcontext()

    def ready(self, wanted: Wanted) -> bool:
        """Whether the server's definition is the one that the log has told of so far; asked once it was not."""
        table = self._table(wanted.name)
        if table is None or not self._behind:
            return True
        end = self._log_end()
        with driver_errors(self._config, f"reading the definition of {table.id}"):
            if self._is_current(self._server(), table):
                self._behind = False
                return True
        if self._reached(end):
            raise UnreadableError(
                "its definition at the server is not the one that the log tells of; the signal schema-changes, or "
                "`cdc resnapshot`, takes it over",
                "UNKNOWN_SCHEMA",
            )
        return False

    def _is_current(self, connection: Connection, table: Table) -> bool:
        """Whether the server's definition is the tracked one. Its own statement is read anew when it has changed."""
        statement = _statement(connection, table.id)
        known = self._current.get(table.id)
        if known is not None and known[0] == statement and known[1] is table:
            return True
        found = load_table(connection, table.id, self._definitions.reader)
        if found is None or _shape(found) != _shape(table):
            return False
        self._current[table.id] = (statement, table)
        return True

    def key_columns(self, wanted: Wanted) -> Sequence[str]:
        """Those of the key that the log has told of so far, or the surrogate key."""
        return self._plan(wanted).columns

    def last(self, wanted: Wanted) -> SqlKey | None:
        """The greatest key now, while no definition can change."""
        plan, connection = self._plan(wanted), self._server()
        statement = (
            f"SELECT {plan.selected} FROM {rows_from(plan.version.table.id, wanted.filter)} "  # noqa: S608
            f"ORDER BY {plan.order.descending} LIMIT 1"
        )
        with driver_errors(self._config, f"reading the last key of {wanted.name}"):
            try:
                query(connection, "START TRANSACTION")
                if not self._holds(connection, plan.version.table):
                    raise NotYetError
                with self._reading(connection, wanted):
                    found = query(connection, statement)
                return sql_key(connection, found[0]) if found else None
            finally:
                if connection.open:
                    query(connection, "COMMIT")

    def read(self, wanted: Wanted, after: SqlKey | None, last: SqlKey) -> Chunk[Row] | None:
        """The next rows, while no definition can change."""
        plan, connection = self._plan(wanted), self._server()
        with driver_errors(self._config, f"reading a chunk of {wanted.name}"):
            try:
                if not self._begin(connection):
                    return None
                if not self._holds(connection, plan.version.table):
                    return None
                with self._reading(connection, wanted):
                    return self._rows(connection, plan, wanted, after, last)
            finally:
                if connection.open:
                    query(connection, "COMMIT")

    def _holds(self, connection: Connection, table: Table) -> bool:
        """Locks a table's definition for the transaction; false where the log has not told of it yet."""
        try:
            query(connection, f"SELECT 1 FROM {quoted(*table.id)} LIMIT 0")  # noqa: S608
        except pymysql.ProgrammingError as error:
            if error.args[0] != ER.NO_SUCH_TABLE:
                raise
            self._behind = True
            return False
        if not self._is_current(connection, table):
            self._behind = True
            return False
        return True

    def _rows(
        self, connection: Connection, plan: _Plan, wanted: Wanted, after: SqlKey | None, last: SqlKey
    ) -> Chunk[Row]:
        source = rows_from(plan.version.table.id, wanted.filter)
        size = self._config.incremental_snapshot_chunk_size
        found = query(
            connection,
            f"SELECT {plan.selected} FROM {source} AND {plan.order.between(after, last)} "  # noqa: S608
            f"ORDER BY {plan.order.columns} LIMIT 1 OFFSET {size - 1}",
        )
        bound = sql_key(connection, found[0]) if found else last
        columns = ", ".join(quoted(column.name) for column, _ in plan.version.shown)
        statement = (
            f"SELECT {columns} FROM {source} AND {plan.order.between(after, bound)} "  # noqa: S608
            f"ORDER BY {plan.order.columns}"
        )
        with open_rows(connection, statement, [value for _, value in plan.version.shown]) as chunks:
            return Chunk({plan.identity(row): row for rows in chunks for row in rows}, bound)

    def text(self, key: SqlKey) -> str:
        """The values with commas between."""
        return ",".join(literal.strip("'") for literal in key)

    def identities(self, wanted: Wanted, rows: Sequence[Row]) -> list[Hashable]:
        """What tells rows of the log from others of their table."""
        plan = self._plan(wanted)
        return [plan.identity(row) for row in rows]

    def version(self, name: str) -> TableVersion | None:
        """What makes the records of a table's rows; None where it is gone."""
        table = self._table(name)
        return None if table is None else self._versions.of(table)

    def _table(self, name: str) -> Table | None:
        return self._definitions.tables.get(*TableId(*name.split(".", 1)))

    def _plan(self, wanted: Wanted) -> _Plan:
        version = self.version(wanted.name)
        if version is None:
            raise UnreadableError("the schema history does not know it", "UNKNOWN_SCHEMA")
        order = [wanted.surrogate_key] if wanted.surrogate_key else version.table.key_columns
        columns = [column for name in order if (column := version.table.column(name)) is not None]
        if not columns:
            raise UnreadableError("it has no key; name a unique column as surrogate-key", "NO_PRIMARY_KEY")
        shown = [column.name for column, _ in version.shown]
        names = version.table.key_columns or tuple(column.name for column in columns)
        hidden = [name for name in names if name not in shown or self._is_masked(version.table, name)]
        if hidden:
            raise UnreadableError(
                f"its events do not show column {hidden[0]} as it is, which tells its rows apart "
                "(column.exclude.list, column.mask.*, column.truncate.*)",
                "NO_PRIMARY_KEY",
            )
        ordered = tuple(map(ordered_as, columns))
        places = tuple(shown.index(name) for name in names)
        return _Plan(version, ordered, key_order(columns), selected(columns), places)

    def _is_masked(self, table: Table, name: str) -> bool:
        """Whether rows hold a column cut or masked; those of the records' key they hold whole."""
        column = table.column(name)
        masked = column is not None and self._filters.mapping(table.id, column) is not None
        return masked and name not in self._filters.key_columns(table)


def _statement(connection: Connection, table: TableId) -> str | None:
    """What makes the table, but for the number that the next row gets."""
    try:
        [row] = query(connection, f"SHOW CREATE TABLE {quoted(*table)}")
    except pymysql.ProgrammingError as error:
        if error.args[0] != ER.NO_SUCH_TABLE:
            raise
        return None
    return _NEXT_ROW.sub("", row[1])


def rows_from(table: TableId, condition: str) -> str:
    """What stands behind FROM; more conditions may follow with AND."""
    return f"{quoted(*table)} WHERE ({condition or '1 = 1'})"


def _shape(table: Table) -> list[tuple[object, ...]]:
    """What rows are read by; servers say display widths, and what is so by itself, where a statement does not."""
    return [(column.name.lower(), *_type(column), column.scale, column.enum_values) for column in table.columns]


def _type(column: Column) -> tuple[str, int]:
    name = column.type_name.replace("GEOMETRYCOLLECTION", "GEOMCOLLECTION")
    return name, 0 if column.base_type in _WIDTHS else column.length or 0
