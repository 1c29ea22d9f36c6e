"""The columns by which a table is divided into chunks, and their values as texts and as SQL.

Chunks are ranges of the table's key in the order of its index, which the server walks along. A value is kept as text
that the server itself has written, and written back as a literal of its kind: it means the same in every session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from cdckit.connector.incremental.key_order import KeyOrder
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.facts import quoted
from cdckit_mysql.table import Column, Table

_NUMBERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "DECIMAL"})
_TEXTS = frozenset({"CHAR", "VARCHAR"})
_BYTES = frozenset({"BINARY", "VARBINARY"})
_WRITTEN = frozenset({"DATE", "DATETIME", "TIMESTAMP", "TIME", "YEAR", "UUID", "INET4", "INET6"})
"""Values that SQL writes in quotation marks as the server shows them; times are those of UTC."""
_ORDERED = _NUMBERS | _TEXTS | _BYTES | _WRITTEN
"""Types that are compared as their index is sorted, by values that texts tell exactly."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_SHOWN = re.compile(r"[0-9A-Fa-f:. -]+")


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """The first columns of a table's key, in order; several rows may share their values where they are not all of it.

    Attributes:
        columns: these, at least one.
    """

    columns: tuple[Column, ...]

    @property
    def order(self) -> KeyOrder:
        """The order of the rows, and its ranges."""
        return KeyOrder([quoted(column.name) for column in self.columns], nullable=False)

    @property
    def selected(self) -> str:
        """What gives the texts of a key."""
        return ", ".join(map(_selected, self.columns))

    def texts(self, row: Sequence[object]) -> tuple[str, ...]:
        """A key that `selected` gave, as it is kept."""
        return tuple(map(_text, self.columns, row))

    def literals(self, texts: Sequence[str]) -> list[str]:
        """A key that was kept, as SQL.

        Raises:
            ValueError: it is no key of these columns.
        """
        return [_literal(column, text) for column, text in zip(self.columns, texts, strict=True)]

    def between(self, after: Sequence[str], last: Sequence[str]) -> str:
        """The condition for the rows behind one key, up to another; an empty one is before all, or behind all.

        Raises:
            ValueError: a key is none of these columns.
        """
        if not after and not last:
            return ""
        return self.order.between(*(self.literals(key) if key else None for key in (after, last)))


def chunk_key(table: Table, filters: Filters) -> ChunkKey | None:
    """What divides a table; None where it has no key, or one whose values cannot be told.

    The primary key, else the first unique one without NULLs, by which the server sorts its rows. What events do not
    show does not go into offsets either.
    """
    shown = _shown_by(table, filters)
    named = (table.column(name) for name in table.key_columns)
    columns = tuple(takewhile(lambda column: column.base_type in _ORDERED and shown(column), _known(named)))
    return ChunkKey(columns) if columns else None


def _known(columns: Iterator[Column | None]) -> Iterator[Column]:
    return (column for column in columns if column is not None)


def _shown_by(table: Table, filters: Filters) -> Callable[[Column], bool]:
    whole = filters.key_columns(table)

    def shown(column: Column) -> bool:
        masked = filters.mapping(table.id, column) is not None and column.name not in whole
        return filters.column(table.id, column.name) and not masked

    return shown


def _selected(column: Column) -> str:
    name = quoted(column.name)
    if column.base_type in _TEXTS:
        return f"HEX(CONVERT({name} USING utf8mb4))"
    return f"HEX({name})" if column.base_type in _BYTES else f"CAST({name} AS CHAR)"


def _text(column: Column, value: object) -> str:
    text = value.decode() if isinstance(value, bytes) else str(value)
    return bytes.fromhex(text).decode() if column.base_type in _TEXTS else text


def _literal(column: Column, text: str) -> str:
    kind = column.base_type
    if kind in _TEXTS:
        return f"_utf8mb4 X'{text.encode().hex()}'"
    pattern = _NUMBER if kind in _NUMBERS else _HEX if kind in _BYTES else _SHOWN
    if pattern.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no value of column {column.name} ({column.type_name})")
    if kind in _NUMBERS:
        return text
    return f"X'{text}'" if kind in _BYTES else f"'{text}'"
