"""Rows whose key has changed and of which the log does not carry every value: these are looked up under the old key.

With `binlog_row_image` minimal or noblob an update carries what it changed and the key before. A batch may hold chains
of key changes, swaps, or the insert itself: so the changes of the keys at hand are gone through in the log's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, functions as f

from cdckit_spark.layout import ABSENT, OLD_KEY, OP, POSITION
from cdckit_spark.targets import quoted

Key = tuple[Any, ...]
_PRESENT = "__cdckit_present_"
"""What names of the table's columns begin with beside those of the changes."""


def with_old_rows(
    changes: DataFrame, present: DataFrame | None, key: Sequence[str], unavailable: Sequence[str], text: str, first: str
) -> DataFrame:
    """The changes; of the keys that took part in a key change only the last one each, with the values of the old rows.

    Args:
        changes: the batch's, with OP, ABSENT and the old keys.
        present: the table's rows as they are, or None where none of them stays.
        key: the columns that identify a row.
        unavailable: the columns in which a value may be missing.
        text: what stands for an unavailable value.
        first: the position of the batch's first change: rows from there on were written by this batch, at an earlier
            try, and are right already.
    """
    moved = changes.where(f.col(OP) == "m")
    new = moved.select(*(f.col(quoted(name)).alias(f"{_PRESENT}{name}") for name in key))
    old = moved.select(*(f.col(quoted(OLD_KEY + name)).alias(f"{_PRESENT}{name}") for name in key))
    touched = new.union(old).distinct()
    same = _same(changes, key, touched)
    # All other changes stay where they are, and never meet that one task.
    others = changes.join(touched, same, "left_anti").drop(*(OLD_KEY + name for name in key))
    last = _last(changes.join(touched, same, "left_semi"), key, unavailable, text)
    if present is not None:
        last = _looked_up(last, present, key, unavailable, first)
    return others.unionByName(last.drop(*(OLD_KEY + name for name in key)))


def _same(changes: DataFrame, key: Sequence[str], other: DataFrame, prefix: str = "") -> Column:
    pairs = [changes[quoted(prefix + name)].eqNullSafe(other[quoted(_PRESENT + name)]) for name in key]
    return reduce(lambda one, two: one & two, pairs)


def _last(changes: DataFrame, key: Sequence[str], unavailable: Sequence[str], text: str) -> DataFrame:
    """The last change of each key; where the values of older ones are in the table, its old key says under which."""

    def followed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if found := list(batches):
            yield from _Follower(pa.Table.from_batches(found), key, unavailable, text).last().to_batches()

    # Chains go from key to key, so no share of the keys can be followed alone: one task follows those that were
    # touched, which are few.
    return changes.coalesce(1).sortWithinPartitions(POSITION).mapInArrow(followed, changes.schema)


def _looked_up(
    last: DataFrame, present: DataFrame, key: Sequence[str], unavailable: Sequence[str], first: str
) -> DataFrame:
    wanted = [*key, *(name for name in unavailable if name not in key), POSITION]
    table = present.where(f.col(POSITION) < first)
    table = table.select(*(f.col(quoted(name)).alias(f"{_PRESENT}{name}") for name in wanted))
    found = table[_PRESENT + POSITION].isNotNull()
    values: dict[str, Column] = {ABSENT: f.when(~found, last[ABSENT])}
    for name in unavailable:
        here, there = last[quoted(name)], table[quoted(_PRESENT + name)]
        values[name] = f.when(found & last[ABSENT].contains(f",{name},"), there).otherwise(here)
    shown = [values.get(name, last[quoted(name)]).alias(name) for name in last.columns]
    return last.join(table, _same(last, key, table, OLD_KEY) & last[ABSENT].isNotNull(), "left").select(*shown)


@dataclass(slots=True)
class _State:
    """A row as it is after some changes.

    Attributes:
        row: the number of its last change.
        values: for each column that may be unavailable the number of the change that carries its value, None where
            that is older than the batch.
        origin: the key under which the table has such values; None where there are none.
    """

    row: int
    values: dict[str, int | None]
    origin: Key | None
    deleted: bool = False


@dataclass(slots=True)
class _Follower:
    """Goes through changes in the log's order.

    Attributes:
        rows: the changes.
        key: the columns that identify a row.
        unavailable: the columns in which a value may be missing.
        text: what stands for an unavailable value.
    """

    rows: pa.Table
    key: Sequence[str]
    unavailable: Sequence[str]
    text: str
    states: dict[Key, _State] = field(default_factory=dict)
    gone: dict[Key, _State] = field(default_factory=dict)

    def last(self) -> pa.Table:
        """The last change of each key, with all the values that the batch has of the row."""
        missing = {name: self._missing(name) for name in self.unavailable}
        keys, old_keys = self._keys(""), self._keys(OLD_KEY)
        for row, operation in enumerate(self.rows.column(OP).to_pylist()):
            key = keys[row]
            if operation == "d":
                # A key change is a delete of the old key and a change of the new one, and other keys may take the old
                # one's place in between (swaps): what the row was is kept for when it comes.
                self.gone[key] = self._state(key)
                self.states[key] = _State(row, {}, None, deleted=True)
                continue
            before = self._before(old_keys[row]) if operation == "m" else self._state(key)
            values = {name: before.values.get(name) if missing[name][row] else row for name in self.unavailable}
            self.states[key] = _State(row, values, before.origin)
        return self._shown([*self.states.values()])

    def _state(self, key: Key) -> _State:
        found = self.states.get(key)
        return _State(-1, {}, key) if found is None else found

    def _before(self, old: Key) -> _State:
        """The row as it was under its old key: the delete that tells of the new one has gone before."""
        found = self.gone.get(old)
        return self._state(old) if found is None else found

    def _keys(self, prefix: str) -> list[Key]:
        return list(zip(*(self.rows.column(prefix + name).to_pylist() for name in self.key), strict=True))

    def _missing(self, name: str) -> list[bool]:
        named = [text is not None and f",{name}," in text for text in self.rows.column(ABSENT).to_pylist()]
        column = self.rows.column(name)
        if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
            return named
        sought = pa.scalar(self.text if pa.types.is_string(column.type) else self.text.encode(), column.type)
        placeholder = pc.fill_null(pc.equal(column, sought), False).to_pylist()
        return [one or other for one, other in zip(named, placeholder, strict=True)]

    def _shown(self, states: list[_State]) -> pa.Table:
        plain = pa.array([state.row for state in states], pa.int64())
        columns = {name: self.rows.column(name).take(plain) for name in self.rows.schema.names}
        for name in self.unavailable:
            places = [state.row if (at := state.values.get(name)) is None else at for state in states]
            columns[name] = self.rows.column(name).take(pa.array(places, pa.int64()))
        absent = [self._absent(state) for state in states]
        columns[ABSENT] = pa.array(absent, self.rows.schema.field(ABSENT).type)
        columns[OP] = pa.array(["d" if state.deleted else "c" for state in states], self.rows.schema.field(OP).type)
        for at, name in enumerate(self.key):
            origins = [None if state.origin is None else state.origin[at] for state in states]
            columns[OLD_KEY + name] = pa.array(origins, self.rows.schema.field(OLD_KEY + name).type)
        return pa.table([columns[name] for name in self.rows.schema.names], schema=self.rows.schema)

    def _absent(self, state: _State) -> str | None:
        names = [] if state.deleted else [name for name in self.unavailable if state.values.get(name) is None]
        return f",{','.join(names)}," if names else None
