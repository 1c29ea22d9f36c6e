"""Which tables a snapshot reads, in which order, and with which statements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from cdckit.connector.chosen_by_plugin import query_by_plugin
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import quoted
from cdckit_mysql.server.stored_tables import StoredTable, stored_tables
from cdckit_mysql.table import Table, TableId, Tables


@dataclass(frozen=True, slots=True)
class ChosenTable:
    """A table to read.

    Attributes:
        table: its definition.
        estimate: about how many rows it has.
        statement: what gives its rows instead of the table itself, or None.
        row_bytes: about how many bytes a row takes at the server; 0 where that is not known.
    """

    table: Table
    estimate: int
    statement: str | None
    row_bytes: int = 0

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
    known = {stored.id: stored for stored in stored_tables(connection, filters)}
    chosen = [
        _chosen(table, config, filters, known.get(table.id))
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


def _chosen(table: Table, config: MySqlConfig, filters: Filters, stored: StoredTable | None) -> ChosenTable:
    if stored is None:
        return chosen_table(table, config, filters, 0)
    return replace(chosen_table(table, config, filters, stored.rows), row_bytes=stored.row_bytes)


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
