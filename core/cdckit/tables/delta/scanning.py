"""Rows of Delta tables, by DataFusion, as pyarrow has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from cdckit.tables.delta.sql import quoted


def schema_of(table: DeltaTable) -> pa.Schema:
    """The columns of a table."""
    return pa.schema(table.schema())


def scan(table: DeltaTable, names: Iterable[str], where: str) -> Iterator[pa.RecordBatch]:
    """Some columns of the rows for which a condition holds; Arrow's reader would not see mapped columns."""
    schema = schema_of(table)
    wanted = pa.schema([schema.field(name) for name in dict.fromkeys(names)])
    columns = ", ".join(map(quoted, wanted.names))
    query = QueryBuilder().register("t", table).execute(f"select {columns} from t where {where}")  # noqa: S608
    for batch in pa.RecordBatchReader.from_stream(query):
        arrays = [array.cast(field.type) for array, field in zip(batch.columns, wanted, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=wanted)
