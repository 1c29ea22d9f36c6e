"""Rows whose key has changed and of which the log does not carry every value: these are looked up under the old key.

With `binlog_row_image` minimal or noblob an update carries what it changed and the key before. A batch may hold chains
of key changes, swaps, or the insert itself: so the changes of the keys at hand are gone through in the log's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as f

from cdckit.tables.absent import absent_part
from cdckit.tables.key_follower import Follower
from cdckit.tables.layout import ABSENT, OLD_KEY, OP, POSITION
from cdckit.tables.target import quoted
from cdckit_spark.names import map_in_arrow

Key = tuple[Any, ...]
_PRESENT = "__cdckit_present_"
"""What names of the table's columns begin with beside those of the changes."""


def with_old_rows(
    changes: DataFrame, present: DataFrame | None, key: Sequence[str], unavailable: Sequence[str], text: str, first: str
) -> DataFrame:
    """The changes; of the keys that took part in a key change only the last one each, with the values of the old rows.

    Args:
        changes: the batch's, with OP, ABSENT and the old keys.
        present: rows of the table as they are, among them all under an old key; None where none of these stays.
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
            yield from Follower(pa.Table.from_batches(found), key, unavailable, text).last().to_batches()

    # Chains go from key to key, so no share of the keys can be followed alone: one task follows those that were
    # touched, which are few.
    return map_in_arrow(changes.coalesce(1).sortWithinPartitions(POSITION), followed, changes.schema)


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
        values[name] = f.when(found & last[ABSENT].contains(absent_part(name)), there).otherwise(here)
    shown = [values.get(name, last[quoted(name)]).alias(name) for name in last.columns]
    return last.join(table, _same(last, key, table, OLD_KEY) & last[ABSENT].isNotNull(), "left").select(*shown)
