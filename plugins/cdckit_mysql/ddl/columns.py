"""Reads column definitions.

https://dev.mysql.com/doc/refman/en/create-table.html, https://mariadb.com/kb/en/create-table/#column-definitions
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.defaults import Default, read_default, read_now
from cdckit_mysql.ddl.keys import Key, KeyKind, read_reference
from cdckit_mysql.ddl.types import DataType, read_text_attributes, read_type


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
    cursor.accept("PRIMARY")
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
    elif cursor.accept_any("START", "END") is None:
        raise cursor.error("expected START or END")
    else:
        column.optional = False


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


def _skip_versioning(cursor: Cursor, _: ColumnDefinition) -> None:
    cursor.advance()
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
    "WITH": _skip_versioning,
    "WITHOUT": _skip_versioning,
}
"""How each attribute is read, by its first word, which is the next token."""
