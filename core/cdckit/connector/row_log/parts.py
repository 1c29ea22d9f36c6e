"""Parts of tables that are read at the same time: ranges of their primary keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

from cdckit.connector.incremental import KeyOrder, for_placeholders
from cdckit.connector.row_log.database import Database, Table
from cdckit.connector.table_events import Row

_WORTH_DIVIDING = 10_000
_PARTS_EACH = 4
"""How many parts a reader gets, so that they end at about the same time."""


@dataclass(frozen=True, slots=True)
class TablePart:
    """Rows of a table as they are.

    Attributes:
        table: its whole name.
        after: the key behind which they begin; None: at the table's beginning.
        last: the key at which they end; None: at the table's end.
        estimate: about how many they are.
        number: tells this part from the table's others.
        of: how many parts the table has.
    """

    table: str
    after: Row | None = None
    last: Row | None = None
    estimate: int = 0
    number: int = 0
    of: int = 1


def key_order(database: Database, table: Table) -> KeyOrder:
    """The order of a table's primary key."""
    nullable = any(table.columns[name].optional for name in table.key)
    return KeyOrder([database.quoted(name) for name in table.key], nullable=nullable)


def divided(database: Database, tables: Collection[Table], readers: int) -> list[TablePart]:
    """The parts of some tables, for so many readers."""
    counts = {table.id: _count(database, table) for table in tables}
    size = max(_WORTH_DIVIDING, sum(counts.values()) // max(1, readers * _PARTS_EACH))
    return [part for table in tables for part in _divided(database, table, counts[table.id], size)]


def _count(database: Database, table: Table) -> int:
    [(rows,)] = database.query(f"SELECT COUNT(*) FROM {database.quoted(table.database, table.name)}")  # noqa: S608
    return int(rows)


def _divided(database: Database, table: Table, rows: int, size: int) -> Iterator[TablePart]:
    inner = list(_bounds(database, table, rows, size)) if table.key else []
    if any(value is None for key in inner for value in key):  # nothing is greater than a NULL
        inner = []
    ranges = list(pairwise([None, *inner, None]))
    for number, (after, last) in enumerate(ranges):
        yield TablePart(table.id, after, last, rows // len(ranges), number, len(ranges))


def _bounds(database: Database, table: Table, rows: int, size: int) -> Iterator[Row]:
    """The keys of the rows at which parts of about that size end, but for the last part."""
    order = key_order(database, table)
    keys = f"SELECT {order.columns} FROM {database.quoted(table.database, table.name)} ORDER BY {order.columns}"  # noqa: S608
    for behind in range(size, rows - size + 1, size):
        yield from map(tuple, database.query(f"{keys} {database.limit(1, behind - 1)}"))


def rows_of(database: Database, table: Table, part: TablePart, most: int) -> Iterator[list[Row]]:
    """The rows of a part, at the most so many at a time."""
    hole = [database.placeholder] * len(table.key)
    if part.after is None and part.last is None:
        return database.portions(table, most)
    where = key_order(database, table).between(part.after and hole, part.last and hole)
    return database.portions(table, most, f"WHERE {where}", *for_placeholders(part.after, part.last))
