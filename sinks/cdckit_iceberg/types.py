"""Types of columns as Arrow has them, in Iceberg.

https://iceberg.apache.org/spec/#primitive-types
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from cdckit.tables.lake.arrow_types import COMMENT

_PLAIN: dict[pa.DataType, IcebergType] = {
    pa.int8(): IntegerType(),
    pa.int16(): IntegerType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
    pa.bool_(): BooleanType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
    pa.date32(): DateType(),
    pa.timestamp("us"): TimestampType(),
    pa.timestamp("us", tz="UTC"): TimestamptzType(),
}


def iceberg_schema(columns: pa.Schema) -> Schema:
    """The schema of a new table, whose columns are numbered from 1 on, with the comments in their metadata."""
    numbers = count(1)
    fields = [(next(numbers), column) for column in columns]
    return Schema(*(_field(number, column, numbers) for number, column in fields))


def iceberg_type(kind: pa.DataType, numbers: Iterator[int] | None = None) -> IcebergType:
    """The type of a column.

    Args:
        kind: the type that Arrow has it in.
        numbers: of the columns inside it.

    Raises:
        ValueError: Iceberg has none for it.
    """
    numbers = numbers or count(1)
    if pa.types.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_map(kind):
        key, value = next(numbers), next(numbers)
        inner = iceberg_type(kind.key_type, numbers), iceberg_type(kind.item_type, numbers)
        return MapType(key, inner[0], value, inner[1], value_required=False)
    if pa.types.is_struct(kind):
        members = [(next(numbers), member) for member in kind]
        return StructType(*(_field(number, member, numbers) for number, member in members))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ListType(next(numbers), iceberg_type(kind.value_type, numbers), element_required=False)
    if kind in _PLAIN:
        return _PLAIN[kind]
    raise ValueError(f"columns of type {kind} are not written")


def _field(number: int, column: pa.Field, numbers: Iterator[int]) -> NestedField:
    return NestedField(number, column.name, iceberg_type(column.type, numbers), doc=comment_of(column), required=False)


def comment_of(column: pa.Field) -> str | None:
    """What a column's metadata say it is for."""
    text = (column.metadata or {}).get(COMMENT)
    return None if text is None else text.decode()


_ARROW = {iceberg: arrow for arrow, iceberg in _PLAIN.items() if arrow not in (pa.int8(), pa.int16())}


def arrow_columns(fields: Iterable[NestedField]) -> pa.Schema:
    """Columns as Arrow has them."""
    return pa.schema([(field.name, arrow_type(field.field_type)) for field in fields])


def arrow_type(kind: IcebergType) -> pa.DataType:
    """A type as Arrow has it.

    Raises:
        ValueError: no column that is written here has it.
    """
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, MapType):
        return pa.map_(arrow_type(kind.key_type), arrow_type(kind.value_type))
    if isinstance(kind, StructType):
        return pa.struct([(field.name, arrow_type(field.field_type)) for field in kind.fields])
    if isinstance(kind, ListType):
        return pa.list_(pa.field("element", arrow_type(kind.element_type)))
    if kind in _ARROW:
        return _ARROW[kind]
    raise ValueError(f"columns of type {kind} are not written")


_NAMES: dict[IcebergType, str] = {
    IntegerType(): "int",
    LongType(): "bigint",
    FloatType(): "float",
    DoubleType(): "double",
    BooleanType(): "boolean",
    StringType(): "string",
    BinaryType(): "binary",
    DateType(): "date",
    TimestampType(): "timestamp_ntz",
    TimestamptzType(): "timestamp",
}


def type_text(kind: IcebergType) -> str:
    """The text of the kit's layouts that names a type.

    Raises:
        ValueError: no column that is written here has it.
    """
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    if isinstance(kind, MapType):
        return f"map<{type_text(kind.key_type)},{type_text(kind.value_type)}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{member.name}:{type_text(member.field_type)}' for member in kind.fields)}>"
    if isinstance(kind, ListType):
        return f"array<{type_text(kind.element_type)}>"
    if kind in _NAMES:
        return _NAMES[kind]
    raise ValueError(f"columns of type {kind} are not written")


def promotes(before: IcebergType, now: IcebergType) -> bool:
    """Whether a column gets a type without its files being written anew."""
    if before == now or (before, now) in ((IntegerType(), LongType()), (FloatType(), DoubleType())):
        return True
    if isinstance(before, DecimalType) and isinstance(now, DecimalType):
        return before.scale == now.scale and before.precision <= now.precision
    return False
