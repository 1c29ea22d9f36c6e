"""Which tables a snapshot reads, in which order, and with which statements."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from cdckit.connector.chosen_by_plugin import query_by_plugin
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query, quoted
from cdckit_mysql.table import Table, TableId, Tables

_STORED = (
    "SELECT TABLE_NAME, ENGINE, TABLE_ROWS FROM information_schema.TABLES "
    "WHERE TABLE_SCHEMA = %s AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"
)


@dataclass(frozen=True, slots=True)
class ChosenTable:
    """A table to read.

    Attributes:
        table: its definition.
        estimate: about how many rows it has.
        statement: what gives its rows instead of the table itself, or None.
    """

    table: Table
    estimate: int
    statement: str | None

    @property
    def id(self) -> TableId:
        """The table's name."""
        return self.table.id

    @property
    def source(self) -> str:
        """What stands behind FROM."""
        if self.statement is None:
            return quoted(*self.table.id)
        return f"({self.statement.rstrip().rstrip(';')}) AS chosen_rows"


def select(table: ChosenTable, version: TableVersion, condition: str = "") -> str:
    """The statement that gives the shown columns, in order, of the rows that meet the condition."""
    columns = ", ".join(quoted(column.name) for column, _ in version.shown)
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {columns} FROM {table.source}{where}"  # noqa: S608 - of quoted names and the user's own SQL


def choose_tables(
    connection: Connection, tables: Tables, config: MySqlConfig, filters: Filters, only: Collection[str] | None = None
) -> Sequence[ChosenTable]:
    """The captured tables that the snapshot reads, in the order of the include list, or by size.

    Args:
        connection: asked about their sizes.
        tables: the definitions.
        config: the source's options.
        filters: what is captured.
        only: the names of those that were asked for; None: as the options say.
    """
    estimates = {stored.id: stored.rows for stored in stored_tables(connection, filters)}
    chosen = [
        chosen_table(table, config, filters, estimates.get(table.id, 0))
        for table in tables
        if filters.captures(*table.id)
        and (filters.snapshot(table.id) if only is None else str(table.id) in only)
        and not table.sequence
    ]
    chosen.sort(key=lambda each: (filters.rank(each.id), each.id))
    order = config.snapshot_tables_order_by_row_count
    if order != "disabled":
        chosen.sort(key=lambda each: each.estimate, reverse=order == "descending")
    return chosen


def chosen_table(table: Table, config: MySqlConfig, filters: Filters, estimate: int) -> ChosenTable:
    """A table with what its rows are selected from."""
    return ChosenTable(table, estimate, config.statement_for(str(table.id)) or _by_plugin(table, config, filters))


def _by_plugin(table: Table, config: MySqlConfig, filters: Filters) -> str | None:
    if config.snapshot_query_mode != "custom":
        return None
    chooser = query_by_plugin(config.snapshot_query_mode_custom_name)
    assert chooser is not None  # the options' model has asked
    columns = [column.name for column in table.columns if filters.column(table.id, column.name)]
    return chooser.select(str(table.id), columns)


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A captured table as the server stores it.

    Attributes:
        id: its name.
        engine: its storage engine.
        rows: about how many rows it has.
    """

    id: TableId
    engine: str
    rows: int


def stored_tables(connection: Connection, filters: Filters) -> Iterator[StoredTable]:
    """The captured tables. Each database is asked for alone: older servers open every table that they tell of."""
    for (database,) in query(connection, "SHOW DATABASES"):
        if not filters.database(database):
            continue
        for name, engine, rows in query(connection, _STORED, (database,)):
            if filters.captures(database, name):
                yield StoredTable(TableId(database, name), engine or "", rows or 0)
