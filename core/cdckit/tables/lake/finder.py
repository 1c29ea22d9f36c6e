"""Finds the keys of rows among others, column by column."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


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
            values = one_zero(whole(keys.column(name)))
            self._sets.append(pc.unique(values))
            numbers = self._paired(numbers, self._found(values, len(self._sets) - 1), learns=True)
        self._rows = numbers

    def rows(self, table: pa.Table) -> pa.Array:
        """Of each row of a table the number of the one with its key; null where there is none."""
        numbers: pa.Array | None = None
        for at, name in enumerate(self._names):
            numbers = self._paired(numbers, self._found(one_zero(whole(table.column(name))), at), at=at)
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


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def one_zero(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A key's values with 0.0 for -0.0: servers hold them for one key, and Arrow for two."""
    return pc.add(values, pa.scalar(0, values.type)) if pa.types.is_floating(values.type) else values
