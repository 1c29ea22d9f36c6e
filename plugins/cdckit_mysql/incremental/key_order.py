"""The order in which an incremental snapshot reads a table, and its keys as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdckit.connector.incremental import KeyOrder
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import quoted
from cdckit_mysql.table import Column

SqlKey = list[str]
"""A key as the literals of its columns."""

_AS_NUMBERS = frozenset({"BIT", "ENUM", "SET"})
"""Types that are sorted by a number, but compared with literals as text."""
_NUMBERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR", "DECIMAL", "FLOAT", "DOUBLE"})


def key_order(columns: Sequence[Column]) -> KeyOrder:
    """The ranges of these columns, which together are unique."""
    return KeyOrder([_expression(column) for column in columns], nullable=any(column.optional for column in columns))


def selected(columns: Sequence[Column]) -> str:
    """What gives the values of a key; the server shows a FLOAT with fewer digits than it has."""
    shown = zip(columns, map(_expression, columns), strict=True)
    return ", ".join(f"{name} + 0e0" if column.base_type == "FLOAT" else name for column, name in shown)


def ordered_as(column: Column) -> str:
    """The column with what its order depends on; numbers of all types have one."""
    if column.base_type in _NUMBERS:
        return column.name
    return " ".join(filter(None, (column.name, column.base_type, column.collation)))


def _expression(column: Column) -> str:
    name = quoted(column.name)
    return f"({name} + 0)" if column.base_type in _AS_NUMBERS else name


def sql_key(connection: Connection, values: Sequence[Any]) -> SqlKey:
    """A key that the server gave, as literals."""
    return [_literal(connection, value) for value in values]


def _literal(connection: Connection, value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    with connection.cursor() as cursor:
        return cursor.mogrify("%s", (value,))
