"""How a column's values are read, by its type."""

from __future__ import annotations

from typing import Literal

from cdckit_mysql.table import Column
from cdckit_mysql.values import geometry

Kind = Literal[
    "integer", "bigint", "float32", "float64", "decimal", "boolean", "bits", "text", "bytes", "enum", "set", "date",
    "time", "datetime", "timestamp", "year", "json", "geometry", "point", "vector", "uuid", "inet4", "inet6",
]  # fmt: skip
"""How a column's values are read; together with a form, how they are shown."""

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "MEDIUMINT", "INT"), "integer"),
    **dict.fromkeys(("CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"), "text"),
    **dict.fromkeys(("BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"), "bytes"),
    **dict.fromkeys(geometry.TYPES, "geometry"),
    "BIGINT": "bigint",
    "DOUBLE": "float64",
    "DECIMAL": "decimal",
    "ENUM": "enum",
    "SET": "set",
    "DATE": "date",
    "TIME": "time",
    "DATETIME": "datetime",
    "TIMESTAMP": "timestamp",
    "YEAR": "year",
    "JSON": "json",
    "POINT": "point",
    "VECTOR": "vector",
    "UUID": "uuid",
    "INET4": "inet4",
    "INET6": "inet6",
}
_BOOLEANS = ("BOOL", "BOOLEAN")
"""What a statement in the log may call a TINYINT(1); the server itself never does."""
_LONGEST_FLOAT32 = 24
"""FLOAT(p) is a double from 25 bits on: https://dev.mysql.com/doc/refman/en/floating-point-types.html"""


def kind_of(column: Column) -> Kind | None:
    """How the column's values are read; None for a type that is not known."""
    if column.base_type == "FLOAT":
        short = column.scale is None and (column.length or 0) <= _LONGEST_FLOAT32
        return "float32" if short else "float64"
    if column.base_type == "BIT":
        return "boolean" if (column.length or 1) == 1 else "bits"
    if spelled_boolean(column):
        return "boolean"
    return _KINDS.get(column.base_type)


def spelled_boolean(column: Column) -> bool:
    """Whether a statement in the log has made the column, and called it BOOLEAN."""
    return column.base_type == "TINYINT" and column.type_expression in _BOOLEANS
