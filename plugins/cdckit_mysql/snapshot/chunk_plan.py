"""Cuts tables into chunks that may be read at the same time: ranges of the first column of a table's key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query, quoted
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.table import Column, Table

CHUNK_ROWS = 50_000
"""A table with fewer rows is not cut; a chunk that is read in its turn has no more …"""
CHUNK_BYTES = 16 << 20
"""… nor more than about so many bytes of its table."""
CHUNKS_AT_A_TIME = 8
"""Where the rows of a batch are told, it has so many chunks at least."""
UNKNOWN_ROW_BYTES = 200
"""What a row is taken for where the server does not tell."""
MOST_EXPECTED = 40_000
"""A snapshot that would have more chunks has larger ones: that is half of the numbers that there are for them."""

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"})
_SORTABLE = frozenset({"CHAR", "VARCHAR", "BINARY", "VARBINARY", "DATE", "DATETIME"})


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table.

    Attributes:
        table: the definition that it is read with.
        condition: which rows, in SQL; empty: all.
        estimate: about how many they are.
        number: its place among all chunks of the snapshot.
        part: its place among those of its table.
        of: how many chunks its table has, where it is the last of them, else 0: that is not known before.
        first: whether it is the table's first chunk.
        last: whether it is the table's last.
        begins: whether it is the snapshot's first.
        ends: whether it is the snapshot's last.
    """

    table: Table
    condition: str
    estimate: int
    number: int
    part: int
    of: int
    first: bool
    last: bool
    begins: bool = False
    ends: bool = False


Size = Callable[[ChosenTable], int | None]
"""About how many rows a chunk of a table has; None: it is not cut."""


def shared_out(chosen: Sequence[ChosenTable], parallelism: int) -> Size:
    """Of chunks that are all read at once, by so many readers."""

    def size(table: ChosenTable) -> int | None:
        return max(CHUNK_ROWS, -(-table.estimate // parallelism))

    return (lambda _: None) if parallelism < 2 or not chosen else size


def read_in_turn(chosen: Sequence[ChosenTable], batch_rows: int) -> Size:
    """Of chunks of which some are read at a time.

    Args:
        chosen: all tables of the snapshot: they get no more chunks than positions can number.
        batch_rows: how many rows are read at a time; 0: that is told in bytes.
    """

    def least(table: ChosenTable) -> int:
        rows = min(CHUNK_ROWS, max(1, CHUNK_BYTES // bytes_of_row(table)))
        return min(rows, -(-batch_rows // CHUNKS_AT_A_TIME)) if batch_rows else rows

    times = 1 + sum(table.estimate // least(table) for table in chosen) // MOST_EXPECTED
    return lambda table: least(table) * times


def bytes_of_row(table: ChosenTable) -> int:
    """About how many bytes a row takes."""
    return table.row_bytes or UNKNOWN_ROW_BYTES


def cut(connection: Connection, table: ChosenTable, parts: int) -> list[str]:
    """The conditions that divide a table into up to `parts` parts; one that is empty where it is not divided."""
    wanted = min(parts, table.estimate // CHUNK_ROWS)
    column = leading_key_column(table.table)
    if wanted < 2 or column is None or table.statement is not None:
        return [""]
    bounds = list(_bounds(connection, table, column, wanted))
    name = quoted(column.name)
    texts = [_literal(connection, bound) for bound in bounds]
    if not texts:
        return [""]
    between = [f"{name} > {low} AND {name} <= {high}" for low, high in pairwise(texts)]
    return [f"{name} <= {texts[0]}", *between, f"{name} > {texts[-1]}"]


def leading_key_column(table: Table) -> Column | None:
    """The first column of the primary key, where ranges of it can be told."""
    column = table.column(table.primary_key[0]) if table.primary_key else None
    return column if column is not None and column.base_type in _INTEGERS | _SORTABLE else None


def _bounds(connection: Connection, table: ChosenTable, column: Column, wanted: int) -> Iterator[Any]:
    if column.base_type in _INTEGERS:
        return _even_bounds(connection, table, column, wanted)
    return _counted_bounds(connection, table, column, wanted)


def _even_bounds(connection: Connection, table: ChosenTable, column: Column, wanted: int) -> Iterator[int]:
    """Bounds at even distances: nothing is read but the two ends of the index."""
    name = quoted(column.name)
    [(low, high)] = query(connection, f"SELECT MIN({name}), MAX({name}) FROM {table.source}")  # noqa: S608
    if low is None:
        return
    step = max(1, (high - low) // wanted)
    yield from (bound for bound in (low + step * place for place in range(1, wanted)) if bound < high)


def _counted_bounds(connection: Connection, table: ChosenTable, column: Column, wanted: int) -> Iterator[Any]:
    """Bounds with about as many rows between each: one walk along the index."""
    name, step = quoted(column.name), max(1, table.estimate // wanted)
    after = ""
    for _ in range(wanted - 1):
        found = query(
            connection,
            f"SELECT {name} FROM {table.source} {after} ORDER BY {name} LIMIT 1 OFFSET {step}",  # noqa: S608
        )
        if not found:
            return
        yield found[0][0]
        after = f"WHERE {name} > {_literal(connection, found[0][0])}"


def _literal(connection: Connection, value: Any) -> str:
    """A value as SQL writes it."""
    with connection.cursor() as cursor:
        return cursor.mogrify("%s", (value,))
