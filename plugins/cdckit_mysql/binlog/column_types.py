"""The column types of TABLE_MAP and of result sets, and how each is described there.

MySQL source documentation, "class Table_map_event", "Table_map_event column types"; MariaDB knowledge base,
"TABLE_MAP_EVENT".
"""

from __future__ import annotations

DECIMAL = 0
TINY = 1
SHORT = 2
LONG = 3
FLOAT = 4
DOUBLE = 5
NULL = 6
TIMESTAMP = 7
LONGLONG = 8
INT24 = 9
DATE = 10
TIME = 11
DATETIME = 12
YEAR = 13
NEWDATE = 14
VARCHAR = 15
BIT = 16
TIMESTAMP2 = 17
DATETIME2 = 18
TIME2 = 19
MARIADB_BLOB_COMPRESSED = 140
MARIADB_VARCHAR_COMPRESSED = 141
VECTOR = 242
JSON = 245
NEWDECIMAL = 246
ENUM = 247
SET = 248
TINY_BLOB = 249
MEDIUM_BLOB = 250
LONG_BLOB = 251
BLOB = 252
VAR_STRING = 253
STRING = 254
GEOMETRY = 255

METADATA_SIZES = {
    FLOAT: 1, DOUBLE: 1, VARCHAR: 2, BIT: 2, TIMESTAMP2: 1, DATETIME2: 1, TIME2: 1, MARIADB_BLOB_COMPRESSED: 1,
    MARIADB_VARCHAR_COMPRESSED: 2, VECTOR: 1, JSON: 1, NEWDECIMAL: 2, ENUM: 2, SET: 2, TINY_BLOB: 1, MEDIUM_BLOB: 1,
    LONG_BLOB: 1, BLOB: 1, VAR_STRING: 2, STRING: 2, GEOMETRY: 1,
}  # fmt: skip
"""How many bytes of TABLE_MAP's metadata a column of each type takes; 0 where it does not stand here."""

NUMBERS = frozenset({TINY, SHORT, INT24, LONG, LONGLONG, NEWDECIMAL, FLOAT, DOUBLE, YEAR})
"""The types whose signedness TABLE_MAP tells."""

TEXTS = frozenset(
    {VARCHAR, VAR_STRING, STRING, BLOB, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB}
    | {MARIADB_BLOB_COMPRESSED, MARIADB_VARCHAR_COMPRESSED}
)
"""The types whose collation TABLE_MAP tells, bytes included."""
