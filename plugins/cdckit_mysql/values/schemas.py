"""The Connect schema of each kind of column, without what the single column adds.

Debezium's manual for MySQL, "Data type mappings"; names and versions are Debezium's and Kafka Connect's.
"""

from __future__ import annotations

from typing import Literal

from cdckit import (
    BOOLEAN,
    BYTES,
    CONNECT_DATE,
    CONNECT_TIME,
    CONNECT_TIMESTAMP,
    DECIMAL,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    array_schema,
)
from cdckit_mysql.table import Column
from cdckit_mysql.values import geometry
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.options import DecimalMode, TimeMode, ValueOptions
from cdckit_mysql.values.temporal import TemporalForm

_DATE_NAMES = {"connect": CONNECT_DATE, "isostring": "io.debezium.time.IsoDate"}
_TIME_SCHEMAS: dict[TimeMode, Schema] = {
    "adaptive_time_microseconds": Schema("int64", name="io.debezium.time.MicroTime", version=1),
    "connect": Schema("int32", name=CONNECT_TIME, version=1),
    "isostring": Schema("string", name="io.debezium.time.IsoTime", version=1),
    "microseconds": Schema("int64", name="io.debezium.time.MicroTime", version=1),
    "nanoseconds": Schema("int64", name="io.debezium.time.NanoTime", version=1),
}
_OLD_UNSIGNED = Schema("bytes", name=DECIMAL, version=1, parameters={"scale": "0"})
"""Debezium 1's BIGINT UNSIGNED as a Decimal, without a precision."""
_MILLISECOND_TIME = Schema("int32", name="io.debezium.time.Time", version=1)
_DATETIME_SCHEMAS: dict[TimeMode, Schema] = {
    "connect": Schema("int64", name=CONNECT_TIMESTAMP, version=1),
    "isostring": Schema("string", name="io.debezium.time.IsoTimestamp", version=1),
    "microseconds": Schema("int64", name="io.debezium.time.MicroTimestamp", version=1),
    "nanoseconds": Schema("int64", name="io.debezium.time.NanoTimestamp", version=1),
}
_MILLISECOND_TIMESTAMP = Schema("int64", name="io.debezium.time.Timestamp", version=1)
_ZONED_TIMESTAMP = Schema("string", name="io.debezium.time.ZonedTimestamp", version=1)
_YEAR = Schema("int32", name="io.debezium.time.Year", version=1)
_JSON = Schema("string", name="io.debezium.data.Json", version=1)
_UUID = Schema("string", name="io.debezium.data.Uuid", version=1)
_VECTOR = array_schema(FLOAT32, name="io.debezium.data.FloatVector").replace(version=1)


def base_schema(column: Column, kind: Kind, options: ValueOptions) -> Schema:
    """The schema of a kind of column in the modes of `options`: neither optional nor with a default."""
    if kind == "float32" and options.wide_floats:
        return FLOAT64
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain
    if kind == "integer":
        return _integer_schema(column)
    if kind == "bigint":
        if not (column.unsigned and options.bigint_unsigned_mode == "precise"):
            return INT64
        return _OLD_UNSIGNED if options.event_format != "3" else decimal_schema("precise", 20, 0)
    if kind == "decimal":
        return decimal_schema(options.decimal_mode, column.length or 10, column.scale or 0)
    if kind == "bits":
        return _logical("bytes", "Bits", {"length": str(column.length)})
    if kind == "bytes":
        return BYTES if options.binary_mode == "bytes" else STRING
    if kind in {"enum", "set"}:
        labels = ",".join(escaped_labels(column))
        return _logical("string", "Enum" if kind == "enum" else "EnumSet", {"allowed": labels})
    return _temporal_schema(column, kind, options.time_mode)


_PLAIN: dict[Kind, Schema] = {
    "float32": FLOAT32,
    "float64": FLOAT64,
    "boolean": BOOLEAN,
    "text": STRING,
    "timestamp": _ZONED_TIMESTAMP,
    "year": _YEAR,
    "json": _JSON,
    "geometry": geometry.GEOMETRY,
    "point": geometry.POINT,
    "vector": _VECTOR,
    "uuid": _UUID,
    "inet4": STRING,
    "inet6": STRING,
}


def _logical(primitive: Literal["string", "bytes"], name: str, parameters: dict[str, str]) -> Schema:
    return Schema(primitive, name=f"io.debezium.data.{name}", version=1, parameters=parameters)


def _integer_schema(column: Column) -> Schema:
    if column.base_type == "TINYINT":
        return INT16
    if column.base_type == "SMALLINT":
        return INT32 if column.unsigned else INT16
    return INT64 if column.base_type == "INT" and column.unsigned else INT32


def decimal_schema(mode: DecimalMode, precision: int, scale: int) -> Schema:
    """The schema of a decimal number for `decimal.handling.mode`."""
    if mode == "double":
        return FLOAT64
    if mode == "string":
        return STRING
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return Schema("bytes", name=DECIMAL, version=1, parameters=parameters)


def escaped_labels(column: Column) -> tuple[str, ...]:
    """The labels of an ENUM or SET as Debezium keeps them: commas behind a backslash."""
    return tuple(label.replace(",", "\\,") for label in column.enum_values)


def temporal_form(column: Column, kind: Kind, mode: TimeMode) -> TemporalForm:
    """What a DATE, TIME or DATETIME column's values are shown as."""
    if mode == "isostring":
        return "iso"
    if kind == "date":
        return "days"
    if mode == "nanoseconds":
        return "ns"
    if mode == "connect":
        return "ms"
    if mode == "microseconds" or (mode == "adaptive_time_microseconds" and kind == "time"):
        return "us"
    return "ms" if (column.length or 0) <= 3 else "us"


def _temporal_schema(column: Column, kind: Kind, mode: TimeMode) -> Schema:
    milliseconds = temporal_form(column, kind, mode) == "ms"
    if kind == "date":
        name = _DATE_NAMES.get(mode, "io.debezium.time.Date")
        return Schema("string" if mode == "isostring" else "int32", name=name, version=1)
    if kind == "time":
        adaptive = _MILLISECOND_TIME if milliseconds else _TIME_SCHEMAS["microseconds"]
        return _TIME_SCHEMAS.get(mode, adaptive)
    adaptive = _MILLISECOND_TIMESTAMP if milliseconds else _DATETIME_SCHEMAS["microseconds"]
    return _DATETIME_SCHEMAS.get(mode, adaptive)
