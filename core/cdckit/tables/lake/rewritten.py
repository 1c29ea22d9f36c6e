"""The rows of a table whose columns become others, where its files are written anew."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.tables.arrow_compute import cast_as, pyarrow_type, value_of
from cdckit.tables.lake.arrow_types import arrow_type
from cdckit.tables.lake.rewriting import Made, Rewriting

_TWO_64 = Decimal(1 << 64)


def rewritten_schema(made: Rewriting, before: pa.Schema) -> pa.Schema:
    """The new table's columns, with the comments that the old one's have."""
    return pa.schema([_field(name, one, before) for name, one in made.made.items()])


def _field(name: str, made: Made, before: pa.Schema) -> pa.Field:
    metadata = before.field(made.source).metadata if made.source is not None else None
    return pa.field(name, pyarrow_type(arrow_type(made.kind)), metadata=metadata)


def rewritten(made: Rewriting, rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of the old table as rows of the new one."""
    arrays = [_values(rows, made.made[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _values(rows: pa.RecordBatch, made: Made, kind: pa.DataType) -> pa.Array:
    if made.source is None:
        count = rows.num_rows
        return pa.nulls(count, kind) if made.text is None else pa.repeat(value_of(made.text, kind), count)
    values = rows.column(made.source)
    if made.unsigned:
        signed, beyond = values.cast(pa.decimal128(20, 0)), pa.scalar(_TWO_64, pa.decimal128(20, 0))
        values = pc.if_else(pc.less(values, 0), pc.add(signed, beyond), signed)
    return cast_as(values, kind, tolerant=True)
