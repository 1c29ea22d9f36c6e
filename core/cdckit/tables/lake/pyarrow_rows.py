"""Typed rows as pyarrow has them, for tables that follow their sources: it folds and compares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from arro3.core import Table

from cdckit.tables.definitions import Fitting
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.lake.rows import TableRows


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """The schema of columns by their names and types."""
    return pa.schema(arrow_schema(columns))


def typed_table(rows: TableRows, columns: Mapping[str, str], fitting: Fitting) -> pa.Table:
    """The rows with just these columns, together."""
    return pa.table(Table.from_batches(list(rows.typed(columns, fitting)), schema=arrow_schema(columns)))


def typed_batches(rows: TableRows, columns: Mapping[str, str], fitting: Fitting) -> Iterator[pa.RecordBatch]:
    """The rows with just these columns, some thousand at a time."""
    return map(pa.record_batch, rows.typed(columns, fitting))
