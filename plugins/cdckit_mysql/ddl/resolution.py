"""Settles what column definitions leave to the table, the session and the server."""

from __future__ import annotations

from collections.abc import Iterable

from cdckit_mysql.ddl.charsets import BINARY, Charsets, Collation
from cdckit_mysql.ddl.columns import ColumnDefinition
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.defaults import Default, value_for
from cdckit_mysql.ddl.session import Flavor
from cdckit_mysql.ddl.types import DataType
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


def resolved(column: ColumnDefinition, position: int, table: Collation, cursor: Cursor) -> Column:
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
        optional=column.optional is not False,
        auto_incremented=column.auto_incremented,
        updates=column.updates,
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
    return True, value_for(column.default, type_name, column.data_type.scale, charset, cursor.flavor)


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
