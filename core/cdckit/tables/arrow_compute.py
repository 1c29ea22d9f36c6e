"""What pyarrow is needed for beside arrays that arro3 has made: values as other types, and as texts that were noted.

Whoever imports this loads pyarrow, and NumPy and pandas where they are installed: `load_arrow` goes before.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from arro3.core import Array, DataType, Field, Schema


def pyarrow_type(kind: DataType) -> pa.DataType:
    """A type as pyarrow has it."""
    return pa.schema(Schema([Field("", kind)])).field(0).type


def built(values: Sequence[Any], kind: DataType) -> Array:
    """Values as a column, as pyarrow builds it.

    Raises:
        pyarrow.ArrowInvalid: a value has no place in the type.
    """
    return Array.from_arrow(pa.array(values, pyarrow_type(kind)))


def cast(column: Array, kind: DataType, *, tolerant: bool = False) -> Array:
    """Values as another type; one that is none of it is an error, or null where that is tolerated.

    Raises:
        pyarrow.ArrowInvalid: it is one.
    """
    return Array.from_arrow(cast_as(pa.array(column), pyarrow_type(kind), tolerant=tolerant))


def repeated(text: str, kind: DataType, rows: int) -> Array:
    """The value of a text that was noted, for all rows."""
    return Array.from_arrow(pa.repeat(value_of(text, pyarrow_type(kind)), rows))


def value_of(text: str, kind: pa.DataType) -> pa.Scalar:
    """The value of a column's type that `cdckit.tables.types.text_of` has made a text of."""
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(text), kind)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.scalar(bytes.fromhex(text), kind)
    return pa.scalar(text).cast(kind)


def cast_as(column: pa.Array, kind: pa.DataType, *, tolerant: bool) -> pa.Array:
    """As `cast`, of pyarrow's own arrays."""
    if not tolerant or column.type == kind:
        return column.cast(kind)
    if _is_moment(column.type) != _is_moment(kind) and not {pa.string(), pa.large_string()} & {column.type, kind}:
        return pa.nulls(len(column), kind)  # Arrow would give the days or microseconds that it counts
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.concat_arrays([_cast_one(column.slice(row, 1), kind) for row in range(len(column))])


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind))


def _cast_one(value: pa.Array, kind: pa.DataType) -> pa.Array:
    """A value of another type, or null."""
    try:
        return value.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(1, kind)
