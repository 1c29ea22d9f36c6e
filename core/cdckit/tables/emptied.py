"""Rows of changelogs that tell of a whole source table: that it was emptied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.tables.layout import POSITION

TOLD = ("__op", "__db", "__table")
"""The columns by which it is known what a row empties."""
Place = tuple[str | None, str | None]
"""The source's database and table, as rows tell them."""


def emptied(rows: pa.RecordBatch) -> Iterator[tuple[Place, str]]:
    """The source tables that were emptied, and where."""
    told = rows.filter(pc.equal(pc.fill_null(rows.column("__op"), ""), "t"))
    columns = (told.column(name).to_pylist() for name in ("__db", "__table", POSITION))
    yield from (((database, table), position) for database, table, position in zip(*columns, strict=True))


def is_behind(rows: pa.RecordBatch, emptied: Mapping[Place, str]) -> list[bool]:
    """Of each row, whether its source table was not emptied there or behind it."""
    columns = (rows.column(name).to_pylist() for name in ("__db", "__table", POSITION))
    return [position > emptied.get((database, table), "") for database, table, position in zip(*columns, strict=True)]
