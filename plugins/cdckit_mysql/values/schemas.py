"""The Connect schema of each kind of column, without what the single column adds.

Debezium's manual for MySQL, "Data type mappings"; names and versions are Debezium's and Kafka Connect's.
"""

from __future__ import annotations

from cdckit import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT16, INT32, INT64, STRING, Schema, logical
from cdckit_mysql.table import Column
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.options import DecimalMode, TimeMode, ValueOptions
from cdckit_mysql.values.temporal import TemporalForm

_DATE_SCHEMAS: dict[TimeMode, Schema] = {"connect": logical.CONNECT_DATE, "isostring": logical.ISO_DATE}
_TIME_SCHEMAS: dict[TimeMode, Schema] = {
    "adaptive_time_microseconds": logical.MICRO_TIME,
    "connect": logical.CONNECT_TIME,
    "isostring": logical.ISO_TIME,
    "microseconds": logical.MICRO_TIME,
    "nanoseconds": logical.NANO_TIME,
}
_OLD_UNSIGNED = logical.decimal(0)
"""Debezium 1's BIGINT UNSIGNED as a Decimal, without a precision."""
_DATETIME_SCHEMAS: dict[TimeMode, Schema] = {
    "connect": logical.CONNECT_TIMESTAMP,
    "isostring": logical.ISO_TIMESTAMP,
    "microseconds": logical.MICRO_TIMESTAMP,
    "nanoseconds": logical.NANO_TIMESTAMP,
}


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
        return logical.bits(column.length)
    if kind == "bytes":
        return BYTES if options.binary_mode == "bytes" else STRING
    if kind in {"enum", "set"}:
        labels = escaped_labels(column)
        return logical.enum(labels) if kind == "enum" else logical.enum_set(labels)
    return _temporal_schema(column, kind, options.time_mode)


_PLAIN: dict[Kind, Schema] = {
    "float32": FLOAT32,
    "float64": FLOAT64,
    "boolean": BOOLEAN,
    "text": STRING,
    "timestamp": logical.ZONED_TIMESTAMP,
    "year": logical.YEAR,
    "json": logical.JSON,
    "geometry": logical.GEOMETRY,
    "point": logical.POINT,
    "vector": logical.FLOAT_VECTOR,
    "uuid": logical.UUID,
    "inet4": STRING,
    "inet6": STRING,
}


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
    return logical.decimal(scale, precision)


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
        return _DATE_SCHEMAS.get(mode, logical.DATE)
    if kind == "time":
        adaptive = logical.MILLI_TIME if milliseconds else _TIME_SCHEMAS["microseconds"]
        return _TIME_SCHEMAS.get(mode, adaptive)
    adaptive = logical.TIMESTAMP if milliseconds else _DATETIME_SCHEMAS["microseconds"]
    return _DATETIME_SCHEMAS.get(mode, adaptive)
