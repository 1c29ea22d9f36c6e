"""Reads a column's data type, in all the spellings that the two servers take.

https://dev.mysql.com/doc/refman/en/data-types.html, https://mariadb.com/kb/en/data-types/.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import Flavor, SqlMode


@dataclass(slots=True)
class DataType:
    """A data type as the statement has it; `types` of the text family still lack the table's character set.

    Attributes:
        name: the server's name of the type, without sign.
        spelled: the statement's words for it, in upper case.
        length: what stands in parentheses.
        scale: the second number in parentheses.
        unsigned: has UNSIGNED, or ZEROFILL which implies it.
        zerofill: has ZEROFILL.
        charset: the character set named, `binary` for BYTE.
        collation: the collation named.
        binary_order: the attribute BINARY, which asks for the `_bin` collation.
        labels: of ENUM and SET.
        serial: SERIAL, which implies NOT NULL AUTO_INCREMENT UNIQUE.
    """

    name: str
    spelled: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    zerofill: bool = False
    charset: str | None = None
    collation: str | None = None
    binary_order: bool = False
    labels: tuple[str, ...] = ()
    serial: bool = False


_INTEGERS = {
    "TINYINT": "TINYINT",
    "INT1": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT2": "SMALLINT",
    "MEDIUMINT": "MEDIUMINT",
    "INT3": "MEDIUMINT",
    "MIDDLEINT": "MEDIUMINT",
    "INT": "INT",
    "INTEGER": "INT",
    "INT4": "INT",
    "BIGINT": "BIGINT",
    "INT8": "BIGINT",
}
_FLOATS = {
    "FLOAT": "FLOAT",
    "FLOAT4": "FLOAT",
    "DOUBLE": "DOUBLE",
    "DOUBLE PRECISION": "DOUBLE",
    "FLOAT8": "DOUBLE",
    "FLOAT8 PRECISION": "DOUBLE",
    "REAL": "DOUBLE",
}
_DECIMALS = {"DECIMAL": "DECIMAL", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "FIXED": "DECIMAL"}
_NUMBERS = _INTEGERS | _FLOATS | _DECIMALS
_TEXTS = {
    "CHAR": "CHAR",
    "CHARACTER": "CHAR",
    "CHAR VARYING": "VARCHAR",
    "CHARACTER VARYING": "VARCHAR",
    "VARCHAR": "VARCHAR",
    "VARCHARACTER": "VARCHAR",
    "TINYTEXT": "TINYTEXT",
    "TEXT": "TEXT",
    "MEDIUMTEXT": "MEDIUMTEXT",
    "LONGTEXT": "LONGTEXT",
    "LONG": "MEDIUMTEXT",
    "LONG VARCHAR": "MEDIUMTEXT",
    "LONG VARCHARACTER": "MEDIUMTEXT",
    "LONG CHAR VARYING": "MEDIUMTEXT",
    "LONG CHARACTER VARYING": "MEDIUMTEXT",
}
_NATIONAL = {
    "NCHAR": "CHAR",
    "NATIONAL CHAR": "CHAR",
    "NATIONAL CHARACTER": "CHAR",
    "NVARCHAR": "VARCHAR",
    "NCHAR VARCHAR": "VARCHAR",
    "NCHAR VARCHARACTER": "VARCHAR",
    "NCHAR VARYING": "VARCHAR",
    "NATIONAL VARCHAR": "VARCHAR",
    "NATIONAL VARCHARACTER": "VARCHAR",
    "NATIONAL CHAR VARYING": "VARCHAR",
    "NATIONAL CHARACTER VARYING": "VARCHAR",
}
_OTHERS = {
    "BIT": "BIT",
    "YEAR": "YEAR",
    "DATE": "DATE",
    "TIME": "TIME",
    "DATETIME": "DATETIME",
    "TIMESTAMP": "TIMESTAMP",
    "BINARY": "BINARY",
    "VARBINARY": "VARBINARY",
    "CHAR BYTE": "BINARY",
    "TINYBLOB": "TINYBLOB",
    "BLOB": "BLOB",
    "MEDIUMBLOB": "MEDIUMBLOB",
    "LONGBLOB": "LONGBLOB",
    "LONG VARBINARY": "MEDIUMBLOB",
    "JSON": "JSON",
    "VECTOR": "VECTOR",
    "UUID": "UUID",
    "INET4": "INET4",
    "INET6": "INET6",
    "XMLTYPE": "XMLTYPE",
    "GEOMETRY": "GEOMETRY",
    "POINT": "POINT",
    "LINESTRING": "LINESTRING",
    "POLYGON": "POLYGON",
    "MULTIPOINT": "MULTIPOINT",
    "MULTILINESTRING": "MULTILINESTRING",
    "MULTIPOLYGON": "MULTIPOLYGON",
    "GEOMETRYCOLLECTION": "GEOMETRYCOLLECTION",
    "GEOMCOLLECTION": "GEOMETRYCOLLECTION",
}
_ORACLE = {
    "VARCHAR2": "VARCHAR",
    "CLOB": "LONGTEXT",
    "RAW": "VARBINARY",
    "BLOB": "LONGBLOB",
    "DATE": "DATETIME",
    "NUMBER": "DECIMAL",
}
"""What MariaDB's mode ORACLE adds, and what it takes for something else."""
_CONTINUATIONS = {
    "DOUBLE": ("PRECISION",),
    "FLOAT8": ("PRECISION",),
    "CHAR": ("VARYING", "BYTE"),
    "CHARACTER": ("VARYING",),
    "NCHAR": ("VARYING", "VARCHAR", "VARCHARACTER"),
    "NATIONAL": ("CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER"),
    "NATIONAL CHAR": ("VARYING",),
    "NATIONAL CHARACTER": ("VARYING",),
    "LONG": ("VARCHAR", "VARCHARACTER", "VARBINARY", "CHAR", "CHARACTER"),
    "LONG CHAR": ("VARYING",),
    "LONG CHARACTER": ("VARYING",),
}
_FLOAT_DIGITS = 24
"""The most bits of precision p for which FLOAT(p) is FLOAT and not DOUBLE."""


def read_type(cursor: Cursor) -> DataType:
    """Read a data type with its sign, character set and collation.

    Raises:
        DdlError: no known type stands here.
    """
    if cursor.ahead(1).key == ".":
        schema = cursor.identifier().lower()
        cursor.expect(".")
        return _read_named(cursor, oracle=schema == "oracle_schema")
    return _read_named(cursor, oracle=SqlMode.ORACLE in cursor.session.sql_mode)


def _read_named(cursor: Cursor, *, oracle: bool) -> DataType:
    start = cursor.token
    words = _words(cursor)
    if oracle and words in _ORACLE:
        return _read_oracle(cursor, words)
    if words in _NUMBERS:
        return _read_number(cursor, words)
    if words in _TEXTS or words in _NATIONAL:
        return _read_text(cursor, words)
    if words in ("ENUM", "SET"):
        return _read_labels(cursor, words)
    if words in ("BOOL", "BOOLEAN"):
        return DataType("TINYINT", words, length=1)  # https://dev.mysql.com/doc/refman/en/numeric-type-syntax.html
    if words == "SERIAL":
        return DataType("BIGINT", "BIGINT UNSIGNED", unsigned=True, serial=True)
    if words in _OTHERS:
        return _read_other(cursor, words)
    raise cursor.error("unknown data type", start)


def _words(cursor: Cursor) -> str:
    words = cursor.advance().key
    while cursor.at_any(*_CONTINUATIONS.get(words, ())):
        words += " " + cursor.advance().key
    return words


def _read_dimensions(cursor: Cursor, data_type: DataType) -> None:
    """Read `(length)` or `(length, scale)`; empty parentheses say nothing."""
    if not cursor.accept("("):
        return
    if cursor.accept(")"):
        return
    data_type.length = cursor.number()
    if cursor.accept(","):
        data_type.scale = cursor.number()
    cursor.expect(")")


def _read_number(cursor: Cursor, words: str) -> DataType:
    data_type = DataType(_NUMBERS[words], words)
    _read_dimensions(cursor, data_type)
    written = set()
    while attribute := cursor.accept_any("SIGNED", "UNSIGNED", "ZEROFILL"):
        written.add(attribute)
    if "ZEROFILL" in written:
        written.add("UNSIGNED")
    shown = written - {"SIGNED"} if "UNSIGNED" in written else written
    data_type.spelled = " ".join([words, *sorted(shown)])
    data_type.zerofill = "ZEROFILL" in written
    data_type.unsigned = "UNSIGNED" in written
    if data_type.name == "DECIMAL":
        data_type.length, data_type.scale = data_type.length or 10, data_type.scale or 0
    elif words == "REAL" and SqlMode.REAL_AS_FLOAT in cursor.session.sql_mode:
        data_type.name = "FLOAT"
    elif data_type.name == "FLOAT" and data_type.scale is None:
        _apply_precision(data_type)
    return data_type


def _apply_precision(data_type: DataType) -> None:
    """Choose the type of FLOAT(p); the server forgets p."""
    if data_type.length is not None and data_type.length > _FLOAT_DIGITS:
        data_type.name = "DOUBLE"
    data_type.length = None


def _read_text(cursor: Cursor, words: str) -> DataType:
    national = words in _NATIONAL
    data_type = DataType(_NATIONAL[words] if national else _TEXTS[words], words)
    _read_dimensions(cursor, data_type)
    if data_type.name == "CHAR" and data_type.length is None:
        data_type.length = 1
    if national:  # https://dev.mysql.com/doc/refman/en/charset-national.html
        data_type.charset = "utf8mb3"
    read_text_attributes(cursor, data_type)
    return data_type


def _read_labels(cursor: Cursor, words: str) -> DataType:
    data_type = DataType(words, words)
    data_type.labels = tuple(cursor.parenthesized(lambda: _label(cursor)))
    # Debezium's lengths: one character, and of a SET one a label with commas between
    data_type.length = 1 if words == "ENUM" else 2 * len(data_type.labels) - 1
    read_text_attributes(cursor, data_type)
    return data_type


def _label(cursor: Cursor) -> str:
    """Read a label; the server takes spaces off its end."""
    if cursor.token.key.startswith("_"):  # a character set introducer
        cursor.advance()
    return cursor.string().rstrip(" ")


def read_text_attributes(cursor: Cursor, data_type: DataType) -> None:
    """Read what may follow a text type in any order: character set, collation, BINARY, ASCII, UNICODE, BYTE."""
    while True:
        if cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET") or cursor.accept("CHARSET"):
            data_type.charset = read_charset_name(cursor)
        elif cursor.accept("COLLATE"):
            data_type.collation = read_charset_name(cursor)
        elif cursor.accept("BINARY"):
            data_type.binary_order = True
            data_type.spelled += " BINARY"
        elif word := cursor.accept_any("ASCII", "UNICODE", "BYTE"):
            data_type.charset = {"ASCII": "latin1", "UNICODE": "ucs2", "BYTE": "binary"}[word]
        else:
            return


def read_charset_name(cursor: Cursor) -> str:
    """Read the name of a character set or collation, which may be quoted either way."""
    return cursor.identifier() if cursor.at_name() else cursor.string()


def _read_other(cursor: Cursor, words: str) -> DataType:
    data_type = DataType(_OTHERS[words], words)
    _read_dimensions(cursor, data_type)
    if data_type.name in ("BIT", "BINARY") and data_type.length is None:
        data_type.length = 1
    if data_type.name == "VECTOR" and data_type.length is None:
        data_type.length = 2048  # https://dev.mysql.com/doc/refman/en/vector.html
    if data_type.name == "YEAR":  # which has no sign, whatever is said
        while cursor.accept_any("UNSIGNED", "SIGNED", "ZEROFILL"):
            pass
    if data_type.name == "JSON" and cursor.flavor is Flavor.MARIADB:  # https://mariadb.com/kb/en/json/
        data_type.name, data_type.charset, data_type.collation = "LONGTEXT", "utf8mb4", "utf8mb4_bin"
    return data_type


def _read_oracle(cursor: Cursor, words: str) -> DataType:
    data_type = DataType(_ORACLE[words], words)
    _read_dimensions(cursor, data_type)
    if words == "NUMBER":
        data_type.name = "DECIMAL" if data_type.length else "DOUBLE"
        data_type.scale = (data_type.scale or 0) if data_type.length else None
    elif words in ("VARCHAR2", "CLOB"):
        read_text_attributes(cursor, data_type)
    return data_type
