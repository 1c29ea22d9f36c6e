"""The Connect schema of each type: the ones that the `mysql` source has for the same column.

Debezium's manual for MySQL, "Data type mappings". What a protocol does not tell makes a wider schema: the table at
`schema_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cdckit import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT16, INT32, INT64, STRING, Schema, Stored, logical
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.columns.types import BINARY, TEXT, MySqlType

_LONGEST_FLOAT32 = 24
_UNKNOWN_BITS = 64
_UNSIGNED = Stored(unsigned=True)
_LONG = INT64.replace(stored=_UNSIGNED)
"""An unsigned number as its two's complement."""
_FIXED = {
    "tinyint": INT16,
    "mediumint": INT32,
    "double": FLOAT64,
    "date": logical.DATE,
    "time": logical.MICRO_TIME,
    "timestamp": logical.ZONED_TIMESTAMP,
    "year": logical.YEAR,
    "json": logical.JSON,
    "vector": logical.FLOAT_VECTOR,
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
            return logical.decimal(0, 20).replace(stored=_UNSIGNED) if options.bigint_mode == "precise" else _LONG
        case "decimal":
            return _decimal(type, options)
        case _:
            return _by_length_or_labels(type)


def _by_length_or_labels(type: MySqlType) -> Schema:
    match type.name:
        case "float":
            return FLOAT32 if type.scale is None and (type.length or 0) <= _LONGEST_FLOAT32 else FLOAT64
        case "bit":
            return BOOLEAN if type.length == 1 else logical.bits(type.length or _UNKNOWN_BITS)
        case "enum":
            return _labelled(logical.enum, type.labels)
        case "set":
            return _labelled(logical.enum_set, type.labels)
        case "datetime":
            return logical.MICRO_TIMESTAMP if type.length is None or type.length > 3 else logical.TIMESTAMP
        case _:
            raise ValueError(f"type {type.name!r} is not known")


def _decimal(type: MySqlType, options: ColumnOptions) -> Schema:
    if options.decimal_mode == "double":
        return FLOAT64
    if options.decimal_mode == "string" or type.length is None:
        return STRING
    return logical.decimal(type.scale or 0, type.length)


def _labelled(made: Callable[[Iterable[str]], Schema], labels: tuple[str, ...] | None) -> Schema:
    if labels is None:
        return INT64
    return made(label.replace(",", "\\,") for label in labels)
