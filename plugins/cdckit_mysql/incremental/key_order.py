"""The order in which an incremental snapshot reads a table, and its keys as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import quoted
from cdckit_mysql.table import Column

SqlKey = list[str]
"""A key as the literals of its columns."""

_AS_NUMBERS = frozenset({"BIT", "ENUM", "SET"})
"""Types that are sorted by a number, but compared with literals as text."""


class KeyOrder:
    """Ranges of the columns that a table is read in the order of.

    Args:
        columns: these; together they are unique.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = ", ".join(_expression(column) for column in columns)
        self.descending = ", ".join(f"{_expression(column)} DESC" for column in columns)
        self._expressions = [_expression(column) for column in columns]
        self._nullable = any(column.optional for column in columns)

    def between(self, after: SqlKey | None, last: SqlKey) -> str:
        """The condition for the rows behind `after`, up to `last`; NULLs come first."""
        up_to = self._compared("<", "<=", last)
        if after is not None:
            return f"{self._compared('>', '>', after)} AND {up_to}"
        nulls = "".join(f" OR {name} IS NULL" for name in self._expressions) if self._nullable else ""
        return f"({up_to}{nulls})"

    def _compared(self, before_last: str, at_last: str, key: SqlKey) -> str:
        """Column by column, which the server finds in the index; it does not where rows are compared as wholes."""
        *front, last = zip(self._expressions, key, strict=True)
        condition = f"{last[0]} {at_last} {last[1]}"
        for name, literal in reversed(front):
            condition = f"({name} {before_last} {literal} OR ({name} = {literal} AND {condition}))"
        return condition


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
