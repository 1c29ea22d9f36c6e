"""Which tables a snapshot reads, in which order, and with which statements."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection
from cdckit_mysql.events.versions import TableVersion, TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.server import query, quoted
from cdckit_mysql.table import TableId, Tables


@dataclass(frozen=True, slots=True)
class ChosenTable:
    """A table to read.

    Attributes:
        version: its definition and what makes its records.
        estimate: about how many rows it has, or None.
        source: what stands behind FROM: its name, or the user's statement for it.
    """

    version: TableVersion
    estimate: int | None
    source: str

    @property
    def id(self) -> TableId:
        """The table's name."""
        return self.version.table.id

    def select(self, condition: str = "") -> str:
        """The statement that gives the shown columns, in order, of the rows that meet the condition."""
        columns = ", ".join(quoted(column.name) for column, _ in self.version.shown)
        where = f" WHERE {condition}" if condition else ""
        return f"SELECT {columns} FROM {self.source}{where}"  # noqa: S608 - of quoted names and the user's own SQL


def choose_tables(
    connection: Connection, tables: Tables, versions: TableVersions, config: MySqlConfig, filters: Filters
) -> list[ChosenTable]:
    """The captured tables that the snapshot reads, by name unless they are to be ordered by size."""
    wanted = [table for table in tables if filters.captures(*table.id) and filters.snapshot(table.id)]
    estimates = _estimates(connection)
    order = config.snapshot_tables_order_by_row_count
    wanted.sort(key=lambda table: table.id)
    if order != "disabled":
        wanted.sort(key=lambda table: estimates.get(table.id) or 0, reverse=order == "descending")
    return [chosen_table(versions.of(table), config, estimates.get(table.id)) for table in wanted if not table.sequence]


def chosen_table(version: TableVersion, config: MySqlConfig, estimate: int | None) -> ChosenTable:
    """A table with what its rows are selected from."""
    return ChosenTable(version, estimate, _source(config, version.table.id))


def _estimates(connection: Connection) -> dict[TableId, int | None]:
    found = query(connection, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES")
    return {TableId(database, name): rows for database, name, rows in found}


def _source(config: MySqlConfig, table: TableId) -> str:
    statement = config.statement_for(str(table))
    return f"({statement.rstrip().rstrip(';')}) AS chosen_rows" if statement else quoted(*table)
