"""What a column holds that allows no NULL, has no DEFAULT and was given no value.

https://dev.mysql.com/doc/refman/en/data-type-defaults.html
"""

from __future__ import annotations

from cdckit_mysql.table import Column

_NUMBERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", "BIT")
_TEXTS = (
    "CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "SET",
    "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB",
)  # fmt: skip
_ZEROS = {
    **dict.fromkeys(_NUMBERS, "0"),
    **dict.fromkeys(_TEXTS, ""),
    **dict.fromkeys(("DATE", "DATETIME", "TIMESTAMP"), "0000-00-00 00:00:00"),
    "TIME": "00:00:00",
    "YEAR": "1900",
    "JSON": "null",
}
"""What stands in a column that allows no NULL and has no default; YEAR 0 is 1900 in events."""


def implicit_default(column: Column) -> str | None:
    """The text, in the form of a column's `default`, or None for a type that has no such value."""
    return column.enum_values[0] if column.base_type == "ENUM" else _ZEROS.get(column.base_type)
