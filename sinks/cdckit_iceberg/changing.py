"""Which rows of a file a batch puts in the place of, or removes: files are copied without these.

A file is looked at only where its least and its greatest key, which the metadata tell, have a changed key between them.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, DecimalType, IntegerType, LongType, PrimitiveType, StringType

from cdckit.tables.lake.folding import KEPT
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import OP, POSITION
from cdckit.tables.segments import Scope

_ORDERED = (IntegerType, LongType, StringType, BinaryType, DecimalType)
"""Types whose values are in the order that files' bounds have."""


class Ranges:
    """Whether files may have rows in which a column has one of some values.

    Args:
        schema: the table's.
        column: the column.
        values: what it is to have; null among them is in any file.
    """

    def __init__(self, schema: Schema, column: str, values: Collection[Any]) -> None:
        field = next(one for one in schema.fields if one.name == column)
        self._number, self._type = field.field_id, field.field_type
        orders = isinstance(self._type, _ORDERED) and None not in values
        self._values = sorted(values) if orders else None

    def may_be_in(self, file: DataFile) -> bool:
        """Whether a file may have such a row."""
        least = self._bound(file.lower_bounds)
        greatest = self._bound(file.upper_bounds)
        if self._values is None or least is None or greatest is None:
            return True
        at = bisect_left(self._values, least)
        return at < len(self._values) and bool(self._values[at] <= greatest)

    def _bound(self, bounds: Mapping[int, bytes] | None) -> Any:
        text = (bounds or {}).get(self._number)
        if text is None or not isinstance(self._type, PrimitiveType):
            return None
        try:
            return from_bytes(self._type, text)
        except (struct.error, UnicodeDecodeError):  # the column had another type when the file was written
            return None


class Finder:
    """Finds keys in others.

    Args:
        keys: rows of different keys.
        names: the columns that make the key.
    """

    def __init__(self, keys: pa.Table, names: Sequence[str]) -> None:
        self._names = names
        self._sets: list[pa.Array] = []
        self._pairs: list[pa.Array] = []
        numbers: pa.Array | None = None
        for name in names:
            values = _whole(keys.column(name))
            self._sets.append(pc.unique(values))
            numbers = self._paired(numbers, self._found(values, len(self._sets) - 1), learns=True)
        self._rows = numbers

    def rows(self, table: pa.Table) -> pa.Array:
        """Of each row of a table the number of the one with its key; null where there is none."""
        numbers: pa.Array | None = None
        for at, name in enumerate(self._names):
            numbers = self._paired(numbers, self._found(_whole(table.column(name)), at), at=at)
        return pc.index_in(numbers, value_set=self._rows)

    def _found(self, values: pa.Array, at: int) -> pa.Array:
        return pc.index_in(values, value_set=self._sets[at]).cast(pa.int64())

    def _paired(self, before: pa.Array | None, found: pa.Array, *, learns: bool = False, at: int = 0) -> pa.Array:
        """One number for two: that of the pair among those of the keys, null where one of them is."""
        if before is None:
            return found
        width = len(self._sets[len(self._pairs) + 1 if learns else at])
        pairs = pc.add(pc.multiply(before, width), found)
        if learns:
            self._pairs.append(pc.unique(pairs))
        known = self._pairs[-1 if learns else at - 1]
        numbers = pc.index_in(pairs, value_set=known).cast(pa.int64())
        return pc.if_else(pc.is_valid(pairs), numbers, pa.scalar(None, pa.int64()))


class KeyChanges:
    """The newest changes of some keys.

    Args:
        merge: what is done.
        schema: the table's.
    """

    def __init__(self, merge: Merge, schema: Schema) -> None:
        self._changes = merge.changes.combine_chunks()
        self._kept = merge.kept
        self._gone = merge.gone
        self._finder = Finder(self._changes, merge.key)
        self._ranges = Ranges(schema, merge.key[0], set(self._changes.column(merge.key[0]).to_pylist()))
        self._old: dict[str, list[tuple[pa.Array, pa.Array]]] = {name: [] for name in merge.kept}

    def may_be_in(self, file: DataFile) -> bool:
        """Whether a file may have rows that change."""
        return bool(self._gone) or self._ranges.may_be_in(file)

    def left(self, rows: pa.Table) -> pa.Table:
        """The rows that stay as they are."""
        found = self._finder.rows(rows)
        gone = in_scopes(rows, self._gone)
        self._note(rows, found)
        return rows.filter(pc.invert(pc.or_(pc.is_valid(found), gone)))

    def _note(self, rows: pa.Table, found: pa.Array) -> None:
        """Keeps the values that stay in rows which change otherwise."""
        if not self._kept:
            return
        there = pc.is_valid(found)
        for name in self._kept:
            self._old[name].append((found.filter(there), _whole(rows.column(name)).filter(there)))

    def put(self) -> pa.Table:
        """The rows that come, once the files were looked through."""
        changes = self._changes
        for name in self._kept:
            changes = self._with_old(changes, name)
        changes = changes.filter(pc.not_equal(changes.column(OP), "d"))
        return changes.drop_columns([OP, *(KEPT + name for name in self._kept)])

    def _with_old(self, changes: pa.Table, name: str) -> pa.Table:
        noted = self._old[name]
        column = changes.schema.field(name)
        numbers = pa.concat_arrays([numbers for numbers, _ in noted] or [pa.array([], pa.int32())])
        values = pa.concat_arrays([old.cast(column.type) for _, old in noted] or [pa.array([], column.type)])
        at = pc.index_in(pa.array(range(changes.num_rows), pa.int32()), value_set=numbers.cast(pa.int32()))
        stays = pc.and_(changes.column(KEPT + name), pc.is_valid(at))
        both = pc.if_else(stays, values.take(at), changes.column(name))
        return changes.set_column(changes.schema.get_field_index(name), column, both)


class PlaceChanges:
    """Rows that are told by their positions.

    Args:
        put: the rows that come.
        gone: the positions of those that go.
        schema: the table's.
    """

    def __init__(self, put: pa.Table, gone: Sequence[str], schema: Schema) -> None:
        self._put = put
        self._gone = pa.array(gone, pa.string())
        self._ranges = Ranges(schema, POSITION, set(gone))

    def may_be_in(self, file: DataFile) -> bool:
        """Whether a file may have rows that go."""
        return self._ranges.may_be_in(file)

    def left(self, rows: pa.Table) -> pa.Table:
        """The rows that stay."""
        return rows.filter(pc.invert(pc.is_in(rows.column(POSITION), value_set=self._gone)))

    def put(self) -> pa.Table:
        """The rows that come."""
        return self._put


class Removal:
    """Rows of some source tables that go.

    Args:
        scopes: what tells them from others.
        none: a table without rows.
    """

    def __init__(self, scopes: Collection[Scope], none: pa.Table) -> None:
        self._scopes = scopes
        self._none = none

    def may_be_in(self, file: DataFile) -> bool:
        """Any file may have such rows."""
        return True

    def left(self, rows: pa.Table) -> pa.Table:
        """The rows of others."""
        return rows.filter(pc.invert(in_scopes(rows, self._scopes)))

    def put(self) -> pa.Table:
        """None."""
        return self._none


def in_scopes(rows: pa.Table, scopes: Collection[Scope]) -> pa.Array:
    """Whether a row has all values of one of some scopes."""
    found = pa.repeat(pa.scalar(False), rows.num_rows)
    for scope in scopes:
        here = pa.repeat(pa.scalar(True), rows.num_rows)
        for name, value in scope:
            column = _whole(rows.column(name))
            here = pc.and_(here, pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), False))
        found = pc.or_(found, here)
    return found


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
