"""Reads column definitions, and settles what they leave to the table, the session and the server.

https://dev.mysql.com/doc/refman/en/create-table.html, https://mariadb.com/kb/en/create-table/#column-definitions
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cdckit_mysql.ddl.defaults import Default, read_default, read_now, value_for
from cdckit_mysql.ddl.keys import Key, KeyKind, read_reference
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import BINARY, Charsets, Collation, Flavor
from cdckit_mysql.ddl.types import DataType, read_text_attributes, read_type
from cdckit_mysql.table import Column


@dataclass(slots=True)
class ColumnDefinition:
    """A column as a statement defines it.

    Attributes:
        name: as written.
        data_type: its type.
        optional: NULL or NOT NULL; None where neither is said.
        default: None without a DEFAULT.
        updates: has ON UPDATE CURRENT_TIMESTAMP.
        auto_incremented: has AUTO_INCREMENT.
        generated: is computed.
        invisible: has INVISIBLE.
        row_end: has AS ROW END.
        versioned: has WITH SYSTEM VERSIONING.
        comment: its COMMENT.
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
    row_end: bool = False
    versioned: bool = False
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
    while True:
        read, start = _ATTRIBUTES.get(cursor.token.key), cursor.mark()
        if read is not None:
            read(cursor, column)
            if cursor.mark() == start:  # CHARACTER or CHAR without SET
                raise cursor.error("expected an attribute of a column")
        elif not _skip_engine_attribute(cursor):
            return column


def _not(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("NOT")
    if cursor.accept("NULL"):
        column.optional = False
    else:
        cursor.expect("SECONDARY")


def _null(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("NULL")
    column.optional = True


def _default(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("DEFAULT")
    column.default = read_default(cursor)


def _on_update(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("ON", "UPDATE")
    read_now(cursor)
    column.updates = True


def _auto_increment(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("AUTO_INCREMENT")
    column.auto_incremented = True
    if not cursor.session.shown:
        column.optional = False


def _serial(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("SERIAL", "DEFAULT", "VALUE")
    _make_serial(column)


def _make_serial(column: ColumnDefinition) -> None:
    column.optional, column.auto_incremented = False, True
    column.keys.append(Key(KeyKind.UNIQUE, None, (column.name,)))


def _unique(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("UNIQUE")
    cursor.accept("KEY")
    column.keys.append(Key(KeyKind.UNIQUE, None, (column.name,)))


def _primary(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.accept("PRIMARY")  # KEY alone means it, too: https://dev.mysql.com/doc/refman/en/create-table.html
    cursor.accept("KEY")
    column.keys.append(Key(KeyKind.PRIMARY, None, (column.name,)))


def _references(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("REFERENCES")
    read_reference(cursor)
    column.keys.append(Key(KeyKind.FOREIGN, None, (column.name,)))


def _generated(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.accept("GENERATED", "ALWAYS")
    cursor.expect("AS")
    column.generated = True
    if not cursor.accept("ROW"):
        cursor.skip_parentheses()
        return
    column.optional, column.row_end = False, cursor.accept("END")  # https://mariadb.com/kb/en/system-versioned-tables/
    if not column.row_end and not cursor.accept("START"):
        raise cursor.error("expected START or END")


def _comment(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("COMMENT")
    column.comment = cursor.string()


def _invisible(cursor: Cursor, column: ColumnDefinition) -> None:
    cursor.expect("INVISIBLE")
    column.invisible = True


def _text(cursor: Cursor, column: ColumnDefinition) -> None:
    read_text_attributes(cursor, column.data_type)


def _skip_word(cursor: Cursor, _: ColumnDefinition) -> None:
    cursor.advance()


def _skip_word_and_value(cursor: Cursor, _: ColumnDefinition) -> None:
    cursor.advance()
    cursor.accept("=")
    cursor.advance()


def _skip_compression(cursor: Cursor, _: ColumnDefinition) -> None:
    cursor.expect("COMPRESSED")
    if cursor.accept("="):
        cursor.advance()


def _skip_constraint_name(cursor: Cursor, _: ColumnDefinition) -> None:
    cursor.expect("CONSTRAINT")
    if not cursor.at("CHECK"):
        cursor.identifier()


def _skip_check(cursor: Cursor, _: ColumnDefinition) -> None:
    cursor.expect("CHECK")
    cursor.skip_parentheses()
    cursor.accept("NOT", "ENFORCED")
    cursor.accept("ENFORCED")


def _versioning(cursor: Cursor, column: ColumnDefinition) -> None:
    column.versioned = cursor.accept("WITH")
    cursor.accept("WITHOUT")
    cursor.expect("SYSTEM", "VERSIONING")


def _skip_engine_attribute(cursor: Cursor) -> bool:
    """Read `name = value`, which a storage engine defines, if that comes next."""
    if not (cursor.at_name() and cursor.ahead(1).key == "="):
        return False
    for _ in range(3):
        cursor.advance()
    return True


_ATTRIBUTES: dict[str, Callable[[Cursor, ColumnDefinition], None]] = {
    "AS": _generated,
    "AUTO_INCREMENT": _auto_increment,
    "BINARY": _text,
    "CHARACTER": _text,
    "CHARSET": _text,
    "CHECK": _skip_check,
    "COLLATE": _text,
    "COLUMN_FORMAT": _skip_word_and_value,
    "COMMENT": _comment,
    "COMPRESSED": _skip_compression,
    "CONSTRAINT": _skip_constraint_name,
    "DEFAULT": _default,
    "ENGINE_ATTRIBUTE": _skip_word_and_value,
    "GENERATED": _generated,
    "INVISIBLE": _invisible,
    "KEY": _primary,
    "NOT": _not,
    "NULL": _null,
    "ON": _on_update,
    "PERSISTENT": _skip_word,
    "PRIMARY": _primary,
    "REFERENCES": _references,
    "REF_SYSTEM_ID": _skip_word_and_value,
    "SECONDARY_ENGINE_ATTRIBUTE": _skip_word_and_value,
    "SERIAL": _serial,
    "SRID": _skip_word_and_value,
    "STORAGE": _skip_word_and_value,
    "STORED": _skip_word,
    "UNIQUE": _unique,
    "VIRTUAL": _skip_word,
    "VISIBLE": _skip_word,
    "WITH": _versioning,
    "WITHOUT": _versioning,
}
"""How each attribute is read, by its first word, which is the next token."""


# -- what the statement leaves open

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
# TEXT(n) and BLOB(n) ask for the smallest type that holds n: https://dev.mysql.com/doc/refman/en/string-type-syntax.html
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
    has_default, default = _settled_default(column, name, charset, cursor)
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
        row_end=column.row_end,
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


def _settled_default(
    column: ColumnDefinition, type_name: str, charset: str | None, cursor: Cursor
) -> tuple[bool, str | None]:
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
