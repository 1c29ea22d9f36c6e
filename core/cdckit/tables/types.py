"""Kafka Connect's types as columns of Spark tables.

| schema | column |
| --- | --- |
| int8, int16, int32, int64 | tinyint, smallint, int, bigint |
| float32, float64, boolean, string, bytes | float, double, boolean, string, binary |
| BIGINT UNSIGNED, where the source tells, whatever events show it as | decimal(20,0) |
| Decimal | decimal(p,s); string where p is over 38; p is 38 where the schema does not say |
| io.debezium.time.Date, Connect's Date | date |
| io.debezium.time.Timestamp, MicroTimestamp, Connect's Timestamp | timestamp_ntz: a clock's reading without a zone |
| io.debezium.time.ZonedTimestamp | timestamp; what the log shows as 1970 and is no moment is as snapshots show it |
| Time, MicroTime, NanoTime, NanoTimestamp, Year, MicroDuration | the number as it is: Spark has no such type |
| Enum, EnumSet, Json, Xml, Uuid, ZonedTime, Interval | string; labels of an Enum as the server has them |
| Bits | binary |
| array, map, struct (geometry, for one) | array, map, struct |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from arro3.core import Array, DataType

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.tables.arrays import (
    BINARY,
    DATE,
    INSTANT,
    INT64,
    MICROSECONDS,
    STRING,
    UNSIGNED as UNSIGNED_TYPE,
    Values,
    array,
    days,
    decimals,
    list_type,
    lists,
    map_type,
    maps,
    microseconds,
    milliseconds,
    struct_type,
    structs,
    taken_as,
    unsigned_longs,
)

MAX_PRECISION = 38
_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How the values of one schema become a column.

    Attributes:
        ddl: Spark's name of the type, as `DataType.simpleString` writes it.
        arrow: the type of the Arrow array.
        column: values, None among them, as an array; pyarrow takes it as it is (`pyarrow.array`).
    """

    ddl: str
    arrow: DataType
    column: Callable[[Values], Array]


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
    if schema.name == logical.ZONED_TIMESTAMP.name and schema.stored is not None and schema.stored.zero_is_epoch:
        return _zoned_with_zeros(schema)
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.name == logical.ENUM_NAME and "\\," in (schema.parameters or {}).get("allowed", ""):
        return _labels(schema)
    if schema.type in _COMPOUND:
        return _COMPOUND[schema.type](schema)
    return _PRIMITIVE[schema.type]


def _unsigned(schema: Schema) -> bool:
    """Whether a column is BIGINT UNSIGNED: as its source knows, or as the type says that Debezium propagates."""
    if schema.type != "int64" and schema.name != logical.DECIMAL_NAME:
        return False
    propagated = (schema.parameters or {}).get("__debezium.source.column.type", "")
    return (schema.stored is not None and schema.stored.unsigned) or propagated.upper().startswith("BIGINT UNSIGNED")


def _simple(ddl: str, arrow: DataType) -> ColumnType:
    return ColumnType(ddl, arrow, lambda values: array(values, arrow))


_PRIMITIVE = {
    "int8": _simple("tinyint", DataType.int8()),
    "int16": _simple("smallint", DataType.int16()),
    "int32": _simple("int", DataType.int32()),
    "int64": _simple("bigint", INT64),
    "float32": _simple("float", DataType.float32()),
    "float64": _simple("double", DataType.float64()),
    "boolean": _simple("boolean", DataType.bool()),
    "string": _simple("string", STRING),
    "bytes": _simple("binary", BINARY),
}

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def _zoned(values: Values) -> Array:
    """ISO 8601 texts, parsed column-wise; finer than microseconds is cut off."""
    texts = array(values, STRING)
    made = texts.cast(MICROSECONDS)  # in UTC, in two thirds of the time that a cast to an instant takes
    if made.null_count == texts.null_count:
        return taken_as(made, INSTANT)
    return microseconds([None if text is None else _instant(text) for text in values], INSTANT)


def _instant(text: str) -> int:
    """Microseconds since 1970; without a zone in UTC."""
    moment = datetime.fromisoformat(text)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


_DATE = ColumnType("date", DATE, days)
_MILLISECONDS = ColumnType("timestamp_ntz", MICROSECONDS, milliseconds)
_MICROSECONDS = ColumnType("timestamp_ntz", MICROSECONDS, microseconds)
_ZONED = ColumnType("timestamp", INSTANT, _zoned)

_ZERO = re.compile(r"1970-01-01T00:00:00(?:\.0+)?Z")


def _zoned_with_zeros(schema: Schema) -> ColumnType:
    """Moments among which 1970 is none: null, or what stands for null where the column forbids it."""
    stands = None if schema.optional else schema.default

    def moments(values: Values) -> Array:
        return _zoned(
            [stands if text and text.startswith("1970") and _ZERO.fullmatch(text) else text for text in values]
        )

    return _ZONED if stands is None and not schema.optional else ColumnType("timestamp", INSTANT, moments)


def _labels(schema: Schema) -> ColumnType:
    """Labels of which some have commas: snapshots show them as they are, the log, as Debezium, behind a backslash."""
    allowed = f",{(schema.parameters or {})['allowed']},"

    def label(text: str | None) -> str | None:
        escaped = text is not None and "\\," in text and f",{text}," in allowed
        return text.replace("\\,", ",") if escaped and text is not None else text

    return ColumnType("string", STRING, lambda values: array([label(text) for text in values], STRING))


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
    if precision > MAX_PRECISION:

        def text(value: bytes | None) -> str | None:
            if value is None:
                return None
            return f"{Decimal(int.from_bytes(value, 'big', signed=True)).scaleb(-scale, _EXACT):f}"

        return ColumnType("string", STRING, lambda values: array([text(value) for value in values], STRING))
    arrow = DataType.decimal128(precision, scale)
    return ColumnType(f"decimal({precision},{scale})", arrow, lambda values: decimals(values, arrow))


UNSIGNED = "decimal(20,0)"
"""The type of columns for BIGINT UNSIGNED."""
_UNSIGNED_LONG = ColumnType(UNSIGNED, UNSIGNED_TYPE, unsigned_longs)
_UNSIGNED_DECIMAL = _decimal(logical.decimal(0, 20))


def _array(schema: Schema) -> ColumnType:
    assert schema.items is not None
    items = column_type(schema.items)
    arrow = list_type(items.arrow)
    return ColumnType(f"array<{items.ddl}>", arrow, lambda values: lists(values, arrow, items.column))


def _map(schema: Schema) -> ColumnType:
    assert schema.keys is not None and schema.items is not None
    keys, items = column_type(schema.keys), column_type(schema.items)
    arrow = map_type(keys.arrow, items.arrow)
    return ColumnType(
        f"map<{keys.ddl},{items.ddl}>", arrow, lambda values: maps(values, arrow, keys.column, items.column)
    )


def _struct(schema: Schema) -> ColumnType:
    members = {field.name: column_type(field.schema) for field in schema.fields}
    arrow = struct_type({name: kind.arrow for name, kind in members.items()})
    columns = [kind.column for kind in members.values()]
    ddl = ",".join(f"{name}:{kind.ddl}" for name, kind in members.items())
    return ColumnType(f"struct<{ddl}>", arrow, lambda values: structs(values, arrow, columns))


_COMPOUND = {"array": _array, "map": _map, "struct": _struct}


def text_of(kind: ColumnType, value: Any) -> str | None:
    """A value of a schema as text that Spark's casts and `cdckit.tables.arrow_compute.value_of` read.

    Bytes are in hexadecimal; None for compounds.
    """
    if DataType.is_nested(kind.arrow):
        return None
    column = kind.column([value])
    if kind.arrow == BINARY:
        return bytes(column.to_pylist()[0]).hex()
    text: str = column.cast(STRING).to_pylist()[0]
    return text.replace("T", " ") if DataType.is_timestamp(kind.arrow) else text
