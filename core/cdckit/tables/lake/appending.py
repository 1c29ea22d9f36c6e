"""Adds a batch's rows to a changelog, in one commit: files that workers have written as they are, where they fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from arro3.core import RecordBatch, Schema, Table

from cdckit.tables.definitions import Fitting
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.lake.data_files import DataFile, DataFiles, FiledRows
from cdckit.tables.lake.rows import Part, TableRows
from cdckit.tables.lake.target import LakeTarget
from cdckit.tables.target import BatchId, Columns

_GROUP_BYTES = 32 << 20
"""So many bytes of rows, in memory, are put into a file together."""


def append(target: LakeTarget, rows: TableRows, columns: Columns, fitting: Fitting, batch: BatchId) -> None:
    """Adds rows.

    Args:
        target: the table.
        rows: all that a batch has for it.
        columns: the table's.
        fitting: puts rows of other definitions into these.
        batch: the number that the commit carries.
    """
    ready, others = _parted(rows.parts, columns, fitting) if target.takes_files else ([], rows.parts)
    if not ready:
        _append_all(target, rows, columns, fitting, batch)
        return
    files = [one.file for one in ready]
    if others:
        rest = replace(rows, parts=others)
        files.append(_filed(target.files, arrow_schema(columns), rest.typed(columns, fitting)))
    for one in ready:
        one.offered = True
    target.append_files(files, batch)


def _parted(parts: Sequence[Part], columns: Columns, fitting: Fitting) -> tuple[list[FiledRows], list[Part]]:
    """The files whose columns are the table's, or some of them, the others being null; and all other rows."""
    ready: list[FiledRows] = []
    others: list[Part] = []
    for part in parts:
        if isinstance(part.batches, FiledRows) and _fits(part, columns, fitting):
            ready.append(part.batches)
        else:
            others.append(part)
    return ready, others


def _fits(part: Part, columns: Columns, fitting: Fitting) -> bool:
    place, layout = part.position, part.layout
    if fitting.moved(place, layout) or fitting.missing(place, layout):
        return False
    return all(columns.get(name) == kind for name, kind in layout.columns)


def _append_all(target: LakeTarget, rows: TableRows, columns: Columns, fitting: Fitting, batch: BatchId) -> None:
    schema, batches = arrow_schema(columns), rows.typed(columns, fitting)
    for part in rows.parts:
        if isinstance(part.batches, FiledRows):
            part.batches.fetch()  # what writes the table is not to be asked for a file meanwhile
    if rows.spilled or target.puts_files:
        target.append_batches(schema, batches, batch)
    else:
        target.append(Table.from_batches(list(batches), schema=schema), batch)


def _filed(files: DataFiles, schema: Schema, batches: Iterable[RecordBatch]) -> DataFile:
    """Rows in a file of their own."""
    import pyarrow as pa  # noqa: PLC0415 - only Spark's driver comes here

    writer = files.writer(pa.schema(schema))
    try:
        for rows in _together(schema, batches):
            writer.write(pa.table(rows))
        return writer.close()
    except BaseException:
        writer.drop()
        raise


def _together(schema: Schema, batches: Iterable[RecordBatch]) -> Iterator[Table]:
    gathered: list[RecordBatch] = []
    for batch in batches:
        gathered.append(batch)
        if sum(one.nbytes for one in gathered) >= _GROUP_BYTES:
            yield Table.from_batches(gathered, schema=schema)
            gathered = []
    if gathered:
        yield Table.from_batches(gathered, schema=schema)
