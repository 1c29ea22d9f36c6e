"""Which rows of a file a batch puts in the place of, or removes: files are copied without these.

A file is looked at only where its least and its greatest key, which the metadata tell, have a changed key between them.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, DecimalType, IntegerType, LongType, PrimitiveType, StringType

from cdckit.tables.lake.finder import Finder, whole
from cdckit.tables.lake.folding import KEPT
from cdckit.tables.lake.target import Ending, Merge
from cdckit.tables.layout import END, FROM, OP, POSITION, TO
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
        self._endings = merge.endings
        self._ends = partial(has_nulls, schema, END) if merge.endings else None
        self._finder = Finder(self._changes, merge.key)
        self._ranges = Ranges(schema, merge.key[0], set(self._changes.column(merge.key[0]).to_pylist()))
        self._old: dict[str, list[tuple[pa.Array, pa.Array]]] = {name: [] for name in merge.kept}

    def may_be_in(self, file: DataFile) -> bool:
        """Whether a file may have rows that change."""
        ends = self._ends is not None and self._ends(file)
        return bool(self._gone) or ends or self._ranges.may_be_in(file)

    def left(self, rows: pa.Table) -> pa.Table:
        """The rows that stay, and end where they do."""
        found = self._finder.rows(rows)
        gone = in_scopes(rows, self._gone)
        self._note(rows, found)
        left = without(rows, pc.or_(pc.is_valid(found), gone))
        for ending in self._endings:
            left = _ended(left, ending)
        return left

    def _note(self, rows: pa.Table, found: pa.Array) -> None:
        """Keeps the values that stay in rows which change otherwise."""
        if not self._kept:
            return
        there = pc.is_valid(found)
        for name in self._kept:
            self._old[name].append((found.filter(there), whole(rows.column(name)).filter(there)))

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
        return without(rows, whole(pc.is_in(rows.column(POSITION), value_set=self._gone)))

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
        return without(rows, in_scopes(rows, self._scopes))

    def put(self) -> pa.Table:
        """None."""
        return self._none


def has_nulls(schema: Schema, column: str, file: DataFile) -> bool:
    """Whether a file may have rows in which a column is null."""
    number = schema.find_field(column).field_id
    return (file.null_value_counts or {}).get(number) != 0


def without(rows: pa.Table, gone: pa.Array) -> pa.Table:
    """The rows of a table that do not go; the table itself where none does."""
    return rows.filter(pc.invert(gone)) if pc.any(gone).as_py() else rows


def _ended(rows: pa.Table, ending: Ending) -> pa.Table:
    """Rows of a history, of which those that it concerns, and that have no end, have one."""
    ends = whole(pc.is_null(rows.column(END)))
    if ending.scope:
        ends = pc.and_(ends, in_scopes(rows, [ending.scope]))
    if not pc.any(ends).as_py():
        return rows
    begun = whole(rows.column(FROM)).cast(pa.int64())
    time = pa.scalar(ending.micros, pa.int64())
    times = time if ending.micros is None else pc.max_element_wise(begun, time)  # none ends before it begins
    for name, values in ((TO, times), (END, pa.scalar(ending.position))):
        at, kind = rows.schema.get_field_index(name), rows.schema.field(name)
        both = pc.if_else(ends, values.cast(kind.type), whole(rows.column(at)))
        rows = rows.set_column(at, kind, both)
    return rows


def in_scopes(rows: pa.Table, scopes: Collection[Scope]) -> pa.Array:
    """Whether a row has all values of one of some scopes."""
    found = pa.repeat(pa.scalar(False), rows.num_rows)
    for scope in scopes:
        here = pa.repeat(pa.scalar(True), rows.num_rows)
        for name, value in scope:
            column = whole(rows.column(name))
            here = pc.and_(here, pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), False))
        found = pc.or_(found, here)
    return found
