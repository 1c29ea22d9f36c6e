"""Cuts tables into chunks that may be read at the same time: ranges of the first column of a table's key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cdckit import Notices
from cdckit.connector.snapshot_progress import SnapshotProgress
from cdckit_mysql.events.defined_tables import tell_definitions
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query, quoted
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.table import Column, Table

CHUNK_ROWS = 50_000
"""A table with fewer rows is not cut."""

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
        of: how many chunks its table has.
        first: whether it is the table's first chunk.
        last: whether it is the table's last.
        begins: whether it is the snapshot's first.
        ends: whether it is the snapshot's last.
    """

    table: Table
    condition: str
    estimate: int
    number: int
    of: int
    first: bool
    last: bool
    begins: bool = False
    ends: bool = False


def plan_chunks(connection: Connection, chosen: Sequence[ChosenTable], parallelism: int) -> list[Chunk]:
    """The chunks of all tables that have rows, in order."""
    filled = [table for table in chosen if query(connection, f"SELECT 1 FROM {table.source} LIMIT 1")]  # noqa: S608
    chunks: list[Chunk] = []
    for table in filled:
        conditions = cut(connection, table, parallelism)
        for place, condition in enumerate(conditions, 1):
            chunks.append(
                Chunk(
                    table=table.table,
                    condition=condition,
                    estimate=table.estimate // len(conditions),
                    number=len(chunks),
                    of=len(conditions),
                    first=place == 1,
                    last=place == len(conditions),
                    begins=not chunks and table is chosen[0],
                    ends=table is filled[-1] and place == len(conditions),
                )
            )
    return chunks


def tell_of(chosen: Sequence[ChosenTable], chunks: Sequence[Chunk], notices: Notices) -> None:
    """Tells which tables are read; those without a chunk have no row, and are done."""
    notices.snapshot_started({str(table.id): table.estimate for table in chosen})
    tell_definitions((table.table for table in chosen), notices)
    filled = {chunk.table.id for chunk in chunks}
    for table in (table for table in chosen if table.id not in filled):
        SnapshotProgress(notices, str(table.id), 0).finished()


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
