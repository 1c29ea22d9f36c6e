"""Kafka Connect's types as columns of Spark tables.

| schema | column |
| --- | --- |
| int8, int16, int32, int64 | tinyint, smallint, int, bigint |
| float32, float64, boolean, string, bytes | float, double, boolean, string, binary |
| BIGINT UNSIGNED, where the source tells, whatever events show it as | decimal(20,0) |
| Decimal | decimal(p,s); string where p is over 38; p is 38 where the schema does not say |
| io.debezium.time.Date, Connect's Date | date |
| io.debezium.time.Timestamp, MicroTimestamp, Connect's Timestamp | timestamp_ntz: a clock's reading without a zone |
| io.debezium.time.ZonedTimestamp | timestamp |
| Time, MicroTime, NanoTime, NanoTimestamp, Year, MicroDuration | the number as it is: Spark has no such type |
| Enum, EnumSet, Json, Xml, Uuid, ZonedTime, Interval | string |
| Bits | binary |
| array, map, struct (geometry, for one) | array, map, struct |
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal
from itertools import chain
from typing import Any

import pyarrow as pa

from cdckit import logical
from cdckit.api.schema import Schema

Values = Sequence[Any]
MAX_PRECISION = 38
_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How the values of one schema become a column.

    Attributes:
        ddl: Spark's name of the type, as `DataType.simpleString` writes it.
        arrow: the type of the Arrow array.
        column: values, None among them, as an array.
        plain: one value inside an array, map or struct, as Arrow takes it.
    """

    ddl: str
    arrow: pa.DataType
    column: Callable[[Values], pa.Array]
    plain: Callable[[Any], Any]


def column_type(schema: Schema) -> ColumnType:
    """The column type of a schema, made once for each schema."""
    made: ColumnType | None = schema.derived.get("tables.column")
    if made is None:
        made = schema.derived["tables.column"] = _make(schema)
    return made


def _make(schema: Schema) -> ColumnType:
    if _unsigned(schema):
        return _UNSIGNED_DECIMAL if schema.type == "bytes" else _UNSIGNED_LONG
    if schema.name == logical.DECIMAL_NAME:
        return _decimal(schema)
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.type in _COMPOUND:
        return _COMPOUND[schema.type](schema)
    return _PRIMITIVE[schema.type]


def _unsigned(schema: Schema) -> bool:
    """Whether a column is BIGINT UNSIGNED: as its source knows, or as the type says that Debezium propagates."""
    if schema.type != "int64" and schema.name != logical.DECIMAL_NAME:
        return False
    propagated = (schema.parameters or {}).get("__debezium.source.column.type", "")
    return (schema.stored is not None and schema.stored.unsigned) or propagated.upper().startswith("BIGINT UNSIGNED")


def _same(value: Any) -> Any:
    return value


def _simple(ddl: str, arrow: pa.DataType) -> ColumnType:
    return ColumnType(ddl, arrow, lambda values: pa.array(values, arrow), _same)


_PRIMITIVE = {
    "int8": _simple("tinyint", pa.int8()),
    "int16": _simple("smallint", pa.int16()),
    "int32": _simple("int", pa.int32()),
    "int64": _simple("bigint", pa.int64()),
    "float32": _simple("float", pa.float32()),
    "float64": _simple("double", pa.float64()),
    "boolean": _simple("boolean", pa.bool_()),
    "string": _simple("string", pa.string()),
    "bytes": _simple("binary", pa.binary()),
}

_NTZ = pa.timestamp("us")
_UTC = pa.timestamp("us", tz="UTC")


def _milliseconds(values: Values) -> pa.Array:
    return pa.array(values, pa.timestamp("ms")).cast(_NTZ)


def _zoned(values: Values) -> pa.Array:
    """ISO 8601 texts, parsed column-wise; finer than microseconds is cut off."""
    try:
        return pa.array(values, pa.string()).cast(_UTC)
    except pa.ArrowInvalid:
        return pa.array([None if text is None else _instant(text) for text in values], _UTC)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


_DATE = ColumnType("date", pa.date32(), lambda values: pa.array(values, pa.int32()).cast(pa.date32()), _same)
_MILLISECONDS = ColumnType("timestamp_ntz", _NTZ, _milliseconds, lambda value: None if value is None else value * 1000)
_MICROSECONDS = _simple("timestamp_ntz", _NTZ)
_ZONED = ColumnType("timestamp", _UTC, _zoned, lambda value: None if value is None else _instant(value))

_LOGICAL = {
    logical.DATE.name: _DATE,
    logical.CONNECT_DATE.name: _DATE,
    logical.TIMESTAMP.name: _MILLISECONDS,
    logical.CONNECT_TIMESTAMP.name: _MILLISECONDS,
    logical.MICRO_TIMESTAMP.name: _MICROSECONDS,
    logical.ZONED_TIMESTAMP.name: _ZONED,
}


def _decimal(schema: Schema) -> ColumnType:
    parameters = schema.parameters or {}
    scale = int(parameters.get("scale", "0"))
    precision = int(parameters.get("connect.decimal.precision", MAX_PRECISION))

    def number(value: bytes | None) -> Decimal | None:
        return None if value is None else Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)

    if precision > MAX_PRECISION:

        def text(value: bytes | None) -> str | None:
            return None if value is None else f"{number(value):f}"

        return ColumnType("string", pa.string(), lambda values: pa.array([text(v) for v in values], pa.string()), text)
    arrow = pa.decimal128(precision, scale)
    return ColumnType(f"decimal({precision},{scale})", arrow, lambda values: _decimals(values, arrow), number)


def _decimals(values: Values, arrow: pa.DataType) -> pa.Array:
    """Arrow's own layout, 16 bytes with the lowest first, from Connect's, which begins with the highest."""
    data = b"".join([_ZEROS if v is None else v[::-1].ljust(16, _ONES if v[0] > 127 else _ZERO)[:16] for v in values])
    valid = None
    if None in values:
        valid = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(arrow, len(values), [valid, pa.py_buffer(data)])


_ZEROS, _ZERO, _ONES = bytes(16), b"\x00", b"\xff"

UNSIGNED = "decimal(20,0)"
"""The type of columns for BIGINT UNSIGNED."""
_UNSIGNED_ARROW = pa.decimal128(20, 0)


def _unsigned_longs(values: Values) -> pa.Array:
    """Arrow's own layout: the two's complement is the lower half, the upper one is zero."""
    data = array("q", chain.from_iterable((value or 0, 0) for value in values))
    valid = None
    if None in values:
        valid = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(_UNSIGNED_ARROW, len(values), [valid, pa.py_buffer(data)])


_UNSIGNED_LONG = ColumnType(
    UNSIGNED, _UNSIGNED_ARROW, _unsigned_longs, lambda value: None if value is None else Decimal(value % (1 << 64))
)
_UNSIGNED_DECIMAL = _decimal(logical.decimal(0, 20))


def _array(schema: Schema) -> ColumnType:
    assert schema.items is not None
    items = column_type(schema.items)

    def plain(value: Any) -> Any:
        return None if value is None else [items.plain(item) for item in value]

    return _compound(f"array<{items.ddl}>", pa.list_(pa.field("element", items.arrow)), plain)


def _map(schema: Schema) -> ColumnType:
    assert schema.keys is not None and schema.items is not None
    keys, items = column_type(schema.keys), column_type(schema.items)

    def plain(value: Any) -> Any:
        return None if value is None else [(keys.plain(key), items.plain(item)) for key, item in value.items()]

    return _compound(f"map<{keys.ddl},{items.ddl}>", pa.map_(keys.arrow, items.arrow), plain)


def _struct(schema: Schema) -> ColumnType:
    members = [(field.name, column_type(field.schema)) for field in schema.fields]

    def plain(value: Any) -> Any:
        if value is None:
            return None
        return {name: kind.plain(item) for (name, kind), item in zip(members, value.values, strict=True)}

    ddl = ",".join(f"{name}:{kind.ddl}" for name, kind in members)
    return _compound(f"struct<{ddl}>", pa.struct([(name, kind.arrow) for name, kind in members]), plain)


def _compound(ddl: str, arrow: pa.DataType, plain: Callable[[Any], Any]) -> ColumnType:
    return ColumnType(ddl, arrow, lambda values: pa.array([plain(value) for value in values], arrow), plain)


_COMPOUND = {"array": _array, "map": _map, "struct": _struct}


def text_of(kind: ColumnType, value: Any) -> str | None:
    """A value of a schema as text that `value_of` and Spark's casts read, bytes in hexadecimal; None for compounds."""
    (found,) = kind.column([value])
    if pa.types.is_nested(kind.arrow):
        return None
    if pa.types.is_binary(kind.arrow):
        return bytes(found.as_py()).hex()
    text: str = found.cast(pa.string()).as_py()
    return text


def value_of(text: str, kind: pa.DataType) -> pa.Scalar:
    """The value of a column's type that `text_of` has made a text of."""
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(text), kind)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.scalar(bytes.fromhex(text), kind)
    return pa.scalar(text).cast(kind)
