"""The Connect schema of each type: the ones that the `mysql` source has for the same column.

Debezium's manual for MySQL, "Data type mappings". What a protocol does not tell makes a wider schema: the table at
`schema_of`.
"""

from __future__ import annotations

from typing import Literal

from cdckit import BOOLEAN, BYTES, DECIMAL, FLOAT32, FLOAT64, INT16, INT32, INT64, STRING, Schema, Stored, array_schema
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.columns.types import BINARY, TEXT, MySqlType

_LONGEST_FLOAT32 = 24
_UNKNOWN_BITS = 64
TIMESTAMP = Schema("int64", name="io.debezium.time.Timestamp", version=1)
MICRO_TIMESTAMP = Schema("int64", name="io.debezium.time.MicroTimestamp", version=1)
VECTOR = array_schema(FLOAT32, name="io.debezium.data.FloatVector").replace(version=1)
_UNSIGNED = Stored(unsigned=True)
_LONG = INT64.replace(stored=_UNSIGNED)
"""An unsigned number as its two's complement."""
_FIXED = {
    "tinyint": INT16,
    "mediumint": INT32,
    "double": FLOAT64,
    "date": Schema("int32", name="io.debezium.time.Date", version=1),
    "time": Schema("int64", name="io.debezium.time.MicroTime", version=1),
    "timestamp": Schema("string", name="io.debezium.time.ZonedTimestamp", version=1),
    "year": Schema("int32", name="io.debezium.time.Year", version=1),
    "json": Schema("string", name="io.debezium.data.Json", version=1),
    "vector": VECTOR,
    **dict.fromkeys(TEXT, STRING),
    **dict.fromkeys(BINARY, BYTES),
}


def schema_of(type: MySqlType, options: ColumnOptions) -> Schema:
    """The schema of a type, not optional and without a default.

    | not known | schema |
    | --- | --- |
    | precision and scale of DECIMAL | string, every digit kept |
    | length of BIT | `Bits` of 64 |
    | labels of ENUM and SET | int64: the label's number, the set's bits |
    | digits of a second of DATETIME | `MicroTimestamp` |

    Raises:
        ValueError: the type does not exist.
    """
    plain = _FIXED.get(type.name)
    if plain is not None:
        return plain
    match type.name:
        case "smallint":
            return INT32 if type.unsigned else INT16
        case "int":
            return INT64 if type.unsigned else INT32
        case "bigint":
            if not type.unsigned:
                return INT64
            return decimal_schema(20, 0).replace(stored=_UNSIGNED) if options.bigint_mode == "precise" else _LONG
        case "decimal":
            return _decimal(type, options)
        case _:
            return _by_length_or_labels(type)


def _by_length_or_labels(type: MySqlType) -> Schema:
    match type.name:
        case "float":
            return FLOAT32 if type.scale is None and (type.length or 0) <= _LONGEST_FLOAT32 else FLOAT64
        case "bit":
            return BOOLEAN if type.length == 1 else bits_schema(type.length or _UNKNOWN_BITS)
        case "enum":
            return _labelled("Enum", type.labels)
        case "set":
            return _labelled("EnumSet", type.labels)
        case "datetime":
            return MICRO_TIMESTAMP if type.length is None or type.length > 3 else TIMESTAMP
        case _:
            raise ValueError(f"type {type.name!r} is not known")


def _decimal(type: MySqlType, options: ColumnOptions) -> Schema:
    if options.decimal_mode == "double":
        return FLOAT64
    if options.decimal_mode == "string" or type.length is None:
        return STRING
    return decimal_schema(type.length, type.scale or 0)


def decimal_schema(precision: int, scale: int) -> Schema:
    """An exact decimal number."""
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return Schema("bytes", name=DECIMAL, version=1, parameters=parameters)


def bits_schema(length: int) -> Schema:
    """A BIT of more than one bit: little-endian bytes."""
    return Schema("bytes", name="io.debezium.data.Bits", version=1, parameters={"length": str(length)})


def _labelled(name: Literal["Enum", "EnumSet"], labels: tuple[str, ...] | None) -> Schema:
    if labels is None:
        return INT64
    allowed = ",".join(label.replace(",", "\\,") for label in labels)
    return Schema("string", name=f"io.debezium.data.{name}", version=1, parameters={"allowed": allowed})
