"""Reads keys and constraints, names those without a name as the server does, and keeps a table's indexes.

https://dev.mysql.com/doc/refman/en/create-table.html#create-table-indexes-keys
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.table import Index

EXPRESSION = ""
"""Stands for a key part that is no column."""
_KINDS = ("BTREE", "HASH", "RTREE")


class KeyKind(Enum):
    """What a key is for."""

    PRIMARY = auto()
    UNIQUE = auto()
    PLAIN = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True)
class Key:
    """A key as a statement defines it.

    Attributes:
        kind: what it is for.
        name: None where the server has to find one.
        columns: its parts, `EXPRESSION` for those that are no columns.
        over_period: has a part `WITHOUT OVERLAPS`, which stands for the columns of the table's period.
        if_not_exists: MariaDB's clause: does nothing when there is an index of that name, or a primary key.
    """

    kind: KeyKind
    name: str | None
    columns: tuple[str, ...]
    over_period: bool = False
    if_not_exists: bool = False


def at_key(cursor: Cursor) -> bool:
    """Whether a key or constraint comes next, and not a column's definition."""
    if cursor.at_any("PRIMARY", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "UNIQUE", "CONSTRAINT", "FOREIGN", "CHECK"):
        return True
    return cursor.at("VECTOR", "INDEX") or cursor.at("VECTOR", "KEY")


def read_key(cursor: Cursor) -> Key | None:
    """Read a key or constraint; a CHECK gives None."""
    symbol = None
    if cursor.accept("CONSTRAINT"):
        cursor.accept("IF", "NOT", "EXISTS")
        if not cursor.at_any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
            symbol = cursor.identifier()
    if cursor.accept("CHECK"):
        cursor.skip_parentheses()
        cursor.accept("NOT", "ENFORCED")
        cursor.accept("ENFORCED")
        return None
    if cursor.accept("PRIMARY", "KEY"):
        return _read_parts(cursor, KeyKind.PRIMARY, None)
    if cursor.accept("FOREIGN", "KEY"):
        return _read_foreign(cursor, symbol)
    if cursor.accept("UNIQUE"):
        cursor.accept_any("KEY", "INDEX")
        return _read_parts(cursor, KeyKind.UNIQUE, symbol)
    cursor.accept_any("FULLTEXT", "SPATIAL", "VECTOR")
    cursor.accept_any("KEY", "INDEX")
    return _read_parts(cursor, KeyKind.PLAIN, None)


def _read_foreign(cursor: Cursor, symbol: str | None) -> Key:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = None if cursor.at("(") else cursor.identifier()
    columns = tuple(cursor.parenthesized(cursor.column_name))
    cursor.expect("REFERENCES")
    read_reference(cursor)
    return Key(KeyKind.FOREIGN, symbol or name, columns, if_not_exists=if_not_exists)


def read_reference(cursor: Cursor) -> None:
    """Read what follows REFERENCES."""
    cursor.table_id()
    if cursor.at("("):
        cursor.skip_parentheses()
    while True:
        if cursor.accept("MATCH"):
            cursor.advance()
        elif cursor.accept("ON", "DELETE") or cursor.accept("ON", "UPDATE"):
            if not (cursor.accept("NO", "ACTION") or cursor.accept("SET", "NULL") or cursor.accept("SET", "DEFAULT")):
                cursor.advance()
        else:
            return


def _read_parts(cursor: Cursor, kind: KeyKind, symbol: str | None) -> Key:
    """Read `[name] [USING method] (part, …) [options]`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = None
    if cursor.at_name() and not (cursor.at_any("USING", "TYPE") and cursor.ahead(1).key in _KINDS):
        name = cursor.identifier()
    return read_index(cursor, kind, name or symbol, if_not_exists=if_not_exists)


def read_index(cursor: Cursor, kind: KeyKind, name: str | None, *, if_not_exists: bool = False) -> Key:
    """Read an index from behind its name: `[USING method] (part, …) [options]`."""
    if cursor.accept_any("USING", "TYPE"):
        cursor.advance()
    parts = cursor.parenthesized(lambda: _read_part(cursor))
    _skip_options(cursor)
    columns = tuple(name for name, is_period in parts if not is_period)
    over_period = any(is_period for _, is_period in parts)
    return Key(kind, None if kind is KeyKind.PRIMARY else name, columns, over_period, if_not_exists)


def _read_part(cursor: Cursor) -> tuple[str, bool]:
    """Read a key part; return its column, and whether it is a period instead."""
    if cursor.at("("):
        cursor.skip_parentheses()
        name = EXPRESSION
    else:
        name = cursor.column_name()
        if cursor.at("("):
            cursor.skip_parentheses()
    cursor.accept_any("ASC", "DESC")
    return name, cursor.accept("WITHOUT", "OVERLAPS")


def _skip_options(cursor: Cursor) -> None:
    """Read index options to their end: a comma, a closing parenthesis, or an option of the whole statement."""
    while True:
        if cursor.accept_any("USING", "TYPE") or cursor.accept("WITH", "PARSER"):
            cursor.advance()
        elif cursor.accept_any("VISIBLE", "INVISIBLE", "IGNORED") or cursor.accept("NOT", "IGNORED"):
            pass
        elif cursor.at_any("COMMENT", "KEY_BLOCK_SIZE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"):
            cursor.advance()
            cursor.accept("=")
            cursor.advance()
        elif cursor.at_name() and cursor.ahead(1).key == "=" and not cursor.at_any("ALGORITHM", "LOCK"):
            for _ in range(3):  # an option of the storage engine
                cursor.advance()
        else:
            return


class Indexes:
    """The secondary indexes of a table while it is made or altered."""

    def __init__(self, indexes: Iterable[Index] = (), primary_key: tuple[str, ...] = ()) -> None:
        self.primary_key = primary_key
        self._indexes = list(indexes)

    def to_tuple(self) -> tuple[Index, ...]:
        """Return the indexes in the order in which they were made."""
        return tuple(self._indexes)

    def find(self, name: str) -> Index | None:
        """Return the index of that name, whatever its case."""
        folded = name.lower()
        return next((index for index in self._indexes if index.name.lower() == folded), None)

    def add(self, key: Key) -> None:
        """Add a key: the primary one replaces what was there, a foreign one needs an index only if none serves it."""
        if key.kind is KeyKind.PRIMARY:
            if not (key.if_not_exists and self.primary_key):
                self.primary_key = key.columns
                self._drop_covered(key.columns)
        elif key.kind is KeyKind.FOREIGN:
            if not self._covers(key.columns):
                self._insert(key, implicit=True)
        elif not (key.if_not_exists and key.name and self.find(key.name)):
            self._insert(key, implicit=False)

    def _insert(self, key: Key, *, implicit: bool) -> None:
        self._drop_covered(key.columns)
        name = key.name or self._free_name(key.columns[0])
        self._indexes.append(Index(name, key.columns, key.kind is KeyKind.UNIQUE, implicit))

    def _drop_covered(self, columns: tuple[str, ...]) -> None:
        """Drop the indexes made for foreign keys that one over these columns serves as well.

        The server does so silently: https://dev.mysql.com/doc/refman/en/create-table-foreign-keys.html.
        """
        self._indexes = [
            index for index in self._indexes if not (index.implicit and _starts_with(columns, index.columns))
        ]

    def _covers(self, columns: tuple[str, ...]) -> bool:
        candidates = [self.primary_key, *(index.columns for index in self._indexes)]
        return any(_starts_with(candidate, columns) for candidate in candidates)

    def _free_name(self, column: str) -> str:
        """Return the name that the server gives an index without one: its first column's, numbered if taken."""
        stem = column or "functional_index"
        if stem.upper() != "PRIMARY" and self.find(stem) is None:
            return stem
        number = 2
        while self.find(f"{stem}_{number}"):
            number += 1
        return f"{stem}_{number}"

    def drop(self, name: str) -> None:
        """Drop the index of that name if there is one; `PRIMARY` is the primary key."""
        if name.upper() == "PRIMARY":
            self.primary_key = ()
        else:
            self._indexes = [index for index in self._indexes if index.name.lower() != name.lower()]

    def rename(self, old: str, new: str) -> None:
        """Rename the index of that name if there is one."""
        self._indexes = [
            replace(index, name=new) if index.name.lower() == old.lower() else index for index in self._indexes
        ]

    def rename_columns(self, names: dict[str, str]) -> None:
        """Follow columns that got new names.

        Args:
            names: the new name of each column, by the old one in lower case; a missing column is dropped, and an
                index without columns too.
        """
        self.primary_key = _renamed(self.primary_key, names)
        kept = (replace(index, columns=_renamed(index.columns, names)) for index in self._indexes)
        self._indexes = [index for index in kept if index.columns]


def _renamed(columns: tuple[str, ...], names: dict[str, str]) -> tuple[str, ...]:
    return tuple(
        column if column == EXPRESSION else names[column.lower()]
        for column in columns
        if column == EXPRESSION or column.lower() in names
    )


def _starts_with(columns: tuple[str, ...], beginning: tuple[str, ...]) -> bool:
    return [name.lower() for name in columns[: len(beginning)]] == [name.lower() for name in beginning]
