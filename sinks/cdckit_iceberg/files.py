"""Data files: rows written portion by portion, so that few are held in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.table import Transaction
from pyiceberg.table.update.snapshot import _OverwriteFiles

from cdckit.tables.fitted_rows import fitted
from cdckit_iceberg.sorting import in_order
from cdckit_iceberg.version import arrow_schema_of

if TYPE_CHECKING:
    from arro3.core.types import ArrowStreamExportable

PORTION_BYTES = 128 << 20
"""So many bytes of rows, as Arrow has them, become a file; smaller ones where the table's properties say so."""
SMALL_BYTES = 16 << 20
"""Rows of a file that would be smaller are written together with others."""


class FileWriter:
    """Writes files of one commit.

    Args:
        change: the commit's transaction; files are for the table as it leaves it.
    """

    def __init__(self, change: Transaction) -> None:
        self._metadata = change.table_metadata
        self._io = change._table.io
        self._schema = arrow_schema_of(self._metadata)
        self._id = uuid4()
        self._numbers = count(0)

    def written(self, batches: Iterable[pa.RecordBatch]) -> Iterator[DataFile]:
        """The files of rows, each column of which the table has."""
        for portion in portions(batches, PORTION_BYTES):
            yield from self._files(portion)

    def copied(self, tables: Iterable[pa.Table]) -> Iterator[DataFile]:
        """The files of the rows that are left of others, one each; small ones are put together."""
        small: list[pa.Table] = []
        for table in tables:
            if table.nbytes >= SMALL_BYTES:
                yield from self.written(table.to_batches())
            else:
                small.append(table)
        yield from self.written(batch for table in small for batch in table.to_batches())

    def exchange(self, snapshot: _OverwriteFiles, gone: Sequence[DataFile], files: Iterable[DataFile]) -> None:
        """Puts files in the place of others."""
        snapshot.delete_by_predicate(AlwaysTrue())  # else files of tables without partitions are not looked for
        for file in gone:
            snapshot.delete_data_file(file)
        for file in files:
            snapshot.append_data_file(file)

    def _files(self, portion: Sequence[pa.RecordBatch]) -> Iterator[DataFile]:
        rows = [pa.record_batch(fitted(batch, self._schema, {}, frozenset())) for batch in portion]
        table = in_order(pa.Table.from_batches(rows, self._schema), self._metadata)
        yield from _dataframe_to_data_files(self._metadata, table, self._io, self._id, self._numbers)


def batches_of(rows: ArrowStreamExportable) -> Iterable[pa.RecordBatch]:
    """Rows of a table, or those that are read one after the other."""
    found: Iterable[pa.RecordBatch] = pa.RecordBatchReader.from_stream(rows)
    return found


def portions(batches: Iterable[pa.RecordBatch], largest: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches together, up to some bytes; none that are empty."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        gathered.append(batch)
        size += batch.nbytes
        if size >= largest:
            yield gathered
            gathered, size = [], 0
    if gathered:
        yield gathered
