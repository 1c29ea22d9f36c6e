"""The numbers of `java.sql.Types` by which Debezium's schema changes name a column's type."""

from __future__ import annotations

from cdckit_mysql.table import Column

BOOLEAN = 16
_BIT, _BIGINT = -7, -5
_CHAR, _DECIMAL, _INTEGER, _SMALLINT, _FLOAT, _REAL, _DOUBLE = 1, 3, 4, 5, 6, 7, 8
_NUMERIC, _VARCHAR, _DATE, _TIME, _TIMESTAMP = 2, 12, 91, 92, 93
_NCHAR, _NVARCHAR, _BINARY, _VARBINARY, _BLOB = -15, -9, -2, -3, 2004
_OTHER, _TIMESTAMP_WITH_TIMEZONE = 1111, 2014

_TYPES = {
    **dict.fromkeys(("TINYINT", "INT1", "SMALLINT", "INT2"), _SMALLINT),
    **dict.fromkeys(("MEDIUMINT", "INT3", "MIDDLEINT", "INT", "INTEGER", "INT4", "YEAR"), _INTEGER),
    **dict.fromkeys(("BIGINT", "INT8", "SERIAL"), _BIGINT),
    **dict.fromkeys(("FLOAT", "FLOAT4"), _FLOAT),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "FLOAT8"), _DOUBLE),
    **dict.fromkeys(("DECIMAL", "DEC", "FIXED"), _DECIMAL),
    **dict.fromkeys(("BOOL", "BOOLEAN"), BOOLEAN),
    **dict.fromkeys(("CHAR", "CHARACTER", "ENUM", "SET"), _CHAR),
    **dict.fromkeys(("VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "LONG", "LONG VARCHAR"), _VARCHAR),
    **dict.fromkeys(("NVARCHAR", "NCHAR VARCHAR", "NCHAR VARCHARACTER", "NCHAR VARYING"), _NVARCHAR),
    **dict.fromkeys(("NATIONAL VARCHAR", "NATIONAL VARCHARACTER"), _NVARCHAR),
    **dict.fromkeys(("NATIONAL CHAR VARYING", "NATIONAL CHARACTER VARYING"), _NVARCHAR),
    **dict.fromkeys(("NCHAR", "NATIONAL CHAR", "NATIONAL CHARACTER"), _NCHAR),
    **dict.fromkeys(("TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "LONG VARBINARY"), _BLOB),
    "REAL": _REAL,
    "NUMERIC": _NUMERIC,
    "BIT": _BIT,
    "BINARY": _BINARY,
    "VARBINARY": _VARBINARY,
    "DATE": _DATE,
    "TIME": _TIME,
    "DATETIME": _TIMESTAMP,
    "TIMESTAMP": _TIMESTAMP_WITH_TIMEZONE,
}


def jdbc_type(column: Column) -> int:
    """The number for a column's type, as the statement spelled it; 1111 (OTHER) for those that Java does not know."""
    for spelled in (column.type_expression, column.type_name):
        words = spelled.removesuffix(" ZEROFILL").removesuffix(" UNSIGNED").removesuffix(" SIGNED")
        for name in (words.removesuffix(" BINARY"), words):
            if name in _TYPES:
                return _TYPES[name]
    return _OTHER
