"""Keeps a table equal to its source: of each key the newest row, none for a deleted one."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, StringType

from cdckit_spark.layout import ABSENT, OP, POSITION
from cdckit_spark.rows import TableRows
from cdckit_spark.targets import BatchId, Columns, DeltaTarget, quoted

_KEPT = "__cdckit_kept_"
"""What names of columns begin with that say whether the table's own value is kept."""


def write_mirror(
    target: DeltaTarget, columns: Columns, rows: TableRows, batch: BatchId, placeholder: str, *, anew: bool
) -> None:
    """Brings one table to the state after a batch. Called again with the same batch, it changes nothing.

    Args:
        target: the table.
        columns: its columns, all of which the rows may have.
        rows: the batch's rows of this table.
        batch: the batch's number.
        placeholder: what stands for an unavailable value.
        anew: whether the batch holds all rows that the table is to have.
    """
    emptied = max((head.position for head in rows.headings if head.layout.kind == "truncate"), default=None)
    changes = rows.typed({**columns, OP: "string", ABSENT: "string"})
    if emptied is not None:
        changes = changes.where(f.col(POSITION) > emptied)
    key = next((head.layout.key for head in rows.headings if head.layout.key), ())
    unavailable = sorted({name for head in rows.headings for name in head.layout.unavailable})
    state = _State(target, list(columns), batch)
    if key:
        latest = _latest(changes, key, list(columns), unavailable, placeholder)
        if anew or emptied is not None:
            state.replace(latest)
        else:
            state.merge(latest, key, unavailable)
    elif anew or emptied is not None:
        state.replace(_net(changes, list(columns))[0])
    else:
        inserts_only = all(set(head.layout.ops) <= {"c", "r"} for head in rows.headings)
        state.merge_unkeyed(changes, inserts_only=inserts_only)


class _State:
    """A table and what is done to it."""

    def __init__(self, target: DeltaTarget, columns: Sequence[str], batch: BatchId) -> None:
        self.target = target
        self.columns = columns
        self.batch = batch

    def replace(self, rows: DataFrame) -> None:
        """Makes the rows that stay the only ones."""
        self.target.replace(rows.where(f.col(OP) != "d").select(*map(quoted, self.columns)), self.batch)

    def merge(self, latest: DataFrame, key: Sequence[str], unavailable: Sequence[str]) -> None:
        """Puts the newest row of each key, removes the deleted ones."""
        same = " and ".join(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in key)
        values: dict[str, str | Column] = {quoted(name): f"s.{quoted(name)}" for name in self.columns}
        changed = {**values}
        for name in unavailable:
            kept = f"s.{quoted(_KEPT + name)}"
            changed[quoted(name)] = f"case when {kept} then t.{quoted(name)} else s.{quoted(name)} end"
        merge = self.target.table().alias("t").merge(latest.alias("s"), same)
        merge = merge.whenMatchedDelete(f"s.{OP} = 'd'").whenMatchedUpdate(set=changed)
        merge.whenNotMatchedInsert(f"s.{OP} <> 'd'", values=values).execute()

    def merge_unkeyed(self, changes: DataFrame, *, inserts_only: bool) -> None:
        """Adds rows, and for each deleted one removes one that is equal to it."""
        if inserts_only:
            self.target.append(changes.select(*map(quoted, self.columns)), self.batch)
            return
        put, removed = _net(changes, self.columns)
        content = [name for name in self.columns if name != POSITION]
        present = self.target.table().toDF()
        same = [present[quoted(name)].eqNullSafe(removed[quoted(name)]) for name in content]
        numbered = Window.partitionBy(*[present[quoted(name)] for name in content]).orderBy(present[POSITION])
        found = (
            present.join(removed, same)
            .select(present[POSITION], "count", f.row_number().over(numbered).alias("number"))
            .where("number <= count")
            .select(POSITION, f.lit("d").alias(OP))
        )
        every = put.unionByName(found, allowMissingColumns=True)
        merge = self.target.table(self.batch).alias("t").merge(every.alias("s"), f"t.{POSITION} = s.{POSITION}")
        merge = merge.whenMatchedDelete(f"s.{OP} = 'd'")
        values: dict[str, str | Column] = {quoted(name): f"s.{quoted(name)}" for name in self.columns}
        merge.whenNotMatchedInsert(f"s.{OP} <> 'd'", values=values).execute()


def _latest(
    changes: DataFrame, key: Sequence[str], columns: Sequence[str], unavailable: Sequence[str], placeholder: str
) -> DataFrame:
    """The newest change of each key; an unavailable value is looked up in the change before it."""
    others = [name for name in (*columns, OP) if name not in key]
    newest = f.max_by(f.struct(*map(quoted, others)), f.col(POSITION)).alias("row")
    known, kept = [], []
    for name in unavailable:
        missing = _missing(changes, name, placeholder)
        known.append(f.max_by(quoted(name), f.when(~missing, f.col(POSITION))).alias(f"__cdckit_known_{name}"))
        kept.append(f.every(missing).alias(f"{_KEPT}{name}"))
    grouped = changes.groupBy(*map(quoted, key)).agg(newest, *known, *kept)
    row = [f.col(f"row.{quoted(n)}") if n not in unavailable else f.col(quoted(f"__cdckit_known_{n}")).alias(n)
           for n in others]  # fmt: skip
    return grouped.select(*map(quoted, key), *row, *[quoted(f"{_KEPT}{name}") for name in unavailable])


def _missing(changes: DataFrame, name: str, placeholder: str) -> Column:
    """Whether a row lacks the value of a column: it is named so, or the placeholder stands there."""
    named = f.coalesce(f.col(ABSENT).contains(f",{name},"), f.lit(False))
    kind = changes.schema[name].dataType
    if not isinstance(kind, StringType | BinaryType):
        return named
    return named | f.col(quoted(name)).eqNullSafe(f.lit(placeholder).cast(kind))


def _net(changes: DataFrame, columns: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """What rows without a key come to: those to put, by position, and those to remove, by their count."""
    content = [quoted(name) for name in columns if name != POSITION]
    position = f.col(POSITION)
    counted = changes.groupBy(*content).agg(
        f.sort_array(f.collect_list(f.when(f.col(OP) != "d", position))).alias("put"),
        f.count(f.when(f.col(OP) == "d", position)).cast("int").alias("gone"),
    )
    net = f.size("put") - f.col("gone")
    put = counted.where(net > 0).select(*content, f.explode(f.slice("put", -net, net)).alias(POSITION))
    removed = counted.where(net < 0).select(*content, (-net).alias("count"))
    return put.withColumn(OP, f.lit("c")), removed
