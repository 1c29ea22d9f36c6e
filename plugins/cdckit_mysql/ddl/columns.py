"""Reads column definitions and settles what they leave to the table and the session.

https://dev.mysql.com/doc/refman/en/create-table.html, https://mariadb.com/kb/en/create-table/#column-definitions
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cdckit_mysql.ddl.charsets import BINARY, Charsets, Collation
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.defaults import Default, read_default, read_now, value_for
from cdckit_mysql.ddl.keys import Key, KeyKind, read_reference
from cdckit_mysql.ddl.session import Flavor
from cdckit_mysql.ddl.types import DataType, read_text_attributes, read_type
from cdckit_mysql.table import Column

_TEXT_TYPES = frozenset({"CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "SET"})
_BYTES_OF_TEXT = {
    "CHAR": "BINARY",
    "VARCHAR": "VARBINARY",
    "TINYTEXT": "TINYBLOB",
    "TEXT": "BLOB",
    "MEDIUMTEXT": "MEDIUMBLOB",
    "LONGTEXT": "LONGBLOB",
}
"""What a text type becomes when its character set is `binary`."""
_SIZES = ((0xFF, "TINY"), (0xFFFF, ""), (0xFFFFFF, "MEDIUM"), (0xFFFFFFFF, "LONG"))
"""The most bytes that each size of TEXT and BLOB holds."""
_ZERO_TIMESTAMP = "0000-00-00 00:00:00"


@dataclass(slots=True)
class ColumnDefinition:
    """A column as a statement defines it.

    Attributes:
        name: as written.
        data_type: its type.
        optional: NULL or NOT NULL; None where neither is said.
        default: None without a DEFAULT.
        updates: has ON UPDATE CURRENT_TIMESTAMP.
        keys: the keys that the column's own attributes make.
    """

    name: str
    data_type: DataType
    optional: bool | None = None
    default: Default | None = None
    updates: bool = False
    auto_incremented: bool = False
    generated: bool = False
    invisible: bool = False
    comment: str | None = None
    keys: list[Key] = field(default_factory=list)


def read_column(cursor: Cursor) -> ColumnDefinition:
    """Read a column's name, type and attributes."""
    return read_definition(cursor, cursor.column_name())


def read_definition(cursor: Cursor, name: str) -> ColumnDefinition:
    """Read the type and the attributes of a column whose name is read already."""
    column = ColumnDefinition(name, read_type(cursor))
    if column.data_type.serial:
        _make_serial(column)
    while _read_attribute(cursor, column):
        pass
    return column


def _make_serial(column: ColumnDefinition) -> None:
    column.optional, column.auto_incremented = False, True
    column.keys.append(Key(KeyKind.UNIQUE, None, (column.name,)))


def _read_attribute(cursor: Cursor, column: ColumnDefinition) -> bool:
    return (
        _read_value_attribute(cursor, column)
        or _read_key_attribute(cursor, column)
        or _read_generation(cursor, column)
        or _read_text_attribute(cursor, column)
        or _skip_attribute(cursor)
    )


def _read_value_attribute(cursor: Cursor, column: ColumnDefinition) -> bool:
    if cursor.accept("NOT", "NULL"):
        column.optional = False
    elif cursor.accept("NULL"):
        column.optional = True
    elif cursor.accept("DEFAULT"):
        column.default = read_default(cursor)
    elif cursor.accept("ON", "UPDATE"):
        read_now(cursor)
        column.updates = True
    elif cursor.accept("AUTO_INCREMENT"):
        column.auto_incremented = True
    elif cursor.accept("SERIAL", "DEFAULT", "VALUE"):
        _make_serial(column)
    else:
        return False
    return True


def _read_key_attribute(cursor: Cursor, column: ColumnDefinition) -> bool:
    if cursor.accept("UNIQUE"):
        cursor.accept("KEY")
        column.keys.append(Key(KeyKind.UNIQUE, None, (column.name,)))
    elif cursor.accept("PRIMARY"):
        cursor.accept("KEY")
        column.keys.append(Key(KeyKind.PRIMARY, None, (column.name,)))
    elif cursor.accept("KEY"):
        column.keys.append(Key(KeyKind.PRIMARY, None, (column.name,)))
    elif cursor.accept("REFERENCES"):
        read_reference(cursor)
        column.keys.append(Key(KeyKind.FOREIGN, None, (column.name,)))
    else:
        return False
    return True


def _read_generation(cursor: Cursor, column: ColumnDefinition) -> bool:
    cursor.accept("GENERATED", "ALWAYS")
    if not cursor.accept("AS"):
        return bool(cursor.accept_any("VIRTUAL", "STORED", "PERSISTENT"))
    column.generated = True
    if cursor.accept("ROW"):
        if cursor.accept_any("START", "END") is None:
            raise cursor.error("expected START or END")
        column.optional = False
    else:
        cursor.skip_parentheses()
    return True


def _read_text_attribute(cursor: Cursor, column: ColumnDefinition) -> bool:
    if cursor.accept("COMMENT"):
        column.comment = cursor.string()
    elif cursor.accept("INVISIBLE"):
        column.invisible = True
    elif cursor.at_any("COLLATE", "CHARACTER", "CHARSET", "BINARY"):
        read_text_attributes(cursor, column.data_type)
    else:
        return False
    return True


def _skip_attribute(cursor: Cursor) -> bool:
    """Read an attribute that changes nothing here."""
    if cursor.accept("CONSTRAINT"):
        if not cursor.at("CHECK"):
            cursor.identifier()
    elif cursor.accept("CHECK"):
        cursor.skip_parentheses()
        cursor.accept("NOT", "ENFORCED")
        cursor.accept("ENFORCED")
    elif cursor.accept_any("COLUMN_FORMAT", "STORAGE", "SRID"):
        cursor.advance()
    elif cursor.accept_any("WITH", "WITHOUT"):
        cursor.expect("SYSTEM", "VERSIONING")
    elif cursor.accept("NOT", "SECONDARY") or cursor.accept("VISIBLE"):
        pass
    elif cursor.accept("COMPRESSED"):
        if cursor.accept("="):
            cursor.advance()
    else:
        return _skip_engine_attribute(cursor)
    return True


def _skip_engine_attribute(cursor: Cursor) -> bool:
    """Read `name = value`, an attribute that a storage engine defines, or ENGINE_ATTRIBUTE."""
    if cursor.at_any("ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"):
        cursor.advance()
        cursor.accept("=")
        cursor.advance()
        return True
    if cursor.at_name() and cursor.ahead(1).key == "=":
        for _ in range(3):
            cursor.advance()
        return True
    return False


def settle(column: ColumnDefinition, position: int, table: Collation, cursor: Cursor) -> Column:
    """Return a column's definition with everything that the server adds to what was written.

    Args:
        column: what was written.
        position: its place in the table, from 1.
        table: the table's default collation.
        cursor: of the statement.
    """
    data_type = column.data_type
    collation = _collation(data_type, table, cursor) if data_type.name in _TEXT_TYPES else None
    name, length = _stored_type(data_type, collation, cursor.charsets)
    charset = collation.charset if collation and collation != BINARY else None
    has_default, default = _default(column, name, charset, cursor)
    return Column(
        name=column.name,
        type_name=name + " UNSIGNED" * data_type.unsigned + " ZEROFILL" * data_type.zerofill,
        position=position,
        length=length,
        scale=data_type.scale,
        charset=charset,
        collation=collation.name if collation and charset else None,
        optional=column.optional is not False and not column.auto_incremented,
        auto_incremented=column.auto_incremented,
        generated=column.generated,
        has_default=has_default,
        default=default,
        default_is_expression=column.default is not None and column.default.expression,
        enum_values=data_type.labels,
        comment=column.comment or None,
        type_expression=data_type.spelled,
        invisible=column.invisible,
    )


def _collation(data_type: DataType, table: Collation, cursor: Cursor) -> Collation:
    """Return the collation of a text column: its own, its character set's default, or the table's."""
    charsets = cursor.charsets
    if data_type.collation is not None:
        charset = charsets.charset(data_type.charset) if data_type.charset else table.charset
        return charsets.collation(data_type.collation, charset)
    if data_type.charset is None:
        return charsets.binary_order(table.charset) if data_type.binary_order else table
    if data_type.binary_order:
        return charsets.binary_order(data_type.charset)
    return charsets.default(data_type.charset, cursor.session.default_collations)


def _stored_type(data_type: DataType, collation: Collation | None, charsets: Charsets) -> tuple[str, int | None]:
    """Return the type and length that the server makes of what was asked for.

    https://dev.mysql.com/doc/refman/en/silent-column-changes.html
    """
    name, length = data_type.name, data_type.length
    if collation == BINARY:
        name = _BYTES_OF_TEXT.get(name, name)
    if name in ("TEXT", "BLOB") and length:
        return _sized(name, length * _character(collation, charsets)), None
    if name in ("VARCHAR", "VARBINARY") and length is not None:
        size = length * _character(collation, charsets)
        if size > 0xFFFF:
            return _sized("TEXT" if name == "VARCHAR" else "BLOB", size), None
    return name, length


def _character(collation: Collation | None, charsets: Charsets) -> int:
    return charsets.max_bytes(collation.charset) if collation else 1


def _sized(kind: str, size: int) -> str:
    """Return the smallest TEXT or BLOB type that holds so many bytes."""
    return next(prefix for limit, prefix in _SIZES if size <= limit or prefix == "LONG") + kind


def grown_text(type_name: str, before: str, after: str, charsets: Charsets) -> str:
    """Return the TEXT type that holds as many characters after a conversion as before it."""
    if not type_name.endswith("TEXT") or charsets.max_bytes(after) <= charsets.max_bytes(before):
        return type_name
    held = next(limit for limit, prefix in _SIZES if type_name == f"{prefix}TEXT")
    return _sized("TEXT", held * charsets.max_bytes(after) // charsets.max_bytes(before))


def _default(column: ColumnDefinition, type_name: str, charset: str | None, cursor: Cursor) -> tuple[bool, str | None]:
    """Return whether the column has a default, and its text."""
    if column.auto_incremented:
        return False, None
    if column.default is None or (cursor.flavor is Flavor.MYSQL and _is_void(column.default, type_name)):
        return column.optional is not False and not column.generated, None
    if column.default.expression:
        return True, _with_precision(column.default.text, column.data_type)
    return True, value_for(column.default, type_name, column.data_type.scale, charset)


def _is_void(default: Default, type_name: str) -> bool:
    """Whether this is DEFAULT '' of a TEXT or BLOB, which MySQL passes over when it is not strict."""
    return default.text == "" and default.quoted and type_name.endswith(("TEXT", "BLOB"))


def _with_precision(text: str | None, data_type: DataType) -> str | None:
    """Return the current time with as many digits as the column has, which MariaDB lets the statement leave out."""
    precise = data_type.name in ("DATETIME", "TIMESTAMP")
    return _now(data_type) if precise and text == "CURRENT_TIMESTAMP" else text


def apply_timestamp_defaults(columns: Iterable[ColumnDefinition | Column]) -> None:
    """Give TIMESTAMP columns what they get when `explicit_defaults_for_timestamp` is off.

    https://dev.mysql.com/doc/refman/en/server-system-variables.html#sysvar_explicit_defaults_for_timestamp

    Args:
        columns: all of the table, in order; those that the statement defines are changed in place.
    """
    first = True
    for column in columns:
        if isinstance(column, Column):
            first &= column.type_name != "TIMESTAMP"
        elif column.data_type.name == "TIMESTAMP":
            _apply_timestamp_default(column, first=first)
            first = False


def _apply_timestamp_default(column: ColumnDefinition, *, first: bool) -> None:
    if column.optional is None:
        column.optional = False
    if column.optional is False and column.default is None and not column.generated:
        now = Default(_now(column.data_type), expression=True)
        column.default = now if first and not column.updates else Default(_ZERO_TIMESTAMP)


def _now(data_type: DataType) -> str:
    return f"CURRENT_TIMESTAMP({data_type.length})" if data_type.length else "CURRENT_TIMESTAMP"
