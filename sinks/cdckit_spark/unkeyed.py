"""What a batch does to a mirror of rows without a key, which are told apart by all that they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import Column, DataFrame, Window, functions as f
from pyspark.sql.types import DataType, FloatType, StringType

from cdckit.tables.lake.alike import like_float, like_text
from cdckit.tables.layout import OP, POSITION
from cdckit.tables.target import quoted

_COUNT = "__cdckit_count"
_GONE = "__cdckit_gone"
_LAST = "__cdckit_last"
_NUMBER = "__cdckit_number"
_PUT = "__cdckit_put"
_TOTAL = "__cdckit_total"
_LIKE, _LIKE_GONE = "__cdckit_like_", "__cdckit_like_gone_"
"""What names of columns begin with that hold what is the same of rows that snapshot and log tell in different ways."""
_LIKENESS: Mapping[type[DataType], Callable[[Any], str | None]] = {StringType: like_text, FloatType: like_float}


@contextmanager
def merged(changes: DataFrame, present: DataFrame, columns: Sequence[str]) -> Iterator[DataFrame]:
    """The rows to put, and by their positions those to remove (op `d`), to be used within.

    Of equal rows as many are removed as were deleted, whichever. Where the table has fewer, as a snapshot tells FLOATs
    and JSON in another way than the log, rows that are alike go.

    Args:
        changes: of the batch.
        present: the table.
        columns: its columns.
    """
    content = [name for name in columns if name != POSITION]
    put, removed = net(changes, columns)
    removed = removed.persist()
    found = _equal(present, removed, content).persist()
    try:
        likeness = _likeness(present, content)
        if likeness and found.count() < _total(removed):
            put, found = _with_alike(put, removed, found, present, content, likeness)
        yield put.unionByName(found.select(POSITION, f.lit("d").alias(OP)), allowMissingColumns=True)
    finally:
        found.unpersist()
        removed.unpersist()


def net(changes: DataFrame, columns: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """What rows come to: those to put, by position, and those to remove, by their count and the last removal."""
    content = [quoted(name) for name in columns if name != POSITION]
    position, gone = f.col(POSITION), f.col(OP) == "d"
    counted = changes.groupBy(*content).agg(
        f.sort_array(f.collect_list(f.when(~gone, position))).alias(_PUT),
        f.count(f.when(gone, position)).cast("int").alias(_GONE),
        f.max(f.when(gone, position)).alias(_LAST),
    )
    left = f.size(_PUT) - f.col(_GONE)
    put = counted.where(left > 0).select(*content, f.explode(f.slice(_PUT, -left, left)).alias(POSITION))
    removed = counted.where(left < 0).select(*content, (-left).alias(_COUNT), _LAST)
    return put.withColumn(OP, f.lit("c")), removed


def _total(removed: DataFrame) -> int:
    """How many rows are removed."""
    told = removed.agg(f.sum(_COUNT)).first()
    return (told and told[0]) or 0


def _equal(present: DataFrame, removed: DataFrame, content: Sequence[str]) -> DataFrame:
    """The table's rows that are removed, of equal ones the oldest."""
    same = [present[quoted(name)].eqNullSafe(removed[quoted(name)]) for name in content]
    rows = [present[quoted(name)] for name in content]
    numbered = f.row_number().over(Window.partitionBy(*rows).orderBy(present[POSITION]))
    found = present.join(removed, same).select(*rows, present[POSITION], _COUNT, numbered.alias(_NUMBER))
    return found.where(f.col(_NUMBER) <= f.col(_COUNT)).drop(_NUMBER, _COUNT)


def _likeness(present: DataFrame, content: Sequence[str]) -> list[Column]:
    """What is the same of rows that are told in different ways; nothing where no column is."""
    kinds = {name: type(present.schema[name].dataType) for name in content}
    if not {*kinds.values()} & _LIKENESS.keys():
        return []
    made = {kind: f.udf(like, "string", useArrow=False) for kind, like in _LIKENESS.items()}
    return [made[kind](quoted(name)) if kind in made else f.col(quoted(name)) for name, kind in kinds.items()]


def _with_alike(
    put: DataFrame,
    removed: DataFrame,
    found: DataFrame,
    present: DataFrame,
    content: Sequence[str],
    likeness: Sequence[Column],
) -> tuple[DataFrame, DataFrame]:
    """The same where what is removed is looked for by likeness, too: in the batch before it, then in the table."""
    likes = [f"{_LIKE}{number}" for number in range(len(likeness))]
    names = [quoted(name) for name in content]
    counts = found.groupBy(*names).agg(f.count(f.lit(1)).alias(_NUMBER))
    same = [removed[name].eqNullSafe(counts[name]) for name in names]
    left = f.col(_COUNT) - f.coalesce(f.col(_NUMBER), f.lit(0))
    short = removed.join(counts, same, "left").select(*(removed[name] for name in names), left.alias(_COUNT), _LAST)
    wanted = (
        short.where(f.col(_COUNT) > 0)
        .select(*(like.alias(f"{_LIKE_GONE}{number}") for number, like in enumerate(likeness)), _COUNT, _LAST)
        .groupBy(*(f"{_LIKE_GONE}{number}" for number in range(len(likeness))))
        .agg(f.sum(_COUNT).alias(_TOTAL), f.max(_LAST).alias(_LAST))
    )
    taken = _alike(put, wanted, likeness).where(f.col(POSITION) < f.col(_LAST))
    taken = _oldest(taken, likes)
    done = taken.groupBy(*likes).agg(f.count(f.lit(1)).alias(_NUMBER))
    rest = _joined(wanted, done, likes)
    others = present.join(found.select(POSITION), POSITION, "left_anti")
    alike = _oldest(_alike(others, rest, likeness), likes)
    put = put.join(taken.select(POSITION), POSITION, "left_anti")
    return put, found.select(POSITION).unionByName(alike.select(POSITION))


def _alike(rows: DataFrame, wanted: DataFrame, likeness: Sequence[Column]) -> DataFrame:
    """The rows that are alike to some that are wanted, with how many of these are."""
    likes = [like.alias(f"{_LIKE}{number}") for number, like in enumerate(likeness)]
    told = rows.select(POSITION, *likes)
    return told.join(wanted, _same(len(likes)))


def _same(count: int) -> list[Column]:
    """Whether a row's likeness, of so many columns, is that of what is wanted."""
    return [f.col(f"{_LIKE}{number}").eqNullSafe(f.col(f"{_LIKE_GONE}{number}")) for number in range(count)]


def _oldest(rows: DataFrame, likes: Sequence[str]) -> DataFrame:
    """Of rows that are alike as many as are wanted."""
    numbered = f.row_number().over(Window.partitionBy(*likes).orderBy(POSITION))
    return rows.withColumn(_NUMBER, numbered).where(f.col(_NUMBER) <= f.col(_TOTAL)).select(POSITION, *likes)


def _joined(wanted: DataFrame, done: DataFrame, likes: Sequence[str]) -> DataFrame:
    """What is wanted still."""
    left = f.col(_TOTAL) - f.coalesce(f.col(_NUMBER), f.lit(0))
    return wanted.join(done, _same(len(likes)), "left").withColumn(_TOTAL, left).drop(_NUMBER, *likes)
