"""The logical types of events: Debezium's (`io.debezium.*`) and Kafka Connect's, by name, with their schemas.

A logical type is a primitive one with a name that says what its values mean; consumers know them by that name
(`schema.name == DATE.name`). Debezium's manual, "Data type mappings"; Kafka Connect's package `data`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cdckit.api.schema import (
    BYTES,
    FLOAT32,
    FLOAT64,
    OPTIONAL_BYTES,
    OPTIONAL_INT32,
    Schema,
    array_schema,
    struct_schema,
)

_TIME, _DATA, _CONNECT = "io.debezium.time", "io.debezium.data", "org.apache.kafka.connect.data"

DATE = Schema("int32", name=f"{_TIME}.Date", version=1)
"""Days since 1970-01-01."""
MILLI_TIME = Schema("int32", name=f"{_TIME}.Time", version=1)
"""Milliseconds past midnight."""
MICRO_TIME = Schema("int64", name=f"{_TIME}.MicroTime", version=1)
"""Microseconds past midnight; of MySQL's TIME also negative ones, and beyond a day."""
NANO_TIME = Schema("int64", name=f"{_TIME}.NanoTime", version=1)
"""The same in nanoseconds."""
TIMESTAMP = Schema("int64", name=f"{_TIME}.Timestamp", version=1)
"""A clock's reading without a zone: milliseconds since 1970-01-01T00:00:00."""
MICRO_TIMESTAMP = Schema("int64", name=f"{_TIME}.MicroTimestamp", version=1)
"""The same in microseconds."""
NANO_TIMESTAMP = Schema("int64", name=f"{_TIME}.NanoTimestamp", version=1)
"""The same in nanoseconds."""
ZONED_TIMESTAMP = Schema("string", name=f"{_TIME}.ZonedTimestamp", version=1)
"""A moment, by ISO 8601 with its zone."""
ZONED_TIME = Schema("string", name=f"{_TIME}.ZonedTime", version=1)
"""A time of day, by ISO 8601 with its zone."""
ISO_DATE = Schema("string", name=f"{_TIME}.IsoDate", version=1)
"""A day, by ISO 8601."""
ISO_TIME = Schema("string", name=f"{_TIME}.IsoTime", version=1)
"""A time of day, by ISO 8601."""
ISO_TIMESTAMP = Schema("string", name=f"{_TIME}.IsoTimestamp", version=1)
"""A clock's reading, by ISO 8601."""
YEAR = Schema("int32", name=f"{_TIME}.Year", version=1)
"""A year's number."""

CONNECT_DATE = Schema("int32", name=f"{_CONNECT}.Date", version=1)
"""Days since 1970-01-01."""
CONNECT_TIME = Schema("int32", name=f"{_CONNECT}.Time", version=1)
"""Milliseconds past midnight."""
CONNECT_TIMESTAMP = Schema("int64", name=f"{_CONNECT}.Timestamp", version=1)
"""Milliseconds since 1970-01-01T00:00:00Z."""

JSON = Schema("string", name=f"{_DATA}.Json", version=1)
"""A JSON document as text."""
UUID = Schema("string", name=f"{_DATA}.Uuid", version=1)
"""A UUID as text."""
FLOAT_VECTOR = array_schema(FLOAT32, name=f"{_DATA}.FloatVector").replace(version=1)
"""A vector of single-precision numbers."""
GEOMETRY = struct_schema(f"{_DATA}.geometry.Geometry", {"wkb": BYTES, "srid": OPTIONAL_INT32}, version=1).replace(
    doc="Geometry"
)
"""A geometry as well-known binary, with its reference system."""
POINT = struct_schema(
    f"{_DATA}.geometry.Point",
    {"x": FLOAT64, "y": FLOAT64, "wkb": OPTIONAL_BYTES, "srid": OPTIONAL_INT32},
    version=1,
).replace(doc="Geometry (POINT)")
"""A point, also as its coordinates."""

DECIMAL_NAME = f"{_CONNECT}.Decimal"
"""An exact number: the bytes of an unscaled one, two's complement with the highest byte first."""
BITS_NAME = f"{_DATA}.Bits"
"""Several bits: bytes, the lowest first."""
ENUM_NAME = f"{_DATA}.Enum"
"""One of the labels that its schema names."""
ENUM_SET_NAME = f"{_DATA}.EnumSet"
"""Some of the labels that its schema names, with commas between."""
TIDB_VECTOR_NAME = f"{_DATA}.TiDBVectorFloat32"
"""What TiCDC calls a vector of single-precision numbers, which it writes as a text."""
GENERAL_ENUM_NAME = f"{_CONNECT}.Enum"
"""What begins the names of the parameters that tell an enumeration's symbols, where Confluent's converters have
`generalized.sum.type.support`."""
UNION_NAME = f"{_CONNECT}.Union"
"""A parameter of a struct's schema: the struct stands for the one of its fields that has a value."""


def decimal(scale: int, precision: int | None = None) -> Schema:
    """Exact numbers.

    Args:
        scale: digits behind the point.
        precision: digits in all, where that is known.
    """
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters["connect.decimal.precision"] = str(precision)
    return Schema("bytes", name=DECIMAL_NAME, version=1, parameters=parameters)


def bits(length: int | None) -> Schema:
    """Some number of bits."""
    return Schema("bytes", name=BITS_NAME, version=1, parameters={"length": str(length)})


def enum(labels: Iterable[str], **more: Any) -> Schema:
    """One of some labels.

    Args:
        labels: as Debezium shows them: commas within one behind a backslash.
        more: other parts of the schema, such as `default`.
    """
    return Schema("string", name=ENUM_NAME, version=1, parameters={"allowed": ",".join(labels)}, **more)


def enum_set(labels: Iterable[str]) -> Schema:
    """Some of some labels, given as for `enum`."""
    return Schema("string", name=ENUM_SET_NAME, version=1, parameters={"allowed": ",".join(labels)})


def snapshot_mark(marks: Iterable[str]) -> Schema:
    """The field `snapshot` of a source block: whether a record is of a snapshot, and where in it."""
    return enum(marks, optional=True, default="false")
